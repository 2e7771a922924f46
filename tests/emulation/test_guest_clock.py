"""A guest whose clock runs faster or slower than the host's is found out; an error of measurement is no alarm."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.backends.in_guest import run_in_guest
from testbed.errors import InconclusiveError
from testbed.experiments.runner import no_report
from testbed.guest.clock import ClockReading, check_clock, clock_rates, read_clock
from testbed.guest.host import Guest
from testbed.scenario.loader import load
from tests.conftest import PROJECT
from tests.testbed.tiny import is_one_line

pytestmark = pytest.mark.xdist_group("guest")

SET_TICK = """\
import ctypes, sys
class Timex(ctypes.Structure):
    _fields_ = [("modes", ctypes.c_uint), *((name, ctypes.c_long) for name in (
        "offset", "freq", "maxerror", "esterror")), ("status", ctypes.c_int), *((name, ctypes.c_long) for name in (
        "constant", "precision", "tolerance", "sec", "usec", "tick")), ("rest", ctypes.c_char * 200)]
asked = Timex(modes=0x4000, tick=int(sys.argv[1]))
sys.exit(ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(asked)) < 0)
"""
"""Sets the microseconds that the clock advances in a hundredth of a second: 9000 to 11000."""


def reading(at_s: float, guest_s: float, took_s: float = 0.0) -> ClockReading:
    return ClockReading(at_s, guest_s, at_s + took_s)


# -- the arithmetic ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.985, 1.0, 1.015])
def test_a_clock_within_the_tolerance(rate: float) -> None:
    check_clock(reading(100.0, 7.0), reading(200.0, 7.0 + 100 * rate))


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (6.0, "6.00 times as fast"),
        (1.03, "1.03 times as fast"),
        (0.97, "at most 0.97 times as fast"),
        (0.1, "at most 0.10"),
    ],
)
def test_a_clock_that_is_too_fast_or_too_slow(rate: float, words: str) -> None:
    """One line says by how much, and what to do."""
    with pytest.raises(InconclusiveError) as caught:
        check_clock(reading(100.0, 7.0), reading(200.0, 7.0 + 100 * rate))
    assert words in str(caught.value)
    assert "run it again" in str(caught.value)
    assert is_one_line(f"{caught.value}\n")
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
def test_slow_readings_are_no_difference(first: float, second: float) -> None:
    """The guest may have read its clock at the begin or at the end of a reading that took a second of two."""
    began, ended = reading(100.0, 50.0 + first, took_s=1.0), reading(102.0, 52.0 + second, took_s=1.0)
    check_clock(began, ended)
    slowest, fastest = clock_rates(began, ended)
    assert slowest <= 1 <= fastest


def test_nothing_is_known_over_no_time() -> None:
    """Two readings one after the other allow almost any rate."""
    check_clock(reading(100.0, 50.0, took_s=0.02), reading(100.02, 50.02, took_s=0.02))


# -- a real guest ------------------------------------------------------------------------------------------------------


@pytest.fixture
def set_tick(guest: Guest) -> Iterator[str]:
    """A script in the guest that makes its clock faster or slower; at the end it is as it was."""
    path = "/tmp/set_tick.py"
    guest.send({path: SET_TICK.encode()})
    yield path
    assert guest.run(["python", path, "10000"]) == 0


def test_the_clock_of_a_guest_as_it_is(guest: Guest) -> None:
    first = read_clock(guest)
    time.sleep(2)
    second = read_clock(guest)
    check_clock(first, second)
    assert second.guest_s > first.guest_s


@pytest.mark.parametrize(("tick", "how"), [("11000", "times as fast as"), ("9000", "at most 0.9")])
def test_a_run_in_a_guest_with_a_wrong_clock(guest: Guest, set_tick: str, tick: str, how: str, tmp_path: Path) -> None:
    """Ten per cent too fast, or too slow: the run ends as inconclusive whatever its checks say."""
    scenario = load(PROJECT / "scenarios/smoke/radio/line.yaml", ["backend=hwsim", "duration=30", "drain=10"])
    guest.run(["rm", "-rf", "/tmp/runs"])  # what other tests left there would come back too
    assert guest.run(["python", set_tick, tick]) == 0
    with pytest.raises(InconclusiveError, match=how):
        run_in_guest(scenario, tmp_path, no_report, guest=guest)
    (run,) = tmp_path.iterdir()
    assert (run / "summary.json").exists(), "what there is comes back all the same"
