"""What the figure of a study shows: which axis goes where, and the mean and the interval of every point.

Drawing is in `analysis.figures`; here are only numbers, the same as in the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.selection import ALGORITHM, Selection, SelectionError, known, shown
from analysis.units import axis_value_label


@dataclass(frozen=True)
class Layout:
    """Which axis of the study goes where; None for a place that is not used."""

    x: str
    hue: str | None = None
    col: str | None = None
    row: str | None = None

    @property
    def axes(self) -> list[str]:
        """All axes that have a place."""
        return [axis for axis in (self.x, self.hue, self.col, self.row) if axis is not None]


@dataclass(frozen=True)
class PlannedPoint:
    """A mean, and half the width of its 95 % interval; None for a single repetition."""

    x: Any
    mean: float
    half: float | None

    @property
    def low(self) -> float:
        """The lower end of the interval, or the mean if there is none."""
        return self.mean - (self.half or 0.0)

    @property
    def high(self) -> float:
        """The upper end of the interval, or the mean if there is none."""
        return self.mean + (self.half or 0.0)


@dataclass(frozen=True)
class Panel:
    """The lines of one panel, in the order of the legend; a line may have no points."""

    titles: Sequence[str]
    """A line for the column and one for the row, if there are several."""
    lines: Sequence[Sequence[PlannedPoint]]


@dataclass(frozen=True)
class FigurePlan:
    """All panels, row by row."""

    layout: Layout
    label: str
    """Of the y axis."""
    x_values: Sequence[Any]
    """Numbers, or texts if x is not a scale."""
    is_scale: bool
    """Whether x has numbers, so that points are joined by lines."""
    names: Sequence[str]
    """The lines, as the legend has them; one empty name if there is no hue."""
    columns: int
    panels: Sequence[Panel]
    is_difference: bool

    def points(self) -> list[PlannedPoint]:
        """Those of all panels."""
        return [point for panel in self.panels for line in panel.lines for point in line]

    @property
    def log_x(self) -> bool:
        """Whether the values on the x axis span more than a decade."""
        return self.is_scale and spans_decade([float(x) for x in self.x_values])

    @property
    def log_y(self) -> bool:
        """Whether the means span more than a decade. Differences may be negative and have a linear axis."""
        return not self.is_difference and spans_decade([point.mean for point in self.points()])


def spans_decade(values: Sequence[float]) -> bool:
    """Whether all are positive, and the greatest is more than ten times the least."""
    return bool(values) and min(values) > 0 and max(values) > 10 * min(values)


def choose_layout(
    selection: Selection,
    *,
    x: str | None = None,
    hue: str | None = None,
    col: str | None = None,
    row: str | None = None,
) -> Layout:
    """The axes that were given, and sensible ones where none was.

    x is the axis of numbers with the most values, hue the algorithm, and col and row are the next axes that vary.
    """
    given = [axis for axis in (x, hue, col, row) if axis is not None]
    for axis in given:
        known(axis, selection.results.axes, "axis")
    twice = [axis for axis in given if given.count(axis) > 1]
    if twice:
        raise SelectionError(f"{twice[0]}: found in two places of the figure; allowed: one")
    used = list(given)
    varied = [axis for axis in selection.results.axes if len(selection.values(axis)) > 1]

    def free() -> list[str]:
        """Axes that vary while those in use are fixed: what is left to show."""
        return [axis for axis in varied if axis not in used and not selection.depends_on(axis, used)]

    def take(axis: str | None) -> str | None:
        if axis is not None:
            used.append(axis)
        return axis

    if x is None:
        left = [axis for axis in varied if axis not in used]
        scales = [axis for axis in left if selection.is_numeric(axis)]
        others = [axis for axis in left if axis != ALGORITHM] + [axis for axis in left if axis == ALGORITHM]
        chosen = max(scales, key=lambda axis: len(selection.values(axis)), default=None)
        remaining = [axis for axis in selection.results.axes if axis not in used]
        x = take(chosen or next(iter([*others, *remaining]), None))
        if x is None:
            raise SelectionError(f"{selection.results.name}: has no axis for x")
    if hue is None:
        has_algorithm = ALGORITHM in selection.results.axes and ALGORITHM not in used
        hue = take(ALGORITHM if has_algorithm else next(iter(free()), None))
    if col is None:
        col = take(next(iter(free()), None))
    if row is None:
        row = take(next(iter(free()), None))
    return Layout(x, hue, col, row)


def plan_figure(selection: Selection, layout: Layout) -> FigurePlan:
    """The numbers of a figure."""
    groups = selection.groups(layout.axes)
    names = selection.values_as_text(layout.hue) if layout.hue else [""]
    columns = selection.values_as_text(layout.col) if layout.col else [""]
    rows = selection.values_as_text(layout.row) if layout.row else [""]
    x_values = selection.values(layout.x)
    is_scale = selection.is_numeric(layout.x)
    if selection.baseline is not None:
        names = [name for name in names if layout.hue != ALGORITHM or name != selection.baseline]
        columns = [name for name in columns if layout.col != ALGORITHM or name != selection.baseline]
        rows = [name for name in rows if layout.row != ALGORITHM or name != selection.baseline]
        x_values = [value for value in x_values if layout.x != ALGORITHM or shown(value) != selection.baseline]

    def line(name: str, column: str, row: str) -> list[PlannedPoint]:
        points = []
        for value in x_values:
            places = ((layout.x, shown(value)), (layout.hue, name), (layout.col, column), (layout.row, row))
            group = groups.get(tuple(text for axis, text in places if axis is not None))
            if group is not None and group.mean is not None:
                points.append(PlannedPoint(value if is_scale else shown(value), group.mean, group.half))
        return points

    panels = []
    for row in rows:
        for column in columns:
            places = ((layout.col, columns, column), (layout.row, rows, row))
            titles = [axis_value_label(axis, text) for axis, _, text in places if axis is not None]
            panels.append(Panel(titles, [line(name, column, row) for name in names]))
    plan = FigurePlan(
        layout,
        selection.label,
        x_values if is_scale else [shown(value) for value in x_values],
        is_scale,
        names,
        len(columns),
        panels,
        selection.baseline is not None,
    )
    if not plan.points():
        raise SelectionError(f"{selection.results.name}: has no repetitions in pairs with {selection.baseline}")
    return plan
