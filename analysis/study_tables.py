"""Tables of studies: one measure, a row and a column for values on axes, with 95 % intervals over repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from analysis.selection import ALGORITHM, Group, Key, Selection, SelectionError, known
from analysis.tables import Table, number

MARK = "*"
"""Marks a cell in which a check failed."""


@dataclass(frozen=True)
class StudyTable:
    """A table, a line above it that says what it shows, and lines below it."""

    caption: str
    table: Table
    notes: Sequence[str]

    def render(self, format: str) -> str:
        """As text. A CSV has nothing but the table; in LaTeX the lines are comments."""
        body = self.table.render(format)
        if format == "csv":
            return body
        if format == "latex":
            return f"% {self.caption}\n{body}" + "".join(f"% {line}\n" for line in self.notes)
        return f"{self.caption}\n\n{body}" + "".join(f"\n{line}\n" for line in self.notes)


def choose_rows_and_columns(
    selection: Selection, rows: Sequence[str] = (), columns: str | None = None
) -> tuple[list[str], str | None]:
    """The axes that were given, and sensible ones where none was.

    Columns are the axis of numbers with the most values, rows the algorithm and all other axes that vary.
    """
    axes = selection.results.axes
    for axis in [*rows, *([] if columns is None else [columns])]:
        known(axis, axes, "axis")
        if [*rows, columns].count(axis) > 1:
            raise SelectionError(f"{axis}: found in two places of the table; allowed: one")
    chosen = list(rows)
    varied = [axis for axis in axes if len(selection.values(axis)) > 1]
    if columns is None:
        left = [axis for axis in varied if axis not in chosen]
        scales = [axis for axis in left if selection.is_numeric(axis)]
        others = [axis for axis in left if axis != ALGORITHM]
        columns = max(scales, key=lambda axis: len(selection.values(axis)), default=None)
        columns = columns or next(iter(others if chosen or ALGORITHM in varied else others[1:]), None)
    if not chosen:
        chosen = [ALGORITHM] if ALGORITHM in axes and columns != ALGORITHM else []
        for axis in varied:
            used = [*chosen, *([] if columns is None else [columns])]
            if axis not in used and not selection.depends_on(axis, used):
                chosen.append(axis)
    return chosen, columns


def study_table(selection: Selection, rows: Sequence[str], columns: str | None, format: str = "md") -> StudyTable:
    """The table. For CSV, every cell is two columns of numbers; others have `mean ± interval`."""
    axes = [*rows, *([] if columns is None else [columns])]
    groups = selection.groups(axes)
    across = selection.values_as_text(columns) if columns is not None else []
    if columns == ALGORITHM:
        across = [name for name in across if name != selection.baseline]
    heads = [f"{columns} = {text}" for text in across] or [str(selection.measure)]
    keys = [*product(*(selection.values_as_text(axis) for axis in rows))]
    lines: list[tuple[Key, list[Group | None]]] = []
    for key in keys:
        cells = [groups.get((*key, *([text] if columns is not None else []))) for text in across or [""]]
        if any(cell is not None for cell in cells):
            lines.append((key, cells))
    every = [cell for _, cells in lines for cell in cells if cell is not None]
    counts = {len(cell.values) for cell in every}
    failed = list(dict.fromkeys(name for cell in every for name in cell.failed))
    make = _numbers if format == "csv" else _texts
    table = make(rows, heads, lines, with_counts=len(counts) > 1, with_failed=bool(failed))
    how_many = f", {counts.copy().pop()} repetitions each" if len(counts) == 1 else ""
    caption = f"{selection.label}: mean ± 95 % interval{how_many}"
    if selection.baseline is not None:
        caption += ", in pairs: repetition r of all algorithms has the same network and applications"
    notes = [f"{MARK} a check failed: {', '.join(failed)}"] if failed else []
    return StudyTable(f"{selection.results.name}: {caption}", table, notes)


def _texts(
    rows: Sequence[str],
    heads: Sequence[str],
    lines: Sequence[tuple[Key, list[Group | None]]],
    *,
    with_counts: bool,
    with_failed: bool,
) -> Table:
    """One label, and one text a cell."""

    def text(group: Group | None) -> str:
        if group is None:
            return number(None)
        value = number(group.mean) + ("" if group.half is None else f" ± {number(group.half)}")
        counted = f" (n={len(group.values)})" if with_counts else ""
        return value + counted + (MARK if group.failed else "")

    body = [[", ".join(key), *map(text, groups)] for key, groups in lines]
    return Table([", ".join(rows), *heads], body)


def _numbers(
    rows: Sequence[str],
    heads: Sequence[str],
    lines: Sequence[tuple[Key, list[Group | None]]],
    *,
    with_counts: bool,
    with_failed: bool,
) -> Table:
    """A column for every row axis; for every cell its mean and interval, and if need be a count and failed checks."""

    def texts(group: Group | None) -> list[str]:
        mean, half = (None, None) if group is None else (group.mean, group.half)
        cells = ["" if value is None else f"{value:.10g}" for value in (mean, half)]
        cells += [str(0 if group is None else len(group.values))] * with_counts
        return cells + [" ".join(group.failed if group else ())] * with_failed

    parts = ["", " ± 95 %", *[" n"] * with_counts, *[" failed checks"] * with_failed]
    header = [*rows, *(f"{head}{part}" for head in heads for part in parts)]
    return Table(header, [[*key, *(text for group in groups for text in texts(group))] for key, groups in lines])
