"""The KRL paper's section 6: Figures 6-9, KRL against KRLF with k = 3, and what its text claims of them.

The figures are printed without numbers, so only the text can be compared with our results: every sentence that makes a
claim is a row, with what we measured and whether it holds (`krl_claims`). KRLF-adaptive, which the paper's conclusion
only plans, is run beside the two.

The paper does not say how long its runs were, and KRL's waiting time grows with their length, so the report gives the
length of ours. The paper prints its low mobility as a rate of 50^-2 and as one change every 500 time units; we use the
latter. A change removes one link and forms another that was not there, so the connectivity stays as it was, well within
the paper's 10 %.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.tables import Table, number
from testbed.experiments.reproduce.cells import (
    CONNECTIVITY_AXIS,
    METRIC_AXES,
    RATE_AXIS,
    Cell,
    CellResult,
    draw_figure,
    figure_records,
    run_cells,
)
from testbed.experiments.reproduce.claims import Claim, claims_table
from testbed.experiments.reproduce.krl_claims import Measured, claims_of
from testbed.experiments.reproduce.reproduction import Reproduction
from testbed.progress import Report

NAMES = {"krl": "KRL", "krlf": "KRLF", "krlf-adaptive": "KRLF-adaptive"}
MOBILITY = {"zero": 0.0, "low": 1 / 500, "high": 1 / 50}
FIXED_RATE = 0.1  # of Figures 8 and 9
FIXED_CONNECTIVITIES = (0.2, 0.8)  # of Figures 6 and 7
FIGURES = {6: "waiting_time", 7: "messages_per_cs", 8: "waiting_time", 9: "messages_per_cs"}
LENGTHS = {1e-3: 10_000.0, 3e-3: 5000.0, 1e-2: 2000.0, 3e-2: 2000.0, 1e-1: 2000.0, 3e-1: 2000.0, 1.0: 2000.0}
QUICK_LENGTHS = {1e-3: 3000.0, 1e-2: 1000.0, 1e-1: 1000.0, 1.0: 600.0}


def cells(quick: bool) -> list[Cell]:
    """Every point of the figures, once."""
    lengths = QUICK_LENGTHS if quick else LENGTHS
    connectivities = (0.1, 0.2, 0.8) if quick else tuple(tenth / 10 for tenth in range(1, 9))
    points = [(rate, connectivity) for rate in lengths for connectivity in FIXED_CONNECTIVITIES]
    points += [(FIXED_RATE, connectivity) for connectivity in connectivities]
    return [
        Cell(algorithm, connectivity, rate, lengths[rate], 0.0, 2 if quick else 5, mobility, changes, k=3)
        for algorithm in NAMES
        for mobility, changes in MOBILITY.items()
        for rate, connectivity in dict.fromkeys(points)
    ]


def run(quick: bool, out: Path, report: Report) -> Reproduction:
    """Run all points, judge the claims and write the report."""
    points, failures = run_cells(cells(quick), "the KRL paper's experiments", out, report)
    claims = claims_of(Measured(points))
    document = {"claims": [claim.as_dict() for claim in claims], "rows": list(rows(points))}
    return Reproduction(
        "krl", out, document, list(figure_records(points, NAMES)), failures, render(points, claims), draw
    )


def rows(points: list[CellResult]) -> list[dict[str, Any]]:
    """One for every point of every figure."""
    found = []
    for figure, metric in FIGURES.items():
        for point in of_figure(figure, points):
            cell = point.cell
            found.append(
                {
                    "figure": figure,
                    "algorithm": cell.algorithm,
                    "mobility": cell.mobility,
                    "connectivity": cell.connectivity,
                    "rate": cell.rate,
                    "metric": metric,
                    "measured": point.mean(metric),
                    "ci95": point.ci95(metric),
                    "duration": cell.duration,
                    "repetitions": cell.repeat,
                }
            )
    return found


def of_figure(figure: int, points: list[CellResult]) -> list[CellResult]:
    """Figures 6 and 7 are against load at two connectivities, 8 and 9 against connectivity at one load."""
    if figure in (6, 7):
        return [point for point in points if point.cell.connectivity in FIXED_CONNECTIVITIES]
    return [point for point in points if point.cell.rate == FIXED_RATE]


def draw(records: list[dict[str, Any]], out: Path) -> list[Path]:
    """Figures 6-9."""
    from analysis.plots import Panels

    by_load = [
        {**one, "series": f"{one['algorithm']}, {one['connectivity']:.0%}"}
        for one in records
        if one["connectivity"] in FIXED_CONNECTIVITIES
    ]
    by_links = [
        {**one, "percent": 100 * one["connectivity"], "series": one["algorithm"]}
        for one in records
        if one["rate"] == FIXED_RATE
    ]
    files = []
    for figure, metric in FIGURES.items():
        data, x, label = (by_load, "rate", RATE_AXIS) if figure in (6, 7) else (by_links, "percent", CONNECTIVITY_AXIS)
        panels = Panels(
            data, x, label, metric, METRIC_AXES[metric], "mobility", list(MOBILITY), x == "rate", log_y=True
        )
        files += draw_figure(panels, out / f"figure-{figure}")
    return files


def render(points: list[CellResult], claims: list[Claim]) -> str:
    """The figures as tables, and the claims."""
    parts = []
    for figure, metric in FIGURES.items():
        against = "load" if figure in (6, 7) else f"connectivity, at a load of {FIXED_RATE:g}"
        parts.append(f"## Figure {figure}: {METRIC_AXES[metric]} against {against}\n")
        parts.append(figure_table(figure, metric, points).render("md"))
    parts.append("## What section 6 claims\n")
    parts.append(claims_table(claims).render("md"))
    lengths = {point.cell.rate: point.cell.duration for point in points}
    listed = ", ".join(f"{length:g} at load {rate:g}" for rate, length in sorted(lengths.items()))
    parts.append(
        f"k = 3, {points[0].cell.repeat} repetitions of each point. "
        f"Run lengths, which the paper does not give, in time units: {listed}.\n"
    )
    return "\n".join(parts)


def figure_table(figure: int, metric: str, points: list[CellResult]) -> Table:
    """A line of the figure is a row, a point of the line a column."""
    shown = of_figure(figure, points)
    by_load = figure in (6, 7)
    columns = sorted({point.cell.rate if by_load else point.cell.connectivity for point in shown})
    lines: dict[str, dict[float, str]] = {}
    for point in shown:
        cell = point.cell
        name = f"{NAMES[cell.algorithm]}, {cell.mobility} mobility" + (f", {cell.connectivity:.0%}" if by_load else "")
        value = f"{number(point.mean(metric))} ± {number(point.ci95(metric))}"
        lines.setdefault(name, {})[cell.rate if by_load else cell.connectivity] = value
    header = [f"{column:g}" if by_load else f"{column:.0%}" for column in columns]
    return Table(["", *header], [[name, *(line[column] for column in columns)] for name, line in lines.items()])
