"""The RL paper's section 6: Tables 1 and 2, Figures 5-8 and its claims, RL against RR, with its values beside ours.

The paper's sentence on link changes can be read in three ways (`testbed.network.link_changes`), and none of them
explains all mobile cells. So every point is run under each reading, and the report says which agree. The reading under
which the graph thins out is run at two lengths, since its cells depend on the length. Nothing else is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from analysis.store import Store
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
from testbed.experiments.reproduce.claims import FAILS, HOLDS, NOT_JUDGED, UNDECIDED, Claim, claims_table
from testbed.experiments.reproduce.reproduction import Reproduction
from testbed.experiments.reproduce.rl_cells import (
    ALGORITHMS,
    CONNECTIVITIES,
    LOADS,
    MOBILITY,
    NAMES,
    READINGS,
    RL,
    RR,
    THINNING,
    charged_cells,
    figure_cells,
    long_cells,
    repetitions,
    short_cells,
)
from testbed.experiments.reproduce.rl_claims import claims_of
from testbed.experiments.reproduce.rl_measured import Measured
from testbed.experiments.reproduce.rl_trees import TREES, TreeCell, route_lengths, tree_cells
from testbed.progress import Report

METRICS = {1: "waiting_time", 2: "messages_per_cs"}
AGREES = 0.10  # what counts as the paper's value: within 10 %, or rounded to it
CELLS = [(mobility, connectivity) for mobility in MOBILITY for connectivity in CONNECTIVITIES]

# algorithm, load -> zero 20 %, zero 80 %, low 20 %, low 80 %, high 20 %, high 80 %
TABLES: dict[int, dict[tuple[str, str], tuple[float, ...]]] = {
    1: {  # waiting time per CS entry
        (RR, "high"): (185, 107, 185, 140, 294, 290),
        (RL, "high"): (75, 75, 63, 63, 49, 49),
        (RR, "low"): (17, 8, 39, 25, 60, 35),
        (RL, "low"): (7, 4, 5, 5, 6, 7),
    },
    2: {  # messages per CS entry
        (RR, "high"): (13, 6, 11, 7, 30, 20),
        (RL, "high"): (10, 27, 24, 25, 109, 109),
        (RR, "low"): (27, 13, 35, 20, 60, 50),
        (RL, "low"): (13, 17, 189, 180, 1900, 1825),
    },
}


@dataclass(frozen=True)
class TableRow:
    """One cell of the paper's tables: the paper's value and ours."""

    table: int
    algorithm: str
    reading: str
    mobility: str
    connectivity: float
    load: str
    paper: float
    measured: float | None
    ci95: float | None
    duration: float
    warmup: float = 0.0
    repetitions: int = 0

    @property
    def key(self) -> tuple[Any, ...]:
        """The cell of the paper, which is the same for every reading."""
        return (self.table, self.algorithm, self.mobility, self.connectivity, self.load)

    @property
    def name(self) -> str:
        """The cell of the paper, in words."""
        return f"{NAMES[self.algorithm]} {self.load} load, {self.mobility} mobility, {self.connectivity:.0%}"

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's."""
        return None if self.measured is None else self.measured / self.paper

    def agrees(self, tolerance: float = AGREES) -> bool:
        """Whether ours is the paper's value within the tolerance, or rounds to it as the paper rounds."""
        if self.measured is None:
            return False
        return abs(self.measured / self.paper - 1) <= tolerance or abs(self.measured - self.paper) <= 0.5

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "ratio": self.ratio}

    def __str__(self) -> str:
        """Ours with its interval, over the paper's, and a star if they agree."""
        return f"{number(self.measured)} ± {number(self.ci95)} ({number(self.ratio)}){'*' * self.agrees()}"


def rows_of(points: Sequence[CellResult], reading: str | None = None) -> list[TableRow]:
    """The rows of Tables 1 and 2 for some points, each under its own reading or under the name that is given."""
    loads, rows = {rate: name for name, rate in LOADS.items()}, []
    for table, metric in METRICS.items():
        for point in points:
            cell = point.cell
            paper = TABLES[table][cell.algorithm, loads[cell.rate]][CELLS.index((cell.mobility, cell.connectivity))]
            rows.append(
                TableRow(table, cell.algorithm, reading or cell.reading, cell.mobility, cell.connectivity,
                    loads[cell.rate], paper, point.mean(metric), point.ci95(metric), cell.duration, cell.warmup,
                    cell.repeat)
            )  # fmt: skip
    return rows


def table_rows(points: list[CellResult]) -> list[TableRow]:
    """A row for every cell of Tables 1 and 2 under every reading; a static cell is the same under all of them."""
    found = {(p.cell.algorithm, p.cell.reading, p.cell.mobility, p.cell.connectivity, p.cell.rate): p for p in points}
    rows = []
    for lines in TABLES[1]:
        algorithm, load = lines
        for mobility, connectivity in CELLS:
            for reading in READINGS:
                run_under = reading if mobility != "zero" else READINGS[0]
                rows += rows_of([found[algorithm, run_under, mobility, connectivity, LOADS[load]]], reading)
    return sorted(rows, key=lambda row: row.table)


def charged_rows(points: list[CellResult]) -> list[dict[str, Any]]:
    """What a critical section costs on the air, with every frame counted."""
    return [
        {
            "algorithm": point.cell.algorithm,
            "mobility": point.cell.mobility,
            "connectivity": point.cell.connectivity,
            "rate": point.cell.rate,
            "waiting_time": point.mean("waiting_time"),
            "waiting_ci95": point.ci95("waiting_time"),
            "frames_per_cs": point.mean("frames_per_cs"),
            "ci95": point.ci95("frames_per_cs"),
            "duration": point.cell.duration,
            "warmup": point.cell.warmup,
            "repetitions": point.cell.repeat,
        }
        for point in points
    ]


def tree_rows(points: list[CellResult]) -> list[dict[str, Any]]:
    """The static cells of RR under every reading of its tree."""
    rows = []
    for point, row in zip([*points, *points], rows_of(points), strict=True):
        assert isinstance(point.cell, TreeCell)
        rows.append({"tree": point.cell.tree, **row.as_dict(), "agrees": row.agrees()})
    return rows


def run(quick: bool, out: Path, report: Report, store: Store | None = None) -> Reproduction:
    """Run all points, judge the claims and write the report."""
    groups: list[Sequence[Cell]] = [
        figure_cells(quick), long_cells(quick), short_cells(quick), charged_cells(quick), tree_cells(quick)
    ]  # fmt: skip
    every, failures = run_cells(
        [cell for group in groups for cell in group], "the RL paper's experiments", out, report, store
    )
    results = iter(every)
    figures, longs, shorts, charged, trees = ([next(results) for _ in group] for group in groups)
    repeat = repetitions(quick, READINGS[0], "zero")
    routes = {connectivity: route_lengths(connectivity, repeat) for connectivity in CONNECTIVITIES}
    claims = claims_of(Measured(figures, charged, shorts, longs, routes))
    rows, long, short = table_rows(figures), rows_of(longs), rows_of(shorts)[: len(shorts)]
    in_charged, in_trees = charged_rows(charged), tree_rows(trees)
    document = {
        "claims": [claim.as_dict() for claim in claims],
        "rows": [row.as_dict() for row in rows],
        "long_runs": [row.as_dict() for row in long],
        "short_runs": [row.as_dict() for row in short],
        "charged": in_charged,
        "trees": in_trees,
    }
    parts = (
        render_claims(claims),
        render_tables(rows, short),
        render_long(rows, long),
        render_trees(in_trees),
        render_charged(in_charged),
    )
    return Reproduction("rl", out, document, list(figure_records(figures, NAMES)), failures, "\n".join(parts), draw)


# -- figures -----------------------------------------------------------------------------------------------------------


def draw(records: list[dict[str, Any]], out: Path) -> list[Path]:
    """Figures 5-8, one file for each reading."""
    from analysis.plots import Panels

    files = []
    for reading in READINGS:
        chosen = [one for one in records if one["reading"] == reading or one["mobility"] == "zero"]
        for figure, arranged, x, x_label, y in (
            (5, _by_load, "rate", RATE_AXIS, "waiting_time"),
            (6, _by_links, "percent", CONNECTIVITY_AXIS, "waiting_time"),
            (7, _by_load, "rate", RATE_AXIS, "messages_per_cs"),
            (8, _by_links, "percent", CONNECTIVITY_AXIS, "messages_per_cs"),
        ):
            panels = Panels(
                arranged(chosen), x, x_label, y, METRIC_AXES[y], "mobility", list(MOBILITY),
                log_x=x == "rate", log_y=True, paper=arranged(printed_values(y)),
            )  # fmt: skip
            files += draw_figure(panels, out / f"figure-{figure}-{reading}")
    return files


def printed_values(metric: str) -> list[dict[str, Any]]:
    """What Tables 1 and 2 print of a metric, as records like those of the figures, which have no numbers themselves."""
    table = next(number for number, name in METRICS.items() if name == metric)
    return [
        {"algorithm": NAMES[algorithm], "mobility": mobility, "connectivity": connectivity, "rate": LOADS[load],
         metric: value}
        for (algorithm, load), values in TABLES[table].items()
        for (mobility, connectivity), value in zip(CELLS, values, strict=True)
    ]  # fmt: skip


def _by_load(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For Figures 5 and 7: a line for each algorithm and connectivity."""
    return [
        {**one, "series": f"{one['algorithm']}, {one['connectivity']:.0%}"}
        for one in records
        if one["connectivity"] in CONNECTIVITIES
    ]


def _by_links(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For Figures 6 and 8: a line for each algorithm and load."""
    return [
        {**one, "percent": 100 * one["connectivity"], "series": f"{one['algorithm']}, {load} load"}
        for one in records
        for load, value in LOADS.items()
        if one["rate"] == value
    ]


# -- the report --------------------------------------------------------------------------------------------------------

TITLES = {1: "Table 1: waiting time per CS entry (time units)", 2: "Table 2: messages per CS entry"}
STAR = f"`*`: within {AGREES:.0%} of the paper, or equal to it when rounded as the paper rounds."


def render_claims(claims: list[Claim]) -> str:
    """What does not hold first, then the rest; how many there are of each."""
    parts = []
    for verdict in (FAILS, UNDECIDED, NOT_JUDGED, HOLDS):
        chosen = [claim for claim in claims if claim.verdict == verdict]
        if chosen:
            parts.append(f"## What the paper claims: {len(chosen)} of {len(claims)} {verdict}\n")
            parts.append(claims_table(chosen).render("md"))
    parts.append(
        "A claim on every point holds if the 95 % confidence interval of each is within its bounds; it does not hold "
        "if one is\nwholly outside, and is undecided otherwise. A single repetition decides nothing. `text`, "
        "`per-pair` and `thinning` are\nreadings of the link changes; their rows are on the mobile networks, those of "
        "`static` on the others.\n"
    )
    return "\n".join(parts)


def length_in_words(duration: float, warmup: float) -> str:
    """The length of a run and of its warm-up."""
    return f"{duration:g}" + (f" of which {warmup:g} do not count" if warmup else "")


def lengths_of(rows: Sequence[TableRow]) -> str:
    """How long the cells were run; the longer a mobile run, the further its graph has come from the initial one."""
    cells: dict[str, list[str]] = {}
    for row in rows:
        name = f"{row.load} load, {row.mobility} mobility" + (f", {row.reading}" if row.mobility != "zero" else "")
        length = length_in_words(row.duration, row.warmup)
        names = cells.setdefault(f"{length}, {row.repetitions} repetitions", [])
        if name not in names:
            names.append(name)
    listed = "".join(f"- {length}: {'; '.join(names)}\n" for length, names in cells.items())
    return f"Run lengths, which the paper does not give, in time units:\n\n{listed}"


def render_tables(rows: list[TableRow], short: list[TableRow]) -> str:
    """The tables, and which cells agree with the paper under which reading."""
    parts = []
    for table, title in TITLES.items():
        mine = [row for row in rows if row.table == table]
        parts.append(f"## {title}\n")
        lines = [
            [row.name, number(row.paper), *(str(one) for one in mine if one.key == row.key)]
            for row in mine
            if row.reading == READINGS[0]
        ]
        parts.append(Table(["cell", "paper", *READINGS], lines).render("md"))
    parts.append(f"Mean ± half of the 95 % interval (ours over the paper's). {STAR}\n")
    parts.append(lengths_of(rows))
    parts.append("## High-load waiting time of RL, static\n")
    for row in short:
        parts.append(
            f"- {row.connectivity:.0%}: a run of {row.duration:g} time units from time 0 gives {number(row.measured)} "
            f"± {number(row.ci95)} (paper: {number(row.paper)}); Table 1 above shows the steady state."
        )
    parts.append("\n## Which reading agrees\n")
    for reading in READINGS:
        mobile = [row for row in rows if row.reading == reading and row.mobility != "zero"]
        parts += agreeing(reading, mobile)
    static = [row for row in rows if row.mobility == "zero" and row.reading == READINGS[0]]
    parts.append(f"- static: {sum(row.agrees() for row in static)} of {len(static)} cells agree\n")
    return "\n".join(parts)


def agreeing(reading: str, mobile: list[TableRow]) -> list[str]:
    """How many mobile cells of each algorithm agree with the paper."""
    lines = []
    for algorithm in ALGORITHMS[::-1]:
        chosen = [row for row in mobile if row.algorithm == algorithm]
        agree = sum(row.agrees() for row in chosen)
        lines.append(f"- {reading}: {agree} of {len(chosen)} mobile cells of {NAMES[algorithm]} agree")
    return lines


def render_long(rows: list[TableRow], long: list[TableRow]) -> str:
    """The cells of the reading whose graph thins out, at two lengths."""
    usual = {row.key: row for row in rows if row.reading == THINNING and row.mobility != "zero"}
    parts = [
        f"## The reading `{THINNING}` at two lengths\n",
        "Under this reading the graph takes 500 (20 %) to 1,500 (80 %) link changes to become stationary, so its cells "
        "depend on\nthe run length.\n",
    ]
    for table, title in TITLES.items():
        lines = [
            (
                row.name,
                number(row.paper),
                str(usual[row.key]),
                f"{usual[row.key].duration:g}",
                str(row),
                f"{row.duration:g}",
            )
            for row in sorted(long, key=lambda row: list(TABLES[1]).index((row.algorithm, row.load)))
            if row.table == table
        ]
        header = ("cell", "paper", "as in the tables", "run length", "long", "run length")
        parts += [f"{title}\n", Table(header, lines).render("md")]
    parts += [f"{STAR} The long runs have no warm-up and {long[0].repetitions} repetitions.\n"]
    parts += agreeing("as in the tables", list(usual.values())) + agreeing("long", long)
    return "\n".join(parts) + "\n"


def render_trees(rows: list[dict[str, Any]]) -> str:
    """The static cells of RR under every reading of its tree."""
    columns = [(table, load, connectivity) for table in TABLES for load in LOADS for connectivity in CONNECTIVITIES]
    names = {1: "waiting", 2: "messages"}
    header = ["tree", *(f"{names[table]}, {load} load, {links:.0%}" for table, load, links in columns)]

    def line(name: str, value: Callable[[dict[str, Any]], str], tree: str) -> list[str]:
        mine = {(row["table"], row["load"], row["connectivity"]): row for row in rows if row["tree"] == tree}
        return [name, *(value(mine[column]) for column in columns)]

    def measured(row: dict[str, Any]) -> str:
        return f"{number(row['measured'])} ± {number(row['ci95'])}{'*' * row['agrees']}"

    lines = [line("the paper", lambda row: number(row["paper"]), next(iter(TREES)))]
    lines += [line(reading.words, measured, tree) for tree, reading in TREES.items()]
    lengths = {row["load"]: length_in_words(row["duration"], row["warmup"]) for row in rows}
    return f"""## RR's tree: readings of "we randomly permuted the graph", static

{Table(header, lines).render("md")}
{STAR}
Run lengths: {lengths["high"]} at high load, {lengths["low"]} at low load; {rows[0]["repetitions"]} repetitions.
"""


def render_charged(rows: list[dict[str, Any]]) -> str:
    """RL and RR side by side."""
    header = ("cell", "algorithm", "waiting time", "± 95 %", "frames per CS", "± 95 %", "run length", "warm-up")
    lines = [
        (
            f"load {row['rate']:g}, {row['mobility']} mobility, {row['connectivity']:.0%}",
            NAMES[row["algorithm"]],
            *(number(row[key]) for key in ("waiting_time", "waiting_ci95", "frames_per_cs", "ci95")),
            *(number(row[key]) for key in ("duration", "warmup")),
        )
        for row in sorted(rows, key=lambda row: (row["rate"], [*MOBILITY].index(row["mobility"]), row["connectivity"]))
    ]
    return f"""## RL against RR with routing charged

The paper leaves open what RR costs when its routes have to be found. Here RL runs over the link layer and RR over its
router, without loss, a time unit a hop and a hello every ten; frames are all that goes over the air. Links change by
the reading `text`; {rows[0]["repetitions"]} repetitions.

{Table(header, lines).render("md")}"""
