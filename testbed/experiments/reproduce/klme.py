"""The KLME paper: Table 1, the costs of section 5, Figures 2 and 3, and every claim that it makes about them.

The figures are printed without numbers, so that only the text and the axes can be compared with our results
(`klme_claims`). What the paper leaves open is in `klme_cells`, in one place, and printed with every table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from analysis import stats
from analysis.store import Store
from analysis.tables import Table, number
from testbed.experiments.grid import PointResult, run_points
from testbed.experiments.reproduce.cells import draw_figure, failures_of
from testbed.experiments.reproduce.claims import Claim, claims_table
from testbed.experiments.reproduce.klme_cells import (
    ABANDONED,
    CHURN,
    CHURN_K,
    CHURN_LOAD,
    FIGURE_2,
    FIGURE_2_CHURN,
    FIGURE_3,
    FOUR,
    HEAVY,
    HELD,
    INDEPENDENT,
    LIGHT,
    LOADS,
    MEDIUM,
    MESSAGES,
    ONE,
    RUN_LENGTH,
    SATURATED,
    TRANSMISSIONS,
    UNANNOUNCED,
    WAITING,
    KLMECell,
    Measured,
    assumed,
    cells,
)
from testbed.experiments.reproduce.klme_claims import PLACES, Found, claims_of
from testbed.experiments.reproduce.klme_table import illustrate
from testbed.experiments.reproduce.reproduction import Reproduction
from testbed.progress import Report

SHOWN = {
    MESSAGES: "messages per CS, per receiver",
    TRANSMISSIONS: "messages per CS, as transmissions",
    WAITING: "waiting time (s)",
}
"""The metrics of Figures 2 and 3, with their headings."""
UNDER_CHURN = {
    **SHOWN,
    UNANNOUNCED: "messages per CS, per receiver, I_am_here and I_am_leaving not counted",
    ABANDONED: "requests abandoned by departures, per CS",
}
OTHERS = {
    RUN_LENGTH: "How the waiting time depends on the length of the run",
    HELD: "k - 1 units held: l-deadlock avoidance",
    SATURATED: "Compared with an independent implementation",
}
"""The other experiments, with their headings."""
AXES = {
    MESSAGES: "messages (per CS)",
    TRANSMISSIONS: "transmissions (per CS)",
    WAITING: "waiting time (s)",
}
NODES_AXIS = "number of nodes n (nodes in all neighbourhoods)"


def run(quick: bool, out: Path, report: Report, store: Store | None = None) -> Reproduction:
    """Run all points, judge the claims and write the report."""
    every = cells(quick)
    results = run_points([cell.point() for cell in every], "the KLME paper's experiments", out, report, store)
    found = Found(Measured(every, results), illustrate())
    claims = claims_of(found)
    document = {
        "claims": [claim.as_dict() for claim in claims],
        "table_1": [
            {"step": cell.step, "column": cell.column, "paper": cell.paper, "here": cell.here, "why": cell.why}
            for cell in found.table.cells
        ],
        "rows": rows(found.measured),
    }
    text = render(found, claims)
    return Reproduction("klme", out, document, list(records(found.measured)), _failures(results), text, draw)


def _failures(results: list[PointResult]) -> list[str]:
    """What must not happen. Runs that end without a drain leave requests pending."""
    drained = [result for result in results if result.point.scenario.drain]
    ends_early = [line for result in results if result not in drained for line in result.lost]
    return [*failures_of(drained), *ends_early]


def rows(found: Measured) -> list[dict[str, Any]]:
    """One for every point and metric."""
    return [
        {
            "experiment": cell.experiment,
            "network": cell.network,
            "nodes": cell.nodes,
            "k": cell.k,
            "load": cell.load,
            "churn": cell.churn,
            "variant": cell.variant,
            "duration": cell.length,
            "repetitions": cell.repeat,
            "metric": metric,
            "measured": value,
            "ci95": half,
        }
        for cell in found.cells
        for metric in (*UNDER_CHURN, "longest_wait")
        for value, half in [_interval(found, metric, cell)]
    ]


def _interval(found: Measured, metric: str, cell: KLMECell) -> tuple[float | None, float | None]:
    known = [value for value in found.values(metric, cell) if value is not None]
    return stats.mean(known), stats.ci95(known)


# -- figures -----------------------------------------------------------------------------------------------------------


def records(found: Measured) -> Iterable[dict[str, Any]]:
    """One for every repetition of the points that figures show."""
    for experiment in (FIGURE_2, FIGURE_3):
        for cell, result in found.each(experiment):
            for repetition in range(cell.repeat):
                values = {metric: result.value_of(repetition, metric) for metric in SHOWN}
                if None not in values.values():
                    yield {
                        "figure": experiment,
                        "network": cell.network,
                        "n": cell.nodes,
                        "k": cell.k,
                        "load": cell.load,
                        "churn": cell.churn,
                        **values,
                    }


def draw(records: list[dict[str, Any]], out: Path) -> list[Path]:
    """Figure 2 in one neighbourhood and in four, with n/4 and n/2 beside the messages; and Figure 3."""
    from analysis.plots import Panels

    files = []
    of_2, of_3 = ([one for one in records if one["figure"] == figure] for figure in (FIGURE_2, FIGURE_3))
    for network in (ONE, FOUR):
        chosen = [{**one, "series": f"k = {one['k']}"} for one in of_2 if one["network"] == network]
        for metric, label in AXES.items():
            shown = [*chosen, *_bounds(chosen)] if metric == MESSAGES else chosen
            panels = Panels(shown, "n", NODES_AXIS, metric, label, "load", list(LOADS), log_y=metric == WAITING)
            files += draw_figure(panels, out / f"figure-2-{_file_name(metric)}-{network}")
    named = {ONE: "one neighbourhood,", FOUR: "four neighbourhoods,"}
    under = f"k = {CHURN_K}"
    data = [{**one, "series": _rate(one["churn"]), under: named[one["network"]]} for one in of_3]
    for metric, label in AXES.items():
        panels = Panels(data, "n", NODES_AXIS, metric, label, under, list(named.values()), log_y=metric == MESSAGES)
        files += draw_figure(panels, out / f"figure-3-{_file_name(metric)}")
    return files


def _file_name(metric: str) -> str:
    return metric.removesuffix("_per_cs").removesuffix("_time")


def _bounds(chosen: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines n/4 and n/2, between which the paper has its messages."""
    places = sorted({(one["load"], one["n"]) for one in chosen})
    return [
        {"load": load, "n": nodes, "series": name, MESSAGES: nodes / part}
        for name, part in (("n/2", 2), ("n/4", 4))
        for load, nodes in places
    ]


def _rate(churn: str) -> str:
    """As legends and tables name it; in the order of the alphabet they are in the order of the rates."""
    return f"{CHURN[churn]:g} / s ({churn} churn)"


# -- the report --------------------------------------------------------------------------------------------------------


def render(found: Found, claims: list[Claim]) -> str:
    """Table 1, the figures as tables, the other experiments, and the claims."""
    table, messages = found.table.tables()
    parts = [
        "## Table 1, as printed and by our agents\n",
        "Nodes have the paper's numbers: node i there is node i - 1 in the testbed. R_Queue, T_alloc_id and Kfree are "
        "those of the\ntoken, the others are of nodes 1 2 3 4 (d, e: 1 2 3 4 5; f, g, h: 1 2 3 5). Numbers of requests "
        "are shown without the visit.\n",
        table.render("md"),
        messages.render("md"),
    ]
    measured = found.measured
    first = measured.each(FIGURE_2)[0][0]
    for network in (ONE, FOUR):
        for load, contention in LOADS.items():
            churn = FIGURE_2_CHURN[network]
            for metric, heading in SHOWN.items():
                parts.append(f"## Figure 2, {load} load ({contention:.0%}), {PLACES[network]}: {heading}\n")
                parts.append(_setting(first, f"{churn} churn ({CHURN[churn]:g} departures per node and second)"))
                lines = {
                    f"k = {k}": [
                        KLMECell(FIGURE_2, network, nodes, k, load, churn) for nodes in measured.nodes(FIGURE_2)
                    ]
                    for k in measured.ks()
                }
                parts.append(_table(measured, metric, lines))
    for network in (ONE, FOUR):
        for metric, heading in UNDER_CHURN.items():
            parts.append(f"## Figure 3, {PLACES[network]}: {heading}\n")
            parts.append(_setting(first, f"k = {CHURN_K}, {CHURN_LOAD} load ({LOADS[CHURN_LOAD]:.0%})"))
            lines = {
                _rate(churn): [
                    KLMECell(FIGURE_3, network, nodes, CHURN_K, CHURN_LOAD, churn) for nodes in measured.nodes(FIGURE_3)
                ]
                for churn in (LIGHT, MEDIUM, HEAVY)
            }
            parts.append(_table(measured, metric, lines))
    for experiment, heading in OTHERS.items():
        parts.append(f"## {heading}\n")
        parts.append(_other_table(measured, experiment))
    parts.append("## What the paper claims\n")
    parts.append(claims_table(claims).render("md"))
    parts.append(
        "n counts the nodes of all neighbourhoods, each of which has k units. A claim holds if the 95 % confidence "
        "interval of\nevery point is within its bounds; it does not hold if one is wholly outside, and is undecided "
        "otherwise. Table 1 and\nsection 5 have no random draws, so that one run decides.\n"
    )
    return "\n".join(parts)


def _setting(cell: KLMECell, more: str) -> str:
    """What the paper leaves open, as it is in the points of a table."""
    return f"{assumed(cell.length, cell.repeat)}; {more}.\n"


def _cell(found: Measured, metric: str, cell: KLMECell) -> str:
    mean, half = _interval(found, metric, cell)
    return f"{number(mean)} ± {number(half)}"


def _table(found: Measured, metric: str, lines: dict[str, list[KLMECell]]) -> str:
    """A line of a figure is a row, a number of nodes a column."""
    columns = next(iter(lines.values()))
    body = [[name, *(_cell(found, metric, cell) for cell in row)] for name, row in lines.items()]
    return Table(["", *(f"n = {cell.nodes}" for cell in columns)], body).render("md")


def _other_table(found: Measured, experiment: str) -> str:
    """A point is a row, a metric a column; the values of the independent implementation come after ours."""
    chosen = [cell for cell, _ in found.each(experiment)]
    shown = {**SHOWN, "longest_wait": "longest wait (s)"}
    body = [[cell.place, *(_cell(found, metric, cell) for metric in shown)] for cell in chosen]
    if experiment == SATURATED:
        for variant, values in INDEPENDENT.items():
            numbers = [number(values.get(metric)) for metric in shown]
            body.append([f"the independent implementation, {variant}", *numbers])
    more = "no churn"
    if experiment == RUN_LENGTH:
        more += "; of lengths as named, and requests that are pending at the end do not count"
    return f"{_setting(chosen[0], more)}\n{Table(['', *shown.values()], body).render('md')}"
