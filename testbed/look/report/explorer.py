"""The part of a page in which a reader chooses a metric and the axes that it is drawn against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.selection import is_number, shown
from analysis.units import axis_label
from testbed.look.report.metric_rows import measure_label, measures_of
from testbed.look.report.values import mapping, name

FIRST = "waiting_time"
"""The metric that is shown first."""


@dataclass(frozen=True)
class ExplorerPoint:
    """A point: its values on the axes, its metrics over the repetitions, and the checks that failed."""

    axes: Mapping[str, Any]
    metrics: Mapping[str, Any]
    failed: Sequence[str] = ()


def explorer_data(axes: Sequence[str], points: Sequence[ExplorerPoint]) -> dict[str, Any] | None:
    """What `explorer.js` takes; None if nothing was measured."""
    measured = [measures_of(point.metrics) for point in points]
    names = list(dict.fromkeys(measure for one in measured for measure in one))
    if not names:
        return None
    return {
        "axes": [
            {
                "label": name(axis_label(axis)),
                "isNumeric": all(is_number(mapping(point.axes).get(axis)) for point in points),
            }
            for axis in axes
        ],
        "measures": [{"key": measure, "label": measure_label(measure)} for measure in names],
        "first": names.index(FIRST) if FIRST in names else 0,
        "points": [
            {
                "at": [_value(point.axes.get(axis)) for axis in axes],
                "values": [one.get(measure) for measure in names],
                "failed": [name(check) for check in point.failed],
            }
            for point, one in zip(points, measured, strict=True)
        ],
    }


def _value(value: Any) -> float | str:
    return value if is_number(value) else name(shown(value))
