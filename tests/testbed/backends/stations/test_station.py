"""A station in the process of the test, which gives the orders and is the medium."""

import asyncio
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.backends.loopback.transport import LOOPBACK, LoopbackTransport
from testbed.backends.repetition import Repetition
from testbed.backends.stations.control import Control
from testbed.backends.stations.station import Station
from testbed.backends.stations.transport import udp_socket
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario
from tests.testbed.backends.stations.stage import LINE

TIMEOUT_S = 30.0


@pytest.fixture
def medium() -> Iterator[socket.socket]:
    """Where everything arrives that a station sends."""
    with udp_socket((LOOPBACK, 0)) as opened:
        yield opened


def heard(medium: socket.socket) -> int:
    """How many datagrams have arrived since the last call."""
    count = 0
    while True:
        try:
            medium.recv(65536)
        except BlockingIOError:
            return count
        count += 1


def test_a_station_is_not_late_for_what_came_before_it_started(tmp_path: Path, medium: socket.socket):
    """Such as a restarted one, to which the others have sent all the time."""
    (tmp_path / "nodes").mkdir()
    repetition = Repetition(Scenario.model_validate({**LINE, "warmup": 0.0}), Streams(1, 0))
    ours, theirs = Control.pair()
    transport = LoopbackTransport(medium.getsockname()[1])

    async def follow() -> tuple[float, dict[str, Any]]:
        loop = asyncio.get_running_loop()
        exits = asyncio.create_task(Station(repetition, 1, 2, transport, theirs, tmp_path).run())
        ready, _ = await loop.run_in_executor(None, ours.receive)
        assert ready is not None
        ours.send({"do": "start", "epoch": time.monotonic_ns() - 10**9})
        for _ in range(20):
            medium.sendto(b"noise", (LOOPBACK, ready["ready"]))
        time.sleep(0.3)  # it is slow to start: the order and the datagrams are there
        started = time.monotonic()
        await asyncio.sleep(0.05)
        ours.send({"do": "finish"})
        assert await exits == 0
        elapsed_ms = (time.monotonic() - started) * 1e3
        while "end" not in (report := ours.receive()[0] or {}):
            pass
        return elapsed_ms, report["end"]

    elapsed_ms, end = asyncio.run(follow())
    assert sum(end["dropped"].values()) == 20, "it has read them all"
    assert end["lateness_ms"]["max"] <= elapsed_ms
    ours.close()
    theirs.close()


def test_what_is_late_in_the_warmup_does_not_count(tmp_path: Path, medium: socket.socket):
    """As with frames: the load has not begun."""
    (tmp_path / "nodes").mkdir()
    repetition = Repetition(Scenario.model_validate(LINE), Streams(1, 0))
    ours, theirs = Control.pair()
    station = Station(repetition, 1, 1, LoopbackTransport(medium.getsockname()[1]), theirs, tmp_path)
    very_late_ms = 1e9

    async def follow() -> dict[str, Any]:
        exits = asyncio.create_task(station.run())
        ours.send({"do": "start", "epoch": time.monotonic_ns()})
        while (node := station._node) is None:
            await asyncio.sleep(0.001)
        node.lateness.note(round(very_late_ms * 1e6))
        while not (tmp_path / "nodes/001-1.jsonl").read_text().count('"request"'):  # the warmup is over
            await asyncio.sleep(0.01)
        ours.send({"do": "finish"})
        assert await exits == 0
        while "end" not in (report := ours.receive()[0] or {}):
            pass
        return report["end"]

    end = asyncio.run(asyncio.wait_for(follow(), TIMEOUT_S))
    assert end["lateness_ms"]["max"] < very_late_ms
    ours.close()
    theirs.close()


def test_a_station_that_has_sent_its_last_report_is_silent(tmp_path: Path, medium: socket.socket):
    """What it did after that would be in no log."""
    (tmp_path / "nodes").mkdir()
    repetition = Repetition(Scenario.model_validate({**LINE, "time_unit": 0.02}), Streams(1, 0))
    ours, theirs = Control.pair()
    transport = LoopbackTransport(medium.getsockname()[1])

    async def sends_twice() -> None:
        for _ in range(2):
            while not heard(medium):
                await asyncio.sleep(0.005)

    async def follow() -> int:
        exits = asyncio.create_task(Station(repetition, 1, 1, transport, theirs, tmp_path).run())
        ours.send({"do": "start", "epoch": time.monotonic_ns()})
        await asyncio.wait_for(sends_twice(), TIMEOUT_S)  # or the silence later on would prove nothing
        ours.send({"do": "finish"})
        assert await exits == 0
        heard(medium)
        await asyncio.sleep(0.2)  # as if the process were slow to exit; ten hellos would be due
        return heard(medium)

    assert asyncio.run(follow()) == 0
    ours.close()
    theirs.close()
