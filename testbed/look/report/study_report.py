"""The report of a study: the verdict of every point, and a chart for any metric against any axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from analysis.check import FAILED, OK, combine
from analysis.metrics import summarise
from analysis.results import Results, Row
from analysis.selection import is_number, shown
from analysis.units import axis_label
from testbed.look.report.blocks import Cell, Report, badge, interval_cell, notes, number_cell, table
from testbed.look.report.explorer import ExplorerPoint, explorer_data
from testbed.look.report.metric_rows import heading, shown_of
from testbed.look.report.values import line, mapping, name
from testbed.look.report.verdicts import Moment, overall, overall_cell, verdict_list, word_of

MOST_FAILED = 20
"""Points whose offences are shown."""
MOST_POINTS = 5000


@dataclass(frozen=True)
class PointSummary:
    """A point over its repetitions."""

    axes: Mapping[str, Any]
    rows: Sequence[Row]
    metrics: Mapping[str, Any]
    checks: Mapping[str, Any]

    @classmethod
    def of(cls, axes: Mapping[str, Any], rows: Sequence[Row]) -> PointSummary:
        """Means and verdicts over the rows."""
        names = list(dict.fromkeys(check for row in rows for check in row.checks))
        checks = {check: combine([row.checks[check] for row in rows if check in row.checks]) for check in names}
        return cls(axes, rows, summarise([row.metrics for row in rows]), checks)

    @property
    def failed(self) -> list[str]:
        """The checks that failed in any repetition."""
        return [check for check, one in self.checks.items() if word_of(one) == FAILED]

    def moments(self) -> dict[str, Moment | None]:
        """Where the failed checks can be seen, if a log was kept."""
        moments: dict[str, Moment | None] = {}
        for row in self.rows:
            for check in self.failed:
                found = mapping(row.checks.get(check))
                if row.log is not None and word_of(found) == FAILED and moments.get(check) is None:
                    moments[check] = Moment.of(Path(row.log), row.repetition, found.get("first"))
        return moments


def study_report(results: Results, page_folder: Path | None) -> Report:
    """The report of the results of a study; without a folder, for a page that is in none."""
    points = [PointSummary.of(axes, rows) for axes, rows in results.points()]
    repetitions = len(results.rows)
    report = Report(name(results.name), "study", f"{len(points):,} points, {repetitions:,} repetitions")
    report.lead = _lead(results, points)
    explorer_points = [ExplorerPoint(point.axes, point.metrics, point.failed) for point in points[:MOST_POINTS]]
    report.add("failed", "Failed checks", _failures(results, points, page_folder))
    report.explorer = explorer_data(results.axes, explorer_points)
    if report.explorer is not None:
        report.add("chart", "Chart", '<div id="explore"></div>')
    report.add("points", "Points", _points_table(results, points))
    return report


def _lead(results: Results, points: Sequence[PointSummary]) -> str:
    failed = sum(bool(point.failed) for point in points)
    words = [overall(point.checks) for point in points]
    word = FAILED if failed else OK if OK in words else next(iter(words), "not checked")
    count = (
        f"checks failed at {failed} of {len(points)} points" if failed else f"no check failed at {len(points)} points"
    )
    if not points:
        count = "no results yet"
    lines = [f"{results.missing:,} repetitions have no result."] * bool(results.missing)
    lines += [f"{results.stale:,} points have only results of other code."] * bool(results.stale)
    lines += [line(note) for note in results.notes[:10]]
    return f'<p class="overall">{badge(word)} {escape(count)}</p>\n{notes(lines)}'


def _label(results: Results, point: PointSummary) -> str:
    return ", ".join(f"{axis} {shown(point.axes.get(axis))}" for axis in results.axes)


def _failures(results: Results, points: Sequence[PointSummary], page_folder: Path | None) -> str:
    failed = [point for point in points if point.failed]
    parts = []
    for point in failed[:MOST_FAILED]:
        checks = {check: point.checks[check] for check in point.failed}
        label = escape(line(_label(results, point)))
        parts.append(f"<h3><bdi>{label}</bdi></h3>{verdict_list(checks, point.moments(), page_folder)}")
    left = len(failed) - MOST_FAILED
    return "".join(parts) + (
        notes([f"Checks failed at {left:,} more points; they are in the table."]) if left > 0 else ""
    )


def _points_table(results: Results, points: Sequence[PointSummary]) -> str:
    """A row for every point."""
    columns = shown_of([point.metrics for point in points])
    body = []
    for point in points[:MOST_POINTS]:
        cells = [_axis_cell(point.axes.get(axis)) for axis in results.axes]
        cells += [Cell(str(len(point.rows)), float(len(point.rows))), overall_cell(point.checks)]
        for key, column in columns:
            found = mapping(point.metrics.get(key))
            is_mean = column == "mean"
            cells.append(
                interval_cell(found.get(column), found.get("ci95")) if is_mean else number_cell(found.get(column))
            )
        body.append(cells)
    header = [*map(axis_label, results.axes), "repetitions", "checks", *(heading(*one) for one in columns)]
    cut = f"; the first {MOST_POINTS:,} of {len(points):,}" if len(points) > MOST_POINTS else ""
    return table(f"Every point: mean ± 95 %{cut}", header, body, labels=max(1, len(results.axes)))


def _axis_cell(value: Any) -> Cell:
    return Cell(name(shown(value)), float(value) if is_number(value) else None)
