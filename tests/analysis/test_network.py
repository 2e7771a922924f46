"""What a network was like, on histories short enough to compute it by hand."""

from __future__ import annotations

from typing import Any

import pytest
from histories import Event, feed, start, stop

from analysis.network import Network, frames_per_entry


def measure(*events: Event) -> dict[str, Any]:
    """The network of a history: by default a line of three nodes."""
    return feed(Network(), *events).result()


def link_down(t: float, a: int, b: int) -> list[Event]:
    """Both ends are told."""
    return [("link_down", t, a, b, 0), ("link_down", t, b, a, 0)]


def link_up(t: float, a: int, b: int) -> list[Event]:
    """Both ends are told."""
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
    }


def test_lateness_is_passed_on() -> None:
    """As the medium measured it."""
    lateness = {"mean": 1.0, "p50": 0.9, "p95": 2.0, "p99": 3.0, "max": 4.0}
    assert measure(start(), ("lateness", 9, None, lateness), stop(10, 1, 0, 0))["medium_lateness"] == lateness


def test_link_changes() -> None:
    """Two changes in ten units; one link for 4 of the ten units, two for 6."""
    result = measure(start(), *link_down(3, 0, 1), *link_up(7, 0, 2), stop(10, 1, 0, 0))
    assert (result["link_changes"], result["link_change_rate"]) == (2, 0.2)
    assert result["mean_degree"] == pytest.approx(2 * 1.6 / 3)


def test_a_crashed_node_is_not_told() -> None:
    """Its links go all the same, each once."""
    result = measure(start(), ("link_down", 5, 2, 1, 0), *link_down(5, 0, 1), stop(10, 1, 0, 0))
    assert result["link_changes"] == 2
    assert result["mean_degree"] == pytest.approx(2 / 3)


def test_partitions() -> None:
    """Two parts for 2 units of ten, three for 1."""
    parts = [("partition", 4, None, 2, [2]), ("partition", 6, None, 3, [1, 2]), ("partition", 7, None, 1, [])]
    result = measure(start(), *parts, stop(10, 1, 0, 0))
    assert (result["components"], result["time_partitioned"]) == (pytest.approx(1.4), pytest.approx(0.3))


def test_the_warmup_is_left_out() -> None:
    """What was so when it ended is what the averages begin with."""
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


def test_routers_over_radio_tell_of_no_links() -> None:
    """What they do not tell is not measured; with ideal routing the links are told."""
    quiet = [start(needs="any node"), stop(10, 1, 0, 0)]
    assert measure(*quiet)["link_changes"] == 0
    result = measure(quiet[0], ("frames", 10, None, "Advert", 30, 600), quiet[1])
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
