"""The small parts that stations are made of."""

import asyncio
import os
import socket
import time

import pytest

from testbed.link.actions import Transmit
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.control import Control, MessageTooLongError
from testbed.backends.stations.lateness import Lateness
from testbed.backends.stations.real_time import RealTime
from testbed.backends.stations.transport import EVERYBODY, LoopbackTransport


def test_the_clock_counts_in_time_units():
    """Half a second is two units of a quarter."""
    clock = RunClock(time.monotonic_ns() - 500_000_000, 0.25)
    assert 2_000_000_000 <= clock.ticks() < 2_100_000_000
    assert clock.monotonic_s(4_000_000_000) - clock.monotonic_s(0) == pytest.approx(1.0)
    assert clock.seconds() == pytest.approx(0.5, abs=0.05)
    assert RunClock(time.monotonic_ns() + 10**9, 1.0).ticks() < 0


def test_real_time_runs_what_is_due_in_order():
    """Also what is planned for the past, and what is planned while something happens; never before its time."""
    happened = []

    async def live() -> None:
        queue = RealTime(asyncio.get_running_loop(), RunClock(time.monotonic_ns(), 1.0))

        def happen(name: str, due: int) -> None:
            happened.append((name, queue.now >= due))
            if name == "early":
                queue.at(due + 10_000_000, happen, "planned then", due + 10_000_000)

        queue.at(60_000_000, happen, "late", 60_000_000)
        queue.at(20_000_000, happen, "early", 20_000_000)
        queue.at(-5, happen, "past", -5)
        await asyncio.sleep(0.15)

    asyncio.run(live())
    assert happened == [("past", True), ("early", True), ("planned then", True), ("late", True)]


def test_nothing_happens_after_the_end():
    """Neither what was planned before, nor what is planned then, nor what else was due when the end came."""
    happened = []

    async def live() -> None:
        clock = RunClock(time.monotonic_ns(), 1.0)
        between, within = (RealTime(asyncio.get_running_loop(), clock) for _ in range(2))
        between.at(20_000_000, happened.append, "planned before")
        between.end()
        between.at(30_000_000, happened.append, "planned after")
        for happen in (within.end, lambda: happened.append("due as well")):
            within.at(20_000_000, happen)
        await asyncio.sleep(0.1)

    asyncio.run(live())
    assert happened == []


def test_time_never_goes_back():
    """Nor begins before the run does."""

    async def look() -> list[int]:
        queue = RealTime(asyncio.get_running_loop(), RunClock(time.monotonic_ns() + 10**10, 1.0))
        seen = [queue.now]
        for epoch_s in (-5, -7, -6):  # a clock that jumps
            queue._clock = RunClock(time.monotonic_ns() + epoch_s * 10**9, 1.0)
            queue.look()
            seen.append(queue.now)
        return seen

    before, *after = asyncio.run(look())
    assert before == 0
    assert after[0] > 0
    assert after == sorted(after)


def test_control_messages_and_descriptors():
    """Whole messages, in order, with what comes along; then the end."""
    ours, theirs = Control.pair()
    read, write = os.pipe()
    ours.send({"do": "one"}, write)
    ours.send({"do": "two", "text": "é" * 50_000})
    ours.close()
    os.close(write)
    first, fds = theirs.receive()
    assert first == {"do": "one"}
    os.write(fds[0], b"x")
    assert os.read(read, 1) == b"x"
    assert theirs.receive() == ({"do": "two", "text": "é" * 50_000}, [])
    assert theirs.receive() == (None, [])
    theirs.close()
    os.close(fds[0])
    os.close(read)


def test_a_message_that_is_too_long():
    """Is an error for whoever speaks, whether we or the kernel are at our limit; it is never cut off."""
    ours, theirs = Control.pair()
    with pytest.raises(MessageTooLongError, match=r"of 1048\d\d\d bytes .* is too long: .*\"forbid\""):
        ours.send({"do": "forbid", "pairs": "x" * (1 << 20)})
    ours.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10_000)
    with pytest.raises(MessageTooLongError):
        ours.send({"do": "forbid", "pairs": "x" * 100_000})
    ours.close()
    assert theirs.receive() == (None, []), "nothing of it has arrived"
    theirs.close()


def test_nobody_to_speak_to():
    """Is an error for whoever speaks."""
    ours, theirs = Control.pair()
    theirs.close()
    with pytest.raises(ConnectionError):
        ours.send({"do": "anything"})
    ours.close()


def test_lateness_is_summed_up():
    """Noted in nanoseconds, told in milliseconds."""
    lateness = Lateness()
    assert lateness.summary_ms() is None
    for ms in range(101):
        lateness.note(1_000_000 * ms)
    assert lateness.summary_ms() == {"mean": 50.0, "p50": 50.0, "p95": 95.0, "p99": 99.0, "max": 100.0}


def test_loopback_addresses():
    """Everything goes to the medium, with the receiver's number before it; nobody else is listened to."""
    transport = LoopbackTransport(4711)
    assert transport.address(Transmit(7, b"data", "Data")) == (b"\0\0\0\7data", ("127.0.0.1", 4711))
    assert transport.address(Transmit(None, b"x", "Hello"))[0] == EVERYBODY.to_bytes(4) + b"x"
    assert transport.is_ours(("127.0.0.1", 4711))
    assert not transport.is_ours(("127.0.0.1", 4712))
