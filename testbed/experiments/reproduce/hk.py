"""Jiang's prioritized h-out of-k paper: it proves and does not measure, so each of its claims is made an experiment.

hk is compared with hk-fifo, its predecessor without priorities, from which it differs in nothing else; with KRL where
every request asks for one unit, and with RL where there is one unit only.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from analysis.store import Store
from analysis.tables import Table, number
from testbed.experiments.grid import PointResult, run_points
from testbed.experiments.reproduce.cells import METRIC_AXES, RATE_AXIS, draw_figure, failures_of
from testbed.experiments.reproduce.claims import Claim, claims_table
from testbed.experiments.reproduce.hk_cells import MOBILE, STATIC, HKCell, Measured, cells
from testbed.experiments.reproduce.hk_claims import claims_of
from testbed.experiments.reproduce.reproduction import Reproduction
from testbed.progress import Report

SHOWN = {
    "waiting_time": "waiting",
    "longest_wait": "longest wait",
    "messages_per_cs": "messages per CS",
    "nodes_inside": "nodes inside",
    "utilisation": "utilisation",
    "idle_though_fitting": "idle though fitting",
    "inversions_per_cs": "inversions per CS",
    "inversions_after_grace_per_cs": "after grace",
    "deadlines_missed": "deadlines missed",
}
"""The metrics of the tables, with their headings."""
THINK_AXIS = "mean thinking time of a node (time units)"


def run(quick: bool, out: Path, report: Report, store: Store | None = None) -> Reproduction:
    """Run all points, judge the claims and write the report."""
    every = cells(quick)
    results = run_points([cell.point() for cell in every], "the h-out of-k paper's claims", out, report, store)
    found = Measured(every, results)
    claims = claims_of(found)
    document = {"claims": [claim.as_dict() for claim in claims], "rows": rows(found)}
    text = render(found, claims)
    return Reproduction("hk", out, document, list(records(found)), _failures(found, results), text, draw)


def _failures(found: Measured, results: list[PointResult]) -> list[str]:
    """What must not happen. Runs that end without a drain leave requests pending."""
    ends_early = tuple(f"{cell}, repetition" for cell in found.cells if "drain" not in cell.changes)
    lines = failures_of(results)
    return [line for line in lines if not (line.startswith(ends_early) and ": starvation:" in line)]


def rows(found: Measured) -> list[dict[str, Any]]:
    """One for every point and metric."""
    return [
        {
            "experiment": cell.experiment,
            "series": cell.series,
            "x": cell.x,
            "algorithm": result.point.scenario.model_dump()["algorithm"],
            "repetitions": cell.repeat,
            "duration": cell.length,
            "metric": metric,
            "measured": result.mean(metric),
            "ci95": result.ci95(metric),
        }
        for cell, result in found.each()
        for metric in SHOWN
    ]


# -- figures -----------------------------------------------------------------------------------------------------------


def records(found: Measured) -> Iterable[dict[str, Any]]:
    """One for every repetition of the points that figures show."""
    for cell, result in found.each():
        experiment, _, network = cell.experiment.partition(", ")
        for repetition in range(cell.repeat):
            yield {
                "experiment": experiment,
                "network": network,
                "series": cell.series,
                "x": cell.x,
                **{metric: result.value_of(repetition, metric) for metric in SHOWN},
            }


def draw(records: list[dict[str, Any]], out: Path) -> list[Path]:
    """Deadlines missed and concurrency against load, static and mobile; hk beside KRL and RL."""
    from analysis.plots import Panels

    files = []
    for name, experiment, metric, label in (
        ("deadlines-missed", "deadlines", "deadlines_missed", "deadlines missed (share)"),
        ("idle-though-fitting", "load", "idle_though_fitting", "time idle though a demand fits (share)"),
        ("messages", "load", "messages_per_cs", METRIC_AXES["messages_per_cs"]),
    ):
        data = [one for one in records if one["experiment"] == experiment and one[metric] is not None]
        panels = Panels(data, "x", THINK_AXIS, metric, label, "network", [STATIC, MOBILE], log_x=True)
        files += draw_figure(panels, out / name)
    for metric, label in METRIC_AXES.items():
        data = [
            {**one, "h = 1": f"{one['experiment']},"}
            for one in records
            if one["network"] == "h = 1" and one[metric] is not None
        ]
        panels = Panels(data, "x", RATE_AXIS, metric, label, "h = 1", ["k = 3,", "k = 1,"], log_x=True, log_y=True)
        files += draw_figure(panels, out / f"generalisation-{metric}")
    return files


# -- the report --------------------------------------------------------------------------------------------------------


def render(found: Measured, claims: list[Claim]) -> str:
    """A table for every experiment, and the claims."""
    parts = []
    for experiment in dict.fromkeys(cell.experiment for cell in found.cells):
        parts.append(f"## {experiment[0].upper()}{experiment[1:]}\n")
        parts.append(_table(found, experiment).render("md"))
    parts.append("## What the paper claims\n")
    parts.append(claims_table(claims).render("md"))
    parts.append(
        "Loads are mean thinking times of a node; beside KRL and RL they are request rates. A claim holds if the 95 % "
        "confidence\ninterval of every point is within its bounds; it does not hold if one is wholly outside, and is "
        "undecided otherwise.\n"
    )
    return "\n".join(parts)


def _table(found: Measured, experiment: str) -> Table:
    """A point is a row, a metric that it measured a column."""
    chosen: list[tuple[HKCell, PointResult]] = [one for one in found.each() if one[0].experiment == experiment]
    metrics = [metric for metric in SHOWN if any(result.mean(metric) is not None for _, result in chosen)]
    lines = [
        [
            f"{cell.series}, {cell.x:g}" if cell.x else cell.series,
            *(f"{number(result.mean(metric))} ± {number(result.ci95(metric))}" for metric in metrics),
        ]
        for cell, result in chosen
    ]
    return Table(["", *(SHOWN[metric] for metric in metrics)], lines)
