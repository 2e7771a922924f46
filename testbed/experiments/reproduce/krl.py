"""The KRL paper's section 6: Figures 6-9, KRL against KRLF with k = 3, and what its text claims.

The figures are printed without numbers, so only the text can be compared with our results: every sentence that makes a
claim is a row, with what we measured and whether it holds (`krl_claims`). KRLF-adaptive, which the paper's conclusion
only plans, is run beside the two.

The paper does not say how long its runs were, and KRL's waiting time grows with their length, so the report gives the
length of ours, and the main claim in several. The paper prints its low mobility as a rate of 50^-2 and as one change
every 500 time units; the figures use the latter. A change removes one link and forms another that was not there, so the
connectivity stays as it was, well within the paper's 10 %; the claims on mobility are judged under the other readings
too (`krl_cells`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from analysis import stats
from analysis.store import Store
from analysis.tables import Table, number
from testbed.experiments.reproduce.cells import (
    CONNECTIVITY_AXIS,
    METRIC_AXES,
    RATE_AXIS,
    Cell,
    CellResult,
    draw_figure,
    run_cells,
)
from testbed.experiments.reproduce.claims import Claim, NotMeasured, claims_table
from testbed.experiments.reproduce.krl_cells import (
    CUT_LENGTH,
    CUT_RATE,
    CUTS,
    DETECTS,
    FIXED_CONNECTIVITIES,
    FIXED_RATE,
    FORWARDING_RATES,
    KRL,
    KRLF,
    MOBILITY,
    NAMES,
    READINGS,
    RUN_LENGTHS,
    VARIANTS,
    ZERO,
    Measured,
    Place,
    Values,
    cells,
    combined,
    known,
    watched_cells,
)
from testbed.experiments.reproduce.krl_claims import claims_of
from testbed.experiments.reproduce.krl_watched import watch
from testbed.experiments.reproduce.reproduction import Reproduction
from testbed.progress import Report

FIGURES = {6: "waiting_time", 7: "messages_per_cs", 8: "waiting_time", 9: "messages_per_cs"}
FAIRNESS = {"fairness": "entries", "token_fairness": "token arrivals"}
METRICS = (*METRIC_AXES, *FAIRNESS, "tokens_idle")
WATCHED_SHARE = 0.1
"""About how much of the time the watched runs take, for the progress shown."""


def run(quick: bool, out: Path, report: Report, store: Store | None = None) -> Reproduction:
    """Run all points, judge the claims and write the report."""
    what = "the KRL paper's experiments"
    points, failures = run_cells(
        cells(quick), what, out, lambda share, words: report((1 - WATCHED_SHARE) * share, words), store
    )
    watched, more = run_cells(
        watched_cells(quick),
        what,
        out,
        lambda share, words: report(1 - WATCHED_SHARE * (1 - share), words),
        store,
        watch,
    )
    found = Measured(points, watched)
    claims = claims_of(found)
    document = {"claims": [claim.as_dict() for claim in claims], "rows": rows(points)}
    text = render(found, claims)
    return Reproduction("krl", out, document, list(records(points)), [*failures, *more], text, draw)


def rows(points: list[CellResult]) -> list[dict[str, Any]]:
    """One for every point and metric, with the figures that show it."""
    return [
        {
            "figures": [figure for figure, shown in FIGURES.items() if shown == metric and is_in(figure, point.cell)],
            "algorithm": point.cell.algorithm,
            "parameters": dict(point.cell.parameters),
            "cut": list(point.cell.cut),
            "mobility": point.cell.mobility,
            "reading": point.cell.reading,
            "connectivity": point.cell.connectivity,
            "rate": point.cell.rate,
            "metric": metric,
            "measured": stats.mean(_kept(known(metric, point))),
            "ci95": stats.ci95(_kept(known(metric, point))),
            "duration": point.cell.duration,
            "repetitions": point.cell.repeat,
        }
        for point in points
        for metric in METRICS
    ]


def _kept(values: Values) -> list[float]:
    return [value for value in values if value is not None]


def is_in(figure: int, cell: Cell, lengths: dict[float, float] | None = None) -> bool:
    """Figures 6 and 7 are against load at two connectivities, 8 and 9 against connectivity at one load."""
    is_usual = not cell.parameters and not cell.cut and cell.reading == "text" and cell.mobility in MOBILITY
    if lengths is not None and cell.duration != lengths[cell.rate]:
        return False
    return is_usual and (cell.connectivity in FIXED_CONNECTIVITIES if figure in (6, 7) else cell.rate == FIXED_RATE)


# -- figures -----------------------------------------------------------------------------------------------------------


def records(points: list[CellResult]) -> Iterable[dict[str, Any]]:
    """One for every repetition of the points that figures show."""
    lengths = usual_lengths(points)
    for point in points:
        cell = point.cell
        if cell.parameters or cell.cut or (cell.duration != lengths[cell.rate] and cell.duration not in RUN_LENGTHS):
            continue
        metrics = {metric: known(metric, point) for metric in METRICS}
        for repetition in range(cell.repeat):
            values = {metric: every[repetition] for metric, every in metrics.items()}
            if values["waiting_time"] is not None:
                yield {
                    "algorithm": NAMES[cell.algorithm],
                    "reading": cell.reading,
                    "mobility": cell.mobility,
                    "connectivity": cell.connectivity,
                    "rate": cell.rate,
                    "length": cell.duration,
                    "is_usual": cell.duration == lengths[cell.rate],
                    **values,
                }


def usual_lengths(points: list[CellResult]) -> dict[float, float]:
    """How long the runs of the figures are, at every load."""
    return Measured(points, []).lengths


def draw(records: list[dict[str, Any]], out: Path) -> list[Path]:
    """Figures 6-9, 8 and 9 also under the other rules of link changes; fairness; the waiting time by run length."""
    usual = [one for one in records if one["is_usual"]]
    text = [one for one in usual if one["reading"] == "text" and one["mobility"] in MOBILITY]
    files = []
    for figure in FIGURES:
        files += draw_paper_figure(figure, text, out / f"figure-{figure}")
    for rule in ("per-pair", "thinning"):
        under = [one for one in usual if one["reading"] == rule or one["mobility"] == ZERO]
        for figure in (8, 9):
            files += draw_paper_figure(figure, of_both(under), out / f"figure-{figure}-{rule}")
    return [*files, *draw_fairness(text, out), *draw_lengths(records, out)]


def draw_paper_figure(figure: int, records: list[dict[str, Any]], path: Path) -> list[Path]:
    """A figure of the paper, from the records of one reading."""
    from analysis.plots import Panels

    axes = (FIGURES[figure], METRIC_AXES[FIGURES[figure]], "mobility", list(MOBILITY))
    if figure in (6, 7):
        return draw_figure(Panels(by_load(records), "rate", RATE_AXIS, *axes, log_x=True, log_y=True), path)
    return draw_figure(Panels(by_connectivity(records), "percent", CONNECTIVITY_AXIS, *axes, log_y=True), path)


def draw_fairness(records: list[dict[str, Any]], out: Path) -> list[Path]:
    """How evenly nodes enter and tokens arrive, against load."""
    from analysis.plots import Panels

    files = []
    for metric, label in FAIRNESS.items():
        measured = [one for one in by_load(records) if one[metric] is not None]
        axes = (metric, f"Jain's index of {label} (1: even)", "mobility", list(MOBILITY))
        files += draw_figure(Panels(measured, "rate", RATE_AXIS, *axes, log_x=True), out / metric.replace("_", "-"))
    return files


def draw_lengths(records: list[dict[str, Any]], out: Path) -> list[Path]:
    """The waiting time of the main claim's cells, against the length of a run."""
    from analysis.plots import Panels

    static = [one for one in of_both(by_load(records)) if one["mobility"] == ZERO and one["rate"] == FIXED_RATE]
    chosen = [one for one in static if one["length"] in RUN_LENGTHS]
    axes = ("waiting_time", METRIC_AXES["waiting_time"], "mobility", [ZERO])
    return draw_figure(Panels(chosen, "length", "length of a run (time units)", *axes), out / "lengths")


def of_both(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of KRL and KRLF, which the paper compares."""
    return [one for one in records if one["algorithm"] in (NAMES[KRL], NAMES[KRLF])]


def by_load(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of Figures 6 and 7: a line for every algorithm and connectivity."""
    return [
        {**one, "series": f"{one['algorithm']}, {one['connectivity']:.0%}"}
        for one in records
        if one["connectivity"] in FIXED_CONNECTIVITIES
    ]


def by_connectivity(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of Figures 8 and 9: a line for every algorithm."""
    return [
        {**one, "percent": 100 * one["connectivity"], "series": one["algorithm"]}
        for one in records
        if one["rate"] == FIXED_RATE
    ]


# -- the report --------------------------------------------------------------------------------------------------------


def render(found: Measured, claims: list[Claim]) -> str:
    """What does not hold, all claims, the figures as tables, and what is measured besides."""
    parts = ["## What does not hold\n", _failing(claims)]
    parts += ["## What the paper claims\n", claims_table(claims).render("md"), _conditions(found)]
    for figure, metric in FIGURES.items():
        against = "load" if figure in (6, 7) else f"connectivity, at a load of {FIXED_RATE:g}"
        parts.append(f"## Figure {figure}: {METRIC_AXES[metric]} against {against}\n")
        parts.append(figure_table(figure, metric, found.points).render("md"))
    for metric, label in FAIRNESS.items():
        parts.append(f"## Jain's index of the {label} per node, against load\n")
        parts.append(figure_table(6, metric, found.points).render("md"))
    parts += [readings_tables(found), lengths_table(found), forwarding_table(found), partitions_table(found)]
    return "\n".join(parts)


def _failing(claims: Sequence[Claim]) -> str:
    failing = [f"- {claim.claim}: {claim.measured}\n" for claim in claims if claim.holds is False]
    return "".join(failing) or "Nothing was found that does not hold.\n"


def _conditions(found: Measured) -> str:
    """How long runs were and how verdicts came about."""
    listed = ", ".join(f"{length:g} at load {rate:g}" for rate, length in sorted(found.lengths.items()))
    return (
        f"k = 3, {found.points[0].cell.repeat} repetitions of each point of KRL and KRLF. A claim holds if the 95 % "
        "confidence interval of every point is\nwithin its bounds; it does not hold if one is wholly outside, and is "
        "undecided otherwise. In brackets:\nthe reading of link changes.\n\n"
        f"Run lengths, which the paper does not give, in time units: {listed}.\n"
    )


def shown(values: Values) -> str:
    """A mean with its interval."""
    kept = _kept(values)
    return f"{number(stats.mean(kept))} ± {number(stats.ci95(kept))}"


def figure_table(figure: int, metric: str, points: list[CellResult]) -> Table:
    """A line of the figure is a row, a point of the line a column."""
    lengths = usual_lengths(points)
    chosen = [point for point in points if is_in(figure, point.cell, lengths)]
    by_rate = figure in (6, 7)
    columns = sorted({point.cell.rate if by_rate else point.cell.connectivity for point in chosen})
    lines: dict[str, dict[float, str]] = {}
    for point in chosen:
        cell = point.cell
        name = f"{NAMES[cell.algorithm]}, {cell.mobility} mobility" + (f", {cell.connectivity:.0%}" if by_rate else "")
        lines.setdefault(name, {})[cell.rate if by_rate else cell.connectivity] = shown(known(metric, point))
    header = [f"{column:g}" if by_rate else f"{column:.0%}" for column in columns]
    return Table(["", *header], [[name, *(line[column] for column in columns)] for name, line in lines.items()])


def readings_tables(found: Measured) -> str:
    """What Figures 8 and 9 show, and KRLF over KRL, under every reading."""
    parts = []
    for metric, axis in METRIC_AXES.items():
        lines: list[list[str]] = []
        for rule, mobility in dict.fromkeys((one.rule, mobility) for one in READINGS for mobility in one.mobilities()):
            if mobility == ZERO:
                continue
            places = [Place(mobility, connectivity, FIXED_RATE, rule) for connectivity in found.connectivities]
            name = f"{rule}, {mobility} mobility"
            for algorithm in (KRL, KRLF):
                values = [_or_none(found, metric, algorithm, place) for place in places]
                lines.append([f"{name}, {NAMES[algorithm]}", *map(shown, values)])
            lines.append([f"{name}, ratio", *(shown(_ratio_or_none(found, metric, place)) for place in places)])
        header = ["", *(f"{connectivity:.0%}" for connectivity in found.connectivities)]
        parts.append(f"## Every reading of link changes: {axis}, at a load of {FIXED_RATE:g}\n")
        parts.append(Table(header, lines).render("md"))
    return "\n".join(parts)


def _or_none(found: Measured, metric: str, algorithm: str, place: Place, **more: Any) -> Values:
    try:
        return found.values(metric, algorithm, place, **more)
    except NotMeasured:
        return []


def _ratio_or_none(found: Measured, metric: str, place: Place) -> Values:
    try:
        return found.ratio_values(metric, place)
    except NotMeasured:
        return []


def lengths_table(found: Measured) -> str:
    """The main claim in runs of several lengths."""
    lines = []
    for connectivity in FIXED_CONNECTIVITIES:
        places = [Place(ZERO, connectivity, FIXED_RATE, length=length) for length in RUN_LENGTHS]
        for algorithm in (KRL, KRLF):
            values = [_or_none(found, "waiting_time", algorithm, place) for place in places]
            lines.append([f"{NAMES[algorithm]}, {connectivity:.0%}", *map(shown, values)])
        ratios = [_ratio_or_none(found, "waiting_time", place) for place in places]
        lines.append([f"ratio, {connectivity:.0%}", *map(shown, ratios)])
    table = Table(["", *(f"{length:g}" for length in RUN_LENGTHS)], lines).render("md")
    return f"## Waiting time at a load of {FIXED_RATE:g}, static, by the length of a run\n\n{table}"


def forwarding_table(found: Measured) -> str:
    """To which neighbour idle tokens go, and how far."""
    header = (
        "",
        "waiting time",
        "messages per CS",
        "LinkInfo per token hop",
        "fairness of entries",
        "of token arrivals",
    )
    parts = []
    for rate in FORWARDING_RATES:
        lines = []
        for connectivity in FIXED_CONNECTIVITIES:
            place = Place(ZERO, connectivity, rate)
            for name, (algorithm, parameters) in VARIANTS.items():
                more = {"parameters": parameters}
                values = [_or_none(found, metric, algorithm, place, **more) for metric in (*METRIC_AXES, *FAIRNESS)]
                try:
                    told, tokens = (found.sent(kind, algorithm, place, **more) for kind in ("LinkInfo", "Token"))
                    values.insert(2, combined(lambda a, b: a / b, told, tokens))
                except NotMeasured:
                    values.insert(2, [])
                lines.append([f"{name}, {connectivity:.0%}", *map(shown, values)])
        parts.append(f"## How idle tokens are forwarded, at a load of {rate:g}, static\n")
        parts.append(Table(header, lines).render("md"))
    return "\n".join(parts)


def partitions_table(found: Measured) -> str:
    """A network that is cut in two."""
    place = Place(ZERO, FIXED_CONNECTIVITIES[-1], CUT_RATE, length=CUT_LENGTH)
    lines = []
    for algorithm in (KRL, KRLF):
        lines.append([f"{NAMES[algorithm]}, whole", *_cut_line(found, algorithm, place, {})])
        for cut, group in CUTS.items():
            for parameters, suffix in (((), ""), (DETECTS, ", partitions detected")):
                more = {"cut": group, "parameters": parameters}
                lines.append([f"{NAMES[algorithm]}, {cut}{suffix}", *_cut_line(found, algorithm, place, more)])
    header = ("", "entries", "waiting time", "messages per CS", "messages of nodes cut off from tokens")
    table = Table(header, lines).render("md")
    title = f"Cut into halves for {CUT_LENGTH:g} time units, at a load of {CUT_RATE:g} and {place.connectivity:.0%}"
    return f"## {title}\n\n{table}"


def _cut_line(found: Measured, algorithm: str, place: Place, more: dict[str, Any]) -> list[str]:
    metrics = ("entries", *METRIC_AXES, "messages_cut_off")
    return [shown(_or_none(found, metric, algorithm, place, **more)) for metric in metrics]
