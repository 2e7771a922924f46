"""A station in the process of the test, which gives the orders and is the medium."""

import asyncio
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.runtime.initial_state import Beginning
from testbed.scenario.schema import Scenario
from testbed.backends.stations.control import Control
from testbed.backends.stations.station import Station
from testbed.backends.stations.transport import LOOPBACK, LoopbackTransport, udp_socket
from testbed.randomness import Streams
from tests.testbed.backends.stations.stage import LINE


@pytest.fixture
def medium() -> Iterator[socket.socket]:
    """Where everything arrives that a station sends."""
    with udp_socket((LOOPBACK, 0)) as opened:
        yield opened


def heard(medium: socket.socket) -> int:
    """How many datagrams have come in since the last time."""
    count = 0
    while True:
        try:
            medium.recv(65536)
        except BlockingIOError:
            return count
        count += 1


def test_a_station_that_has_said_its_end_is_silent(tmp_path: Path, medium: socket.socket):
    """What it does after that is in nobody's account."""
    (tmp_path / "nodes").mkdir()
    beginning = Beginning(Scenario.model_validate({**LINE, "time_unit": 0.02}), Streams(1, 0))
    ours, theirs = Control.pair()
    transport = LoopbackTransport(medium.getsockname()[1])

    async def live() -> tuple[int, int]:
        life = asyncio.create_task(Station(beginning, 1, 1, transport, theirs, tmp_path).live())
        ours.send({"do": "start", "epoch": time.monotonic_ns()})
        await asyncio.sleep(0.2)
        ours.send({"do": "finish"})
        assert await life == 0
        before = heard(medium)
        await asyncio.sleep(0.2)  # as if the process were slow to go
        return before, heard(medium)

    before, after = asyncio.run(live())
    assert before > 3, "or the silence means nothing"
    assert after == 0
    ours.close()
    theirs.close()
