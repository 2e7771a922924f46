"""What a figure or a table takes from results: one number of every repetition, grouped by values on some axes.

A group is one cell of a table or one point of a figure. Its repetitions must be alike: a group that mixes points which
differ on another axis is refused, because the mean over them says nothing of any of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from analysis import stats
from analysis.check import FAILED
from analysis.metric_names import METRICS
from analysis.results import Results, Row
from analysis.units import metric_label

ALGORITHM = "algorithm"
MANY = 12
"""Names that an error line does not list if one of them is like what was written."""


class SelectionError(Exception):
    """The results do not have what was asked for. The text is one line that says what they have."""


def known(word: str, names: Iterable[str], what: str) -> str:
    """The word, if it is one of the names; otherwise an error with the nearest one."""
    names = list(names)
    if word in names:
        return word
    near = difflib.get_close_matches(word.lower(), names, 1)
    if near and len(names) > MANY:
        raise SelectionError(f"{what}: found {word}; did you mean {near[0]}?")
    meant = f" (did you mean {near[0]}?)" if near else ""
    raise SelectionError(f"{what}: found {word}; allowed: one of {', '.join(names) or 'none'}{meant}")


def shown(value: Any) -> str:
    """A value on an axis as text: a range such as [1, 5] is 1-5."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return plain(value)
    if isinstance(value, list | tuple):
        is_range = len(value) == 2 and all(is_number(one) and one >= 0 for one in value)
        return ("-" if is_range else ", ").join(map(shown, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {shown(one)}" for key, one in value.items())
    return str(value)


def plain(value: float) -> str:
    """A number without a power of ten: 0.00001 and 1000000, not 1e-05 and 1e+06."""
    return f"{Decimal(f'{value:.12g}'):f}"


def is_number(value: Any) -> bool:
    """Whether a value on an axis has a place on a scale."""
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Measure:
    """One number of every repetition: a metric, or a column of one that is a distribution."""

    name: str
    column: str = "mean"

    @classmethod
    def parse(cls, text: str) -> Measure:
        """`waiting_time` or `waiting_time.p95`."""
        name, _, column = text.partition(".")
        measurable = [key for key, metric in METRICS.items() if metric.columns]
        known(name, measurable, "metric")
        return cls(name, known(column or "mean", METRICS[name].columns, f"column of {name}"))

    def of(self, row: Row) -> float | None:
        """Its value in a repetition; None if the repetition did not measure it."""
        value = row.metrics.get(self.name)
        if isinstance(value, Mapping):
            value = value.get(self.column)
        return None if value is None else float(value)

    @property
    def label(self) -> str:
        """With its unit."""
        return metric_label(self.name, self.column)

    def __str__(self) -> str:
        return self.name if self.column == "mean" else f"{self.name}.{self.column}"


@dataclass(frozen=True)
class Group:
    """The repetitions that have the same values on the chosen axes."""

    values: Sequence[float]
    """What they measured."""
    repetitions: int
    """How many there are, also those that measured nothing."""
    failed: Sequence[str] = ()
    """The checks that failed in any of them."""

    @property
    def mean(self) -> float | None:
        """None if nothing was measured."""
        return stats.mean(self.values)

    @property
    def half(self) -> float | None:
        """Half the width of the 95 % interval of the mean; None for fewer than two values."""
        return stats.ci95(self.values)


Key = tuple[str, ...]
"""The values on the chosen axes, as text."""


@dataclass(frozen=True)
class Selection:
    """Results, and what is wanted of them."""

    results: Results
    measure: Measure
    baseline: str | None = None
    """The algorithm from which differences are taken, repetition by repetition; None for the values themselves."""
    where: Mapping[str, str] = field(default_factory=dict)
    """The only values that are taken, as text, by axis."""

    def checked(self) -> Selection:
        """The same with only the rows that are taken, if the results have what it asks for."""
        rows = self.results.rows
        for axis, text in self.where.items():
            known(axis, self.results.axes, "axis")
            known(text, self.values_as_text(axis), axis)
            rows = tuple(row for row in rows if shown(row.axes.get(axis)) == text)
        chosen = replace(self, results=replace(self.results, rows=rows))
        if not rows:
            raise SelectionError(f"{self.results.name}: no results yet")
        if all(self.measure.of(row) is None for row in rows):
            raise SelectionError(
                f"{self.results.name}: {self.measure} was not measured in any of {len(rows)} repetitions"
            )
        if self.baseline is not None:
            known(ALGORITHM, self.results.axes, "baseline: axis")
            known(self.baseline, chosen.values_as_text(ALGORITHM), "baseline")
            if ALGORITHM not in self.results.shares_draws:
                raise SelectionError(
                    f"baseline: {self.results.name} has no pairs: repetition r of its algorithms does not have the "
                    "same network and the same applications"
                )
        return chosen

    def values(self, axis: str) -> list[Any]:
        """The values on an axis: numbers in their order, anything else in the order of the study."""
        found: dict[str, Any] = {}
        for row in self.results.rows:
            found.setdefault(shown(row.axes.get(axis)), row.axes.get(axis))
        values = list(found.values())
        return sorted(values) if all(map(is_number, values)) else values

    def values_as_text(self, axis: str) -> list[str]:
        """The same as tables and figures show them."""
        return [shown(value) for value in self.values(axis)]

    def is_numeric(self, axis: str) -> bool:
        """Whether all values on an axis are numbers."""
        return all(map(is_number, self.values(axis)))

    def depends_on(self, axis: str, others: Sequence[str]) -> bool:
        """Whether the values on other axes decide the value on this one, as where keys are varied together."""
        seen: dict[Key, str] = {}
        for row in self.results.rows:
            text = shown(row.axes.get(axis))
            if seen.setdefault(_key(row, others), text) != text:
                return False
        return True

    def groups(self, axes: Sequence[str]) -> dict[Key, Group]:
        """The repetitions grouped by their values on these axes; differences from the baseline, if there is one."""
        for axis in self.results.axes:
            if axis not in axes and not self.depends_on(axis, axes):
                values = ", ".join(self.values_as_text(axis))
                raise SelectionError(
                    f"{axis} has several values ({values}): give it a place, or choose one with --where {axis}=VALUE"
                )
        rows: dict[Key, list[Row]] = {}
        for row in self.results.rows:
            rows.setdefault(_key(row, axes), []).append(row)
        pairs = self._baseline_values() if self.baseline is not None else {}
        return {key: self._group(chosen, pairs) for key, chosen in rows.items() if not self._is_baseline(chosen[0])}

    def _is_baseline(self, row: Row) -> bool:
        return self.baseline is not None and shown(row.axes.get(ALGORITHM)) == self.baseline

    def _others(self, row: Row) -> Key:
        """The point of a row except for its algorithm, and its repetition."""
        return (*_key(row, [axis for axis in self.results.axes if axis != ALGORITHM]), str(row.repetition))

    def _baseline_values(self) -> dict[Key, float | None]:
        return {self._others(row): self.measure.of(row) for row in self.results.rows if self._is_baseline(row)}

    def _group(self, rows: Sequence[Row], pairs: Mapping[Key, float | None]) -> Group:
        values = []
        for row in rows:
            value = self.measure.of(row)
            if value is not None and self.baseline is not None:
                base = pairs.get(self._others(row))
                value = None if base is None else value - base
            if value is not None:
                values.append(value)
        failed = [name for row in rows for name, check in row.checks.items() if check["verdict"] == FAILED]
        return Group(values, len(rows), list(dict.fromkeys(failed)))

    @property
    def label(self) -> str:
        """What the numbers are, with their unit."""
        if self.baseline is None:
            return self.measure.label
        name, paren, unit = self.measure.label.partition(" (")
        return f"{name}, difference from {self.baseline}{paren}{unit}"

    def missing(self) -> list[str]:
        """Lines on what the study lacks: repetitions without a result, or without this measure, or that failed."""
        results, lines = self.results, []
        if results.missing:
            lines.append(f"{results.missing} repetitions have no result")
        if results.stale:
            lines.append(f"{results.stale} points have only results of other code")
        unmeasured = sum(self.measure.of(row) is None for row in results.rows)
        if unmeasured:
            lines.append(f"{unmeasured} of {len(results.rows)} repetitions did not measure {self.measure}")
        if self.baseline is not None:
            pairs = self._baseline_values()
            others = [row for row in results.rows if not self._is_baseline(row) and self.measure.of(row) is not None]
            alone = sum(pairs.get(self._others(row)) is None for row in others)
            if alone:
                lines.append(f"{alone} of {len(others)} repetitions have no pair of {self.baseline}")
        failed = [row for row in results.rows if any(one["verdict"] == FAILED for one in row.checks.values())]
        if failed:
            lines.append(f"checks failed in {len(failed)} of {len(results.rows)} repetitions")
        return lines


def _key(row: Row, axes: Sequence[str]) -> Key:
    return tuple(shown(row.axes.get(axis)) for axis in axes)
