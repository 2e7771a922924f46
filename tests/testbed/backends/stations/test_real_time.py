"""The event queue of a station, on an asyncio loop."""

import asyncio
import time

from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.real_time import RealTime

TIMEOUT_S = 30.0


def test_real_time_runs_what_is_due_in_order():
    """Also what is planned for the past, and what is planned while something happens; never before its time."""
    happened = []

    async def follow() -> None:
        over = asyncio.Event()
        queue = RealTime(asyncio.get_running_loop(), RunClock(time.monotonic_ns(), 1.0))

        def happen(name: str, due: int) -> None:
            happened.append((name, queue.now >= due))
            if name == "early":
                queue.at(due + 10_000_000, happen, "planned then", due + 10_000_000)
            if name == "late":
                over.set()

        queue.at(60_000_000, happen, "late", 60_000_000)
        queue.at(20_000_000, happen, "early", 20_000_000)
        queue.at(-5, happen, "past", -5)
        await asyncio.wait_for(over.wait(), TIMEOUT_S)

    asyncio.run(follow())
    assert happened == [("past", True), ("early", True), ("planned then", True), ("late", True)]


def test_nothing_happens_after_the_end():
    """Neither what was planned before, nor what is planned then, nor what else was due when the end came."""
    happened = []

    async def follow() -> None:
        clock = RunClock(time.monotonic_ns(), 1.0)
        between, within = (RealTime(asyncio.get_running_loop(), clock) for _ in range(2))
        between.at(20_000_000, happened.append, "planned before")
        between.end()
        between.at(30_000_000, happened.append, "planned after")
        for happen in (within.end, lambda: happened.append("due as well")):
            within.at(20_000_000, happen)
        await asyncio.sleep(0.1)

    asyncio.run(follow())
    assert happened == []


def test_time_never_goes_back():
    """Nor is it negative before the run begins."""

    async def read() -> list[int]:
        queue = RealTime(asyncio.get_running_loop(), RunClock(time.monotonic_ns() + 10**10, 1.0))
        seen = [queue.now]
        for epoch_s in (-5, -7, -6):  # a clock that jumps
            queue._clock = RunClock(time.monotonic_ns() + epoch_s * 10**9, 1.0)
            queue.read_clock()
            seen.append(queue.now)
        return seen

    before, *after = asyncio.run(read())
    assert before == 0
    assert after[0] > 0
    assert after == sorted(after)


def test_lateness_of_planned_events():
    """It is counted from when an event was due. One that was due already when it was planned is never late."""
    noted: list[int] = []

    async def follow() -> None:
        over = asyncio.Event()
        queue = RealTime(asyncio.get_running_loop(), RunClock(time.monotonic_ns() - 10**9, 0.5))
        queue.lateness.note = noted.append
        queue.at(-5, list)
        queue.at(queue.now, list)
        soon = queue.now + 2 * 10**7  # ten milliseconds
        queue.at(soon, time.sleep, 0.05)
        queue.at(soon + 10**7, over.set)
        await asyncio.wait_for(over.wait(), TIMEOUT_S)

    asyncio.run(follow())
    sleeper_ns, last_ns = noted
    assert sleeper_ns >= 0
    assert last_ns >= 44_000_000, "it was due five milliseconds after one that took fifty"
