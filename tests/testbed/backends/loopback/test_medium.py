"""The medium on loopback in the process of the test, which plays the stations and the orchestrator."""

import time
from collections.abc import Iterator

import pytest

from testbed.backends.loopback.medium import LoopbackMedium
from testbed.backends.loopback.transport import HEADER_BYTES, LOOPBACK, TO_ALL
from testbed.backends.stations.control import Control
from testbed.backends.stations.transport import udp_socket
from testbed.scenario.schema import Scenario
from tests.testbed.backends.stations.stage import LINE

COMPLETE = {**LINE, "topology": "complete", "delays": {"hop": 0.0}}


@pytest.fixture
def orders() -> Iterator[tuple[Control, LoopbackMedium]]:
    ours, theirs = Control.pair()
    ours.send({"scenario": Scenario.model_validate(COMPLETE).to_yaml(), "repetition": 0})
    medium = LoopbackMedium(theirs)
    yield ours, medium
    medium._socket.close()
    for end in (ours, theirs):
        end.close()


def test_a_station_that_starts_on_the_port_of_one_that_has_crashed(orders):
    """The medium knows it by that port, and does not send it what is addressed to the crashed station."""
    control, medium = orders
    stations = {node: udp_socket((LOOPBACK, 0)) for node in (0, 2)}
    port = {node: station.getsockname()[1] for node, station in stations.items()}

    def say(node: int, listens_on: int) -> None:
        control.send({"do": "station", "node": node, "port": listens_on})
        assert medium._obey()

    def put_on_air(sender: int, to: int, data: bytes) -> None:
        stations[sender].sendto(to.to_bytes(HEADER_BYTES) + data, medium._socket.getsockname())
        medium._hear()

    def pass_on() -> None:
        time.sleep(0.001)
        medium._pass_on()

    for node, listens_on in ((0, port[0]), (1, 9), (2, port[2])):
        say(node, listens_on)
    put_on_air(0, 2, b"to 2")  # which crashes before that is passed on
    stations[1] = stations.pop(2)
    say(1, port[2])
    pass_on()
    put_on_air(0, 2, b"to 2 again")
    put_on_air(0, TO_ALL, b"to all")
    put_on_air(1, 0, b"from 1 to 0")
    put_on_air(1, 2, b"from 1 to 2, which has crashed")
    pass_on()
    assert stations[1].recv(100) == b"to all"
    assert stations[0].recv(100) == b"from 1 to 0"
    for station in stations.values():
        with pytest.raises(BlockingIOError):
            station.recv(100)
        station.close()
    assert medium._nodes == {port[0]: 0, port[2]: 1}
