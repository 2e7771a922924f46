"""The processes of a run as the orchestrator sees them, with the nursery's part played by the test."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.backends.stations.processes import MEDIUM, NURSERY, Children
from testbed.backends.stations.control import Control, MessageTooLongError


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    """With somebody at the other end who takes orders and does nothing."""
    ours, theirs = Control.pair()
    with Children(tmp_path) as one:
        one.adopt(NURSERY, ours)
        yield one
        theirs.close()


@pytest.fixture
def lives() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two processes that a station could be."""
    started = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) for _ in range(2)]
    yield started
    for process in started:
        process.kill()
        process.communicate()


def test_a_station_is_killed_before_it_is_known_which_process_it_is(children, lives):
    """Not its earlier life, whose number may be somebody else's by now, but the new one, when the nursery names it."""
    first, second = lives
    children.bear(1, 1, {})
    children.note_pid(1, first.pid)
    children.bear(1, 2, {})
    children.kill(1)
    children.note_pid(1, second.pid)
    assert second.wait(10) == -signal.SIGKILL
    assert first.poll() is None


def test_only_the_life_that_was_to_die_dies(children, lives):
    """The next one is not killed as well."""
    first, second = lives
    children.bear(1, 1, {})
    children.kill(1)
    children.note_pid(1, first.pid)
    assert first.wait(10) == -signal.SIGKILL
    children.bear(1, 2, {})
    children.note_pid(1, second.pid)
    assert second.poll() is None


def test_an_order_that_cannot_be_given(children):
    """Nothing happens if there is nobody to take it; one that is too long must not get lost as quietly."""
    ours, theirs = Control.pair()
    children.adopt(MEDIUM, ours)
    with pytest.raises(MessageTooLongError):
        children.tell(MEDIUM, {"do": "forbid", "pairs": "x" * (1 << 23)})
    theirs.close()
    children.tell(MEDIUM, {"do": "forbid", "pairs": []})
