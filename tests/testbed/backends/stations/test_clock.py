"""The clock that all processes of a run share."""

import time

import pytest

from testbed.backends.stations.clock import RunClock

NS_PER_S = 10**9


def test_the_clock_counts_in_time_units():
    """A quarter of a second to a time unit: four units, of 10^9 ticks each, to a second."""
    epoch = time.monotonic_ns() - NS_PER_S // 2
    clock = RunClock(epoch, 0.25)
    before, ticks, after = time.monotonic_ns(), clock.ticks(), time.monotonic_ns()
    assert 2 * NS_PER_S <= 4 * (before - epoch) <= ticks <= 4 * (after - epoch)
    before, seconds, after = time.monotonic_ns(), clock.seconds(), time.monotonic_ns()
    assert 0.5 <= (before - epoch) / 1e9 <= seconds <= (after - epoch) / 1e9


def test_a_time_of_the_run_on_the_clock_of_the_machine():
    """Time 0 is the epoch, and 4 units of a quarter of a second later is a second later."""
    clock = RunClock(7 * NS_PER_S, 0.25)
    assert clock.monotonic_s(0) == 7.0
    assert clock.monotonic_s(4 * NS_PER_S) == pytest.approx(8.0)


def test_time_is_negative_before_the_run_begins():
    """The epoch is told to the processes before it has come."""
    assert RunClock(time.monotonic_ns() + 60 * NS_PER_S, 1.0).ticks() < 0
