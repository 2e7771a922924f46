"""The BV paper's section 4: Figures 3-5, its section 5, and every claim that it makes about performance.

The figures are printed without numbers, so only the text can be compared with our results (`bv_claims`). Besides the
figures there are the words sent per entry and the values of v, both of which the paper leaves out.

What the paper leaves open, and what is taken here: runs start at time 0 with all nodes thinking, without a warmup;
entries that find a token at home count, with a waiting time of 0; a critical section does not occupy the processor;
INFORMs go to different nodes, never to the sender; Makki's algorithm collects requests for 2 T_t, and no message is
accelerated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from analysis.store import Store
from analysis.tables import Table, number
from testbed.experiments.grid import run_points
from testbed.experiments.reproduce.bv_cells import (
    BOTH,
    COMPARED,
    LAST_SEEN,
    LESS_PROCESSING,
    LONG_CS,
    NAIMI_TREHEL,
    NO_PROCESSING,
    NODES,
    PROCESSING,
    RANDOM,
    BVCell,
    K,
    Measured,
    Setting,
    V,
)
from testbed.experiments.reproduce.bv_claims import claims_of
from testbed.experiments.reproduce.cells import METRIC_AXES, RATE_AXIS, draw_figure, failures_of
from testbed.experiments.reproduce.claims import Claim, claims_table
from testbed.experiments.reproduce.reproduction import Reproduction
from testbed.progress import Report

LOADS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
QUICK_LOADS = (0.01, 0.1, 0.3, 0.5, 1.0)
FEW_LOADS = (0.01, 0.1, 0.3, 1.0)
QUICK_FEW_LOADS = (0.01, 1.0)
INFORMED = (0, 1, V, 4)
WITH, WITHOUT = "with", "without"
AXES = {
    **METRIC_AXES,
    "words_per_message": "words per message (words)",
    "words_per_cs": "words per CS entry (words)",
}


class Figure(NamedTuple):
    """A figure of the paper, or one that it leaves out."""

    name: str
    title: str
    metric: str
    settings: tuple[Setting, ...] = (PROCESSING,)
    log_y: bool = False


FIGURES = (
    Figure("figure-3", "Figure 3: waiting time against load", "waiting_time", (PROCESSING, NO_PROCESSING)),
    Figure("figure-4", "Figure 4: messages per entry against load", "messages_per_cs", log_y=True),
    Figure("figure-5", "Figure 5: words per message against load", "words_per_message"),
    Figure("words-per-entry", "Words per entry, which the paper leaves out", "words_per_cs", log_y=True),
)


def cells(quick: bool) -> list[BVCell]:
    """Every point of the figures and claims, once."""
    loads, few = (QUICK_LOADS, QUICK_FEW_LOADS) if quick else (LOADS, FEW_LOADS)
    figures = [
        BVCell(series, rate, setting)
        for setting, rates in ((PROCESSING, loads), (NO_PROCESSING, loads), (LESS_PROCESSING, few), (LONG_CS, few))
        for series in COMPARED
        for rate in rates
    ]
    informs = [BVCell(series, rate, v=v) for series in BOTH for v in INFORMED if v != V for rate in loads]
    clusters = [BVCell(series, rate, clusters=K) for series in COMPARED for rate in few]
    one_token = [cell for rate in few for cell in (BVCell(LAST_SEEN, rate, v=0, k=1), BVCell(NAIMI_TREHEL, rate, k=1))]
    every = [*figures, *informs, *clusters, *one_token, BVCell(LAST_SEEN, 0.1, times_as_long=4)]
    return [replace(cell, entries=1500, repeat=3) for cell in every] if quick else every


def run(quick: bool, out: Path, report: Report, store: Store | None = None) -> Reproduction:
    """Run all points, judge the claims and write the report."""
    every = cells(quick)
    results = run_points([cell.point() for cell in every], "the BV paper's experiments", out, report, store)
    found = Measured(every, results)
    claims = claims_of(found)
    document = {"claims": [claim.as_dict() for claim in claims], "rows": rows(found)}
    return Reproduction("bv", out, document, list(records(found)), failures_of(results), render(found, claims), draw)


def rows(found: Measured) -> list[dict[str, Any]]:
    """One for every point and metric."""
    return [
        {
            "series": cell.series,
            "rate": cell.rate,
            "T_s": cell.setting.processing,
            "T_t": cell.setting.transit,
            "cs_time": cell.setting.cs_time,
            "v": cell.v if cell.series in BOTH else None,
            "k": 1 if cell.clusters else cell.k,
            "clusters": cell.clusters,
            "entries": cell.entries * cell.times_as_long,
            "repetitions": cell.repeat,
            "metric": metric,
            "measured": result.mean(metric),
            "ci95": result.ci95(metric),
        }
        for cell, result in found.each()
        for metric in (*AXES, "sent_words_per_message")
    ]


# -- figures -----------------------------------------------------------------------------------------------------------


def records(found: Measured) -> Iterable[dict[str, Any]]:
    """One for every repetition of the points that figures show."""
    for cell, result in found.each():
        if cell.times_as_long > 1 or cell.k != K or cell.setting not in (PROCESSING, NO_PROCESSING):
            continue
        for repetition in range(cell.repeat):
            values = {metric: result.value_of(repetition, metric) for metric in AXES}
            if None not in values.values():
                yield {
                    "series": cell.series,
                    "rate": cell.rate,
                    "v": cell.v if cell.series in BOTH else None,
                    "processing costs": WITH if cell.setting == PROCESSING else WITHOUT,
                    "system": "divided" if cell.clusters else "undivided",
                    **values,
                }


def draw(records: list[dict[str, Any]], out: Path) -> list[Path]:
    """Figures 3-5 and words per entry, then the values of v and the clusters."""
    from analysis.plots import Panels

    files = []
    usual = [one for one in records if one["system"] == "undivided" and one["v"] in (None, V)]
    for figure in FIGURES:
        panels = [WITH, WITHOUT][: len(figure.settings)]
        axes = (figure.metric, AXES[figure.metric])
        shown = Panels(usual, "rate", RATE_AXIS, *axes, "processing costs", panels, log_y=figure.log_y)
        files += draw_figure(shown, out / figure.name)
    with_costs = [one for one in records if one["processing costs"] == WITH]
    informed = [
        {**one, "series": f"v = {one['v']}", "token": "random" if one["series"] == RANDOM else "last-seen"}
        for one in with_costs
        if one["v"] is not None and one["system"] == "undivided"
    ]
    for metric in METRIC_AXES:
        tokens = ["last-seen", "random"]
        shown = Panels(informed, "rate", RATE_AXIS, metric, AXES[metric], "token", tokens, log_x=True)
        files += draw_figure(shown, out / f"informs-{metric}")
        both = [one for one in with_costs if one["v"] in (None, V)]
        systems = ["undivided", "divided"]
        shown = Panels(both, "rate", RATE_AXIS, metric, AXES[metric], "system", systems, log_x=True, log_y=True)
        files += draw_figure(shown, out / f"clusters-{metric}")
    return files


# -- the report --------------------------------------------------------------------------------------------------------


def render(found: Measured, claims: list[Claim]) -> str:
    """The figures as tables, what the paper leaves out, and the claims."""
    parts = []
    for figure in FIGURES:
        for setting in figure.settings:
            parts.append(f"## {figure.title}, {setting}\n")
            lines = {series: BVCell(series, 0.0, setting) for series in COMPARED}
            parts.append(_table(found, figure.metric, lines))
    parts.append("## Words per message as sent, with the epochs that a correction of BV added\n")
    parts.append(_table(found, "sent_words_per_message", {series: BVCell(series, 0.0) for series in BOTH}))
    for metric, axis in METRIC_AXES.items():
        parts.append(f"## How many nodes to inform: {axis}\n")
        informed = {f"{series}, v = {v}": BVCell(series, 0.0, v=v) for series in BOTH for v in INFORMED}
        parts.append(_table(found, metric, informed))
    for metric, axis in METRIC_AXES.items():
        parts.append(f"## Section 5, one system and {K} clusters: {axis}\n")
        divided = {f"{one}, {K} clusters": BVCell(one, 0.0, clusters=K) for one in COMPARED}
        rates = found.rates(next(iter(divided.values())))
        parts.append(_table(found, metric, {**{one: BVCell(one, 0.0) for one in COMPARED}, **divided}, rates))
    parts.append("## What the paper claims\n")
    parts.append(claims_table(claims).render("md"))
    first = found.cells[0]
    parts.append(
        f"N = {NODES}, K = {K}, v = {V} where nothing else is said; {first.repeat} repetitions of {first.entries} "
        "entries of each point.\nA claim holds if the 95 % confidence interval of every point is within its bounds; "
        "it does not hold if one is\nwholly outside, and is undecided otherwise.\n"
    )
    return "\n".join(parts)


def _table(found: Measured, metric: str, lines: dict[str, BVCell], rates: list[float] | None = None) -> str:
    """A line of a figure is a row, a load a column."""
    columns = rates or found.rates(next(iter(lines.values())))
    body = []
    for name, line in lines.items():
        values = [found.result(line, rate) for rate in columns]
        body.append([name, *(f"{number(one.mean(metric))} ± {number(one.ci95(metric))}" for one in values)])
    return Table(["", *(f"{rate:g}" for rate in columns)], body).render("md")
