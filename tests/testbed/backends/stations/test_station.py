"""A station in the process of the test, which gives the orders and is the medium."""

import asyncio
import socket
import time
from collections.abc import Iterator
from pathlib import Path

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
