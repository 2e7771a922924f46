"""How late a medium or a station was, summed up, and how late it may be."""

import pytest

from testbed.backends.stations.lateness import Lateness, bound_ms
from testbed.scenario.links import RadioChoice


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


def test_what_was_late_before_does_not_count():
    lateness = Lateness()
    lateness.note(5_000_000)
    lateness.clear()
    assert lateness.summary_ms() is None
    lateness.note(1_000_000)
    assert lateness.summary_ms() == dict.fromkeys(("mean", "p50", "p95", "p99", "max"), 1.0)


def allowed_ms(*, time_unit: float = 0.1, **keys: float) -> float:
    return bound_ms(RadioChoice(**keys).settings(assumes_connected=True), time_unit)


def test_the_bound_is_half_of_retry():
    """By default a frame is sent again after a quarter of a hello interval: 25 ms, if that is a tenth of a second."""
    assert allowed_ms() == pytest.approx(12.5)


@pytest.mark.parametrize(
    ("keys", "times"),
    [
        ({"time_unit": 0.3}, 3),
        ({"hello": 2.0}, 2),
        ({"retry": 1.0}, 4),
        ({"hello": 0.5, "retry": 0.5, "time_unit": 1.0}, 10),
        ({"max_retry": 9.0, "dead_after": 9.0, "jitter": 0.0}, 1),
    ],
)
def test_what_the_bound_depends_on(keys: dict[str, float], times: float):
    """It is a real time: it grows with each of the three keys that make up the time until a frame is sent again."""
    assert allowed_ms(**keys) == pytest.approx(12.5 * times)
