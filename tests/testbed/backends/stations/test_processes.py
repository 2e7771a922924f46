"""The processes of a run as the orchestrator sees them, with the test in place of the fork server."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.backends.stations.control import Control, MessageTooLongError
from testbed.backends.stations.processes import FORK_SERVER, MEDIUM, Processes


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """With a fork server that takes orders and does nothing."""
    ours, theirs = Control.pair()
    with Processes(tmp_path) as opened:
        opened.adopt(FORK_SERVER, ours)
        yield opened
        theirs.close()


@pytest.fixture
def incarnations() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two processes that a station could be."""
    started = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) for _ in range(2)]
    yield started
    for process in started:
        process.kill()
        process.communicate()


def test_a_station_is_killed_before_it_is_known_which_process_it_is(processes, incarnations):
    """It is killed when the fork server has named its process, and not by the number of its earlier incarnation."""
    first, second = incarnations
    processes.start_station(1, 1, {})
    processes.note_pid(1, first.pid)
    processes.start_station(1, 2, {})
    processes.kill(1)
    processes.note_pid(1, second.pid)
    assert second.wait(10) == -signal.SIGKILL
    assert first.poll() is None


def test_only_the_incarnation_that_was_to_be_killed_is_killed(processes, incarnations):
    """The order to kill one does not stay in force for the next."""
    first, second = incarnations
    processes.start_station(1, 1, {})
    processes.kill(1)
    processes.note_pid(1, first.pid)
    assert first.wait(10) == -signal.SIGKILL
    processes.start_station(1, 2, {})
    processes.note_pid(1, second.pid)
    assert second.poll() is None


def test_an_order_that_cannot_be_given(processes):
    """To a process that has ended, nothing happens; an order that is too long is an error, not lost in silence."""
    ours, theirs = Control.pair()
    processes.adopt(MEDIUM, ours)
    with pytest.raises(MessageTooLongError):
        processes.tell(MEDIUM, {"do": "forbid", "pairs": "x" * (1 << 23)})
    theirs.close()
    processes.tell(MEDIUM, {"do": "forbid", "pairs": []})
