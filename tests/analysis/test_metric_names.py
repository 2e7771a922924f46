"""The one list of metrics against what runs measure: the same keys, in order, with the columns that it promises."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.audit import Audit, BatchedAudit, EventAudit
from analysis.metric_names import METRICS
from analysis.metrics import summarise
from analysis.tables import metrics_table
from testbed.backends.stations.lateness import Lateness
from tests.testbed.simulate import Simulated, simulate

SPREAD = ("mean", "p50", "p95", "max")
BY_TYPE = {"messages", "messages_per_cs_by_type", "frames", "entries_by_place", "waiting_by_place"}
IN_NEIGHBOURHOODS = (
    "transmissions_per_cs", "arrivals", "evictions", "abandoned", "regenerated", "entries_by_place", "waiting_by_place",
)  # fmt: skip
"""What is measured only in runs with neighbourhoods."""


@pytest.fixture(scope="module")
def repetitions() -> list[dict[str, Any]]:
    """What two repetitions measure: over radio links, with a medium in real time, whose lateness is measured as well.

    What is measured only in neighbourhoods is from another run.
    """
    workload = {"rate": 0.1, "priority": {"uniform": [0, 9]}, "deadline": {"uniform": [0, 5]}}
    links = {"kind": "radio", "hello": 1.0}
    run = simulate(links=links, delays={"hop": 0.1}, workload=workload, warmup=10.0, duration=60.0)
    late = Lateness()
    for nanoseconds in range(0, 5_000_000, 1000):
        late.note(nanoseconds)
    station_ms = {**(late.summary_ms() or {}), "station": 3}
    run.audit.lateness(0, None, late.summary_ms(), station_ms, 12.5)
    places = in_neighbourhoods().audit.metrics()
    return [{**run.audit.metrics(), **{name: places[name] for name in IN_NEIGHBOURHOODS}}] * 2


def in_neighbourhoods() -> Simulated:
    """A run in two neighbourhoods, which nodes leave with requests and in critical sections; one token is lost."""
    churn = {"groups": 2, "departures": 0.1, "away": 1.0}
    lost = [{"at": 20.0, "kind": "lose", "holder": True}]
    return simulate(algorithm="klme", topology="complete", churn=churn, workload={"rate": 1.0}, faults=lost)


@pytest.mark.parametrize("audit", [Audit, EventAudit, BatchedAudit])
def test_every_audit_measures_the_metrics_of_the_list(audit: type[Audit]) -> None:
    """All of them and no others, in the list's order, even when nothing has happened."""
    assert list(audit().metrics()) == list(METRICS)


def test_a_run_measures_every_metric(repetitions: list[dict[str, Any]]) -> None:
    """Where there is something to measure, none is left out."""
    assert list(repetitions[0]) == list(METRICS)
    assert [name for name, value in repetitions[0].items() if value is None] == []


def test_without_neighbourhoods_nothing_is_measured_of_them() -> None:
    """None, not 0, and no row in the table."""
    metrics = simulate(duration=50.0).audit.metrics()
    assert {name: metrics[name] for name in IN_NEIGHBOURHOODS} == dict.fromkeys(IN_NEIGHBOURHOODS)
    labels = [row[0] for row in metrics_table(summarise([metrics])).rows]
    assert not {METRICS[name].label for name in IN_NEIGHBOURHOODS} & set(labels)
    assert not [label for label in labels if "place" in label]


def test_the_table_of_a_run_in_neighbourhoods() -> None:
    """Each metric has a row, and those by place have one for every place."""
    rows = {row[0]: row[1] for row in metrics_table(summarise([in_neighbourhoods().audit.metrics()])).rows}
    labels = [METRICS[name].label for name in IN_NEIGHBOURHOODS[:-2]]
    labels += [f"{what} at place {place}" for what in ("CS entries", "waiting time") for place in (0, 1)]
    assert all(float(rows[label]) > 0 for label in labels), rows


@pytest.mark.parametrize("name", METRICS)
def test_columns_are_those_that_are_measured(name: str, repetitions: list[dict[str, Any]]) -> None:
    """A scenario can bound each column, and no metric has a column that the list leaves out."""
    columns, summary = METRICS[name].columns, summarise(repetitions)[name]
    if name == "first_inversions":  # examples, which a scenario cannot bound
        assert (columns, summary["mean"]) == ((), None)
    elif name in BY_TYPE:
        assert columns == ()
        assert all(set(one) == {"mean", "ci95"} for one in summary.values())
        assert len(summary) > 0
    else:
        assert set(columns) == set(summary) - {"ci95"}
        assert all(isinstance(summary[column], int | float) for column in columns)


def test_which_metrics_have_a_spread() -> None:
    """Times of single requests, the paths of tokens, and lateness, whose tail is what counts."""
    spreads = {name: metric.columns for name, metric in METRICS.items() if len(metric.columns) > 1}
    times = dict.fromkeys(("waiting_time", "response_time", "synchronization_delay", "token_path"), SPREAD)
    lateness = dict.fromkeys(("medium_lateness", "station_lateness"), ("mean", "p50", "p95", "p99", "max"))
    assert spreads == {**times, **lateness}


def test_without_repetitions_every_metric_is_there() -> None:
    """A run that was killed before its first repetition can be shown like any other."""
    assert list(summarise([])) == list(METRICS)
    assert {cell for row in metrics_table(summarise([])).rows for cell in row[1:]} == {"-"}


def test_labels_tell_metrics_apart() -> None:
    """No two rows of a table are named alike."""
    labels = [metric.label for metric in METRICS.values()]
    assert len(set(labels)) == len(labels)
