"""The results of a study, a comparison or a run, as figures, tables and data frames take them: a row per repetition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One repetition of one point."""

    axes: dict[str, Any]
    """The point's value on every axis, such as `{"algorithm": "rl", "workload.rate": 0.1}`."""
    repetition: int
    metrics: dict[str, Any]
    """As `analysis.metrics` measures them."""
    checks: dict[str, dict[str, Any]]
    """The verdicts of the checks."""
    seconds: float | None = None
    """How long it took."""
    log: str | None = None
    """The run directory with its log, if it failed and the log was kept."""


@dataclass(frozen=True)
class Results:
    """All rows, in the order of the points, and of the repetitions of each."""

    name: str
    axes: tuple[str, ...]
    """The names of the axes, in the order of the study."""
    rows: tuple[Row, ...]
    missing: int = 0
    """How many repetitions have no result."""
    notes: tuple[str, ...] = ()
    """Lines that belong to the results, such as errors of repetitions that have none."""
    stale: int = 0
    """How many points have only results that other code has made."""
    shares_draws: frozenset[str] = field(default_factory=frozenset)
    """The axes along which repetition r of every point has the same network and the same applications."""

    def points(self) -> Iterator[tuple[dict[str, Any], list[Row]]]:
        """The rows of every point, with its values on the axes."""
        current: list[Row] = []
        for row in self.rows:
            if current and row.axes != current[0].axes:
                yield current[0].axes, current
                current = []
            current.append(row)
        if current:
            yield current[0].axes, current


def mean_of(metrics: dict[str, Any], name: str) -> float | None:
    """A metric of a repetition as one number: of a distribution, its mean. None if it was not measured."""
    value = metrics.get(name)
    if isinstance(value, dict):
        value = value.get("mean")
    return None if value is None else float(value)
