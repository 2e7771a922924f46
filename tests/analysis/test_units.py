"""The table of units against the list of metrics, and the labels that are made of both."""

from __future__ import annotations

import pytest

from analysis.metric_names import METRICS
from analysis.units import METRIC_UNITS, axis_label, axis_value_label, metric_label


def test_every_metric_has_a_unit() -> None:
    """The same keys, in the same order."""
    assert list(METRIC_UNITS) == list(METRICS)


@pytest.mark.parametrize("name", METRICS)
def test_every_label_has_a_unit_or_an_index(name: str) -> None:
    """One pair of parentheses at its end; examples in words have none."""
    label = metric_label(name)
    assert label.count("(") == label.count(")") == (name != "first_inversions")


def test_labels() -> None:
    assert metric_label("waiting_time") == "waiting time (time units)"
    assert metric_label("waiting_time", "p95") == "waiting time, p95 (time units)"
    assert metric_label("throughput") == "throughput (entries per time unit)"
    assert metric_label("medium_lateness", "p99") == "medium lateness, p99 (ms)"
    assert metric_label("fairness") == "fairness (Jain)"
    assert axis_label("workload.rate") == "request rate of a node (requests per time unit)"
    assert axis_label("algorithm.unheard_of") == "algorithm.unheard_of"
    assert axis_value_label("mobility.speed", "1-5") == "mobility.speed = 1-5 m/s"
    assert axis_value_label("nodes", "20") == "nodes = 20"
