"""What a network was like, on histories short enough to compute it by hand."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.network import NetworkMetrics, frames_per_entry
from tests.analysis.histories import Event, feed, start, stop


def measure(*events: Event) -> dict[str, Any]:
    """The network of a history: by default a line of three nodes."""
    return feed(NetworkMetrics(), *events).result()


def link_down(t: float, a: int, b: int) -> list[Event]:
    """Both ends learn of it."""
    return [("link_down", t, a, b, 0), ("link_down", t, b, a, 0)]


def link_up(t: float, a: int, b: int) -> list[Event]:
    """Both ends learn of it."""
    return [("link_up", t, a, b), ("link_up", t, b, a)]


def test_a_network_that_never_changes() -> None:
    """A line of three has a mean degree of 4/3."""
    assert measure(start(), stop(10, 1, 0, 0)) == {
        "link_changes": 0,
        "link_change_rate": 0,
        "mean_degree": pytest.approx(4 / 3),
        "frames": None,
        "air_bytes": None,
        "components": 1,
        "time_partitioned": 0,
        "medium_lateness": None,
        "station_lateness": None,
    }


def test_lateness_is_passed_on() -> None:
    """As the medium and the latest station measured it; the number of that station is no measure."""
    medium = {"mean": 1.0, "p50": 0.9, "p95": 2.0, "p99": 3.0, "max": 4.0}
    station = {"mean": 2.0, "p50": 1.9, "p95": 3.0, "p99": 4.0, "max": 5.0}
    event = ("lateness", 9, None, medium, {**station, "station": 7}, 12.5)
    measured = measure(start(), event, stop(10, 1, 0, 0))
    assert (measured["medium_lateness"], measured["station_lateness"]) == (medium, station)


def test_link_changes() -> None:
    """Two changes in ten units; one link for 4 of the ten units, two for 6."""
    result = measure(start(), *link_down(3, 0, 1), *link_up(7, 0, 2), stop(10, 1, 0, 0))
    assert (result["link_changes"], result["link_change_rate"]) == (2, 0.2)
    assert result["mean_degree"] == pytest.approx(2 * 1.6 / 3)


def test_a_crashed_node_learns_of_no_change() -> None:
    """Its links go all the same, and each counts once."""
    result = measure(start(), ("link_down", 5, 2, 1, 0), *link_down(5, 0, 1), stop(10, 1, 0, 0))
    assert result["link_changes"] == 2
    assert result["mean_degree"] == pytest.approx(2 / 3)


def test_partitions() -> None:
    """Two components for 2 units of ten, three for 1."""
    changes = [("partition", 4, None, 2, [2]), ("partition", 6, None, 3, [1, 2]), ("partition", 7, None, 1, [])]
    result = measure(start(), *changes, stop(10, 1, 0, 0))
    assert (result["components"], result["time_partitioned"]) == (pytest.approx(1.4), pytest.approx(0.3))


def test_the_warmup_is_left_out() -> None:
    """Averages start from the state at its end."""
    early = [*link_down(3, 0, 1), ("partition", 3, None, 2, [])]
    late = [*link_up(12, 0, 1), ("partition", 12, None, 1, [])]
    result = measure(start(warmup=10), *early, *late, stop(20, 1, 0, 0))
    assert (result["link_changes"], result["link_change_rate"]) == (1, 0.1)
    assert result["mean_degree"] == pytest.approx(2 * 1.8 / 3)
    assert (result["components"], result["time_partitioned"]) == (pytest.approx(1.2), pytest.approx(0.2))


def test_what_the_log_does_not_hold_is_not_measured() -> None:
    """A log of critical sections has partitions but no links."""
    result = measure(start(trace="cs"), stop(10, 1, 0, 0))
    assert result["link_changes"] is result["mean_degree"] is result["link_change_rate"] is None
    assert result["components"] == 1


def test_what_the_link_layers_sent() -> None:
    """By type, and in bytes."""
    frames = [("frames", 9, None, "Hello", 30, 600), ("frames", 9, None, "Data", 4, 200)]
    result = measure(start(), *frames, stop(10, 1, 0, 0))
    assert (result["frames"], result["air_bytes"]) == ({"Data": 4, "Hello": 30}, 800)


@pytest.mark.parametrize("connected", [False, True])
def test_links_that_are_there_at_the_start(connected: bool) -> None:
    """Ideal links are; over radio, between neighbours, each is found and logged first. A line of three has two."""

    def degree(needs: str, *, over_radio: bool, events: list[Event]) -> float:
        first = start(needs=needs, over_radio=over_radio, assumes_connected=connected)
        return measure(first, *events, stop(10, 1, 0, 0))["mean_degree"]

    assert degree("links", over_radio=False, events=[]) == pytest.approx(4 / 3)
    assert degree("any node", over_radio=False, events=[]) == pytest.approx(4 / 3)
    assert degree("links", over_radio=True, events=[]) == 0
    assert degree("links", over_radio=True, events=link_up(5, 0, 1)) == pytest.approx(1 / 3)


def test_routers_over_radio_report_no_links() -> None:
    """What they do not report is not measured, whether or not frames are logged; with ideal routing, it is."""
    frames, end = ("frames", 10, None, "Advert", 30, 600), stop(10, 1, 0, 0)
    assert measure(start(needs="any node"), end)["link_changes"] == 0
    for events in ([], [frames]):
        result = measure(start(needs="any node", over_radio=True), *events, end)
        assert result["link_changes"] is result["link_change_rate"] is result["mean_degree"] is None
    assert (result["components"], result["frames"]) == (1, {"Advert": 30})


def test_frames_for_each_entry() -> None:
    """Of all kinds together; nothing where there are no frames or no entries."""
    frames = {"frames": {"Data": 4, "Hello": 30}, "air_bytes": 850}
    assert frames_per_entry({**frames, "entries": 17}) == {"frames_per_cs": 2, "bytes_per_cs": 50}
    for nothing in (
        {**frames, "entries": 0},
        {**frames, "entries": None},
        {"frames": None, "air_bytes": None, "entries": 3},
    ):
        assert frames_per_entry(nothing) == {"frames_per_cs": None, "bytes_per_cs": None}
