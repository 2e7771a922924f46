"""How late a medium was, summed up."""

from testbed.backends.stations.lateness import Lateness


def summary(*ns: int) -> dict[str, float] | None:
    lateness = Lateness()
    for late in ns:
        lateness.note(late)
    return lateness.summary_ms()


def test_nothing_was_ever_due():
    """There is no distribution then."""
    assert summary() is None


def test_lateness_is_noted_in_nanoseconds_and_summed_up_in_milliseconds():
    """The 101 values from 0 to 100 ms: each percentile is one of them."""
    noted = [1_000_000 * ms for ms in range(101)]
    assert summary(*reversed(noted)) == {"mean": 50.0, "p50": 50.0, "p95": 95.0, "p99": 99.0, "max": 100.0}


def test_percentiles_are_interpolated_between_neighbours():
    """Of 1, 2, 3 and 10 ms, the median is halfway between the 2nd and the 3rd; p95 lies 0.85 of the way to the 4th."""
    noted = (10_000_000, 1_000_000, 3_000_000, 2_000_000)
    assert summary(*noted) == {"mean": 4.0, "p50": 2.5, "p95": 8.95, "p99": 9.79, "max": 10.0}


def test_one_value_is_all_of_the_distribution():
    """To the nearest microsecond."""
    assert summary(1_234_567) == dict.fromkeys(("mean", "p50", "p95", "p99", "max"), 1.235)
