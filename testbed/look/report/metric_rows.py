"""Metrics as rows of tables, with their units: every one that was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.metric_names import METRICS
from analysis.units import METRIC_UNITS, metric_label
from testbed.look.report.blocks import Cell, interval_cell, number_cell, table
from testbed.look.report.values import compact, finite, mapping, name

COLUMNS = {"mean": "mean", "ci95": "± 95 %", "p50": "p50", "p95": "p95", "p99": "p99", "max": "max"}
MOST_TYPES = 100
"""Rows of a metric that is a mapping by type."""
SHOWN = (
    ("waiting_time", "mean"), ("waiting_time", "p95"), ("waiting_time", "max"), ("messages_per_cs", "mean"),
    ("entries", "mean"), ("pending", "mean"), ("throughput", "mean"), ("fairness", "mean"),
    ("synchronization_delay", "mean"), ("mean_degree", "mean"), ("time_partitioned", "mean"),
    ("station_lateness", "p99"), ("medium_lateness", "p99"),
)  # fmt: skip
"""What tables with a row for every repetition or point show, where it was measured."""


def rows_of(metrics: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The label, the unit and the columns of every metric that was measured, and of every type of one by type."""
    for key, metric in METRICS.items():
        found, unit = mapping(metrics.get(key)), METRIC_UNITS[key].words
        if finite(found.get("mean")) is not None:
            yield metric.label, unit, found
        elif not metric.columns:  # by type, or by place
            types = [
                (type, mapping(one)) for type, one in found.items() if finite(mapping(one).get("mean")) is not None
            ]
            for type, one in types[:MOST_TYPES]:
                yield f"{metric.label}: {name(type)}", unit, one


def metrics_table(metrics: Mapping[str, Any], caption: str) -> str:
    """Every metric of a run, over its repetitions."""
    rows = [
        [Cell(label), Cell(unit), *(number_cell(found.get(column)) for column in COLUMNS)]
        for label, unit, found in rows_of(metrics)
    ]
    return table(caption, ["metric", "unit", *COLUMNS.values()], rows, labels=2) if rows else ""


def side_by_side(columns: Sequence[tuple[str, Mapping[str, Any]]], caption: str) -> str:
    """Every metric of several runs, one a column."""
    found: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for index, (_, metrics) in enumerate(columns):
        for label, unit, one in rows_of(metrics):
            found.setdefault((label, unit), {})[index] = one
    rows = []
    for (label, unit), by_column in found.items():
        cells = (mapping(by_column.get(index)) for index in range(len(columns)))
        rows.append([Cell(label), Cell(unit), *(interval_cell(one.get("mean"), one.get("ci95")) for one in cells)])
    return table(caption, ["metric", "unit", *(head for head, _ in columns)], rows, labels=2) if rows else ""


def shown_of(metrics: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What of `SHOWN` any of several runs has measured."""
    return [(key, column) for key, column in SHOWN if any(column_of(one, key, column) is not None for one in metrics)]


def heading(key: str, column: str) -> str:
    """The head of such a column."""
    return metric_label(key, column)


def column_of(metrics: Mapping[str, Any], key: str, column: str) -> float | None:
    """A number of a metric, which in a single repetition may be a plain number."""
    value = metrics.get(key)
    return finite(mapping(value).get(column)) if isinstance(value, Mapping) else finite(value)


def measures_of(metrics: Mapping[str, Any]) -> dict[str, list[float | None]]:
    """Every number of the metrics with half the width of its interval, by names such as `waiting_time.p95`."""
    measures = {}
    for key, metric in METRICS.items():
        found = mapping(metrics.get(key))
        for column in metric.columns:
            value = compact(found.get(column))
            if value is not None:
                half = compact(found.get("ci95")) if column == "mean" else None
                measures[key if column == "mean" else f"{key}.{column}"] = [value, half]
    return measures


def measure_label(measure: str) -> str:
    """Such a name as the label of an axis."""
    key, _, column = measure.partition(".")
    return metric_label(key, column or "mean")
