"""The RL paper's section 6: Tables 1 and 2 and Figures 5-8, RL against RR, with the paper's values beside ours.

The paper's sentence on link changes can be read in three ways (`testbed.network.link_changes`), and none of them
explains all mobile cells. So every cell is run under each reading, and the report says which agree. Nothing else is
fitted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from analysis.tables import Table, number
from testbed.experiments.reproduce.cells import (
    CONNECTIVITY_AXIS,
    METRIC_AXES,
    NODES,
    RATE_AXIS,
    Cell,
    CellResult,
    draw_figure,
    figure_records,
    run_cells,
)
from testbed.experiments.reproduce.reproduction import Reproduction
from testbed.progress import Report

ALGORITHMS = ("raymond-tree", "rl")
READINGS = ("text", "per-pair", "thinning")
MOBILITY = {"zero": 0.0, "low": 1e-2, "high": 1e-1}
LOADS = {"high": 1.0, "low": 1e-3}
CONNECTIVITIES = (0.2, 0.8)
METRICS = {1: "waiting_time", 2: "messages_per_cs"}
AGREES = 0.10  # what counts as the paper's value: within 10 %, or rounded to it

# algorithm, load -> zero 20 %, zero 80 %, low 20 %, low 80 %, high 20 %, high 80 %
TABLES: dict[int, dict[tuple[str, str], tuple[float, ...]]] = {
    1: {  # waiting time per CS entry
        ("raymond-tree", "high"): (185, 107, 185, 140, 294, 290),
        ("rl", "high"): (75, 75, 63, 63, 49, 49),
        ("raymond-tree", "low"): (17, 8, 39, 25, 60, 35),
        ("rl", "low"): (7, 4, 5, 5, 6, 7),
    },
    2: {  # messages per CS entry
        ("raymond-tree", "high"): (13, 6, 11, 7, 30, 20),
        ("rl", "high"): (10, 27, 24, 25, 109, 109),
        ("raymond-tree", "low"): (27, 13, 35, 20, 60, 50),
        ("rl", "low"): (13, 17, 189, 180, 1900, 1825),
    },
}
SHORT_RUN = 370.0  # time units after which the paper's 75 comes out, ramp-up included


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

    @property
    def key(self) -> tuple[Any, ...]:
        """The cell of the paper, which is the same for every reading."""
        return (self.table, self.algorithm, self.mobility, self.connectivity, self.load)

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's."""
        return None if self.measured is None else self.measured / self.paper

    def agrees(self, tolerance: float) -> bool:
        """Whether ours is the paper's value within the tolerance, or rounds to it as the paper rounds."""
        if self.measured is None:
            return False
        return abs(self.measured / self.paper - 1) <= tolerance or abs(self.measured - self.paper) <= 0.5

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "ratio": self.ratio}


def cell(
    algorithm: str,
    reading: str,
    mobility: str,
    connectivity: float,
    rate: float,
    duration: float,
    warmup: float = 0.0,
    repeat: int = 6,
) -> Cell:
    """A cell of this paper."""
    return Cell(algorithm, connectivity, rate, duration, warmup, repeat, mobility, MOBILITY[mobility], reading)


def table_cells(quick: bool) -> list[Cell]:
    """Every cell of the tables, under every reading; without mobility the readings are one."""
    cells = []
    for mobility in MOBILITY:
        for reading in READINGS if mobility != "zero" else READINGS[:1]:
            often = mobility == "high" and reading == "per-pair"  # 43 link changes a time unit
            for algorithm in ALGORITHMS:
                for connectivity in CONNECTIVITIES:
                    high = (600.0, 150.0) if quick else (2500.0, 500.0)
                    low = (800.0 if often else 5000.0) if quick else (4000.0 if often else 10_000.0)
                    if reading == "thinning" and mobility == "low" and not quick:
                        low = 100_000.0  # a thousand changes, which is what it takes to thin out
                    repeat = 2 if quick else 6
                    cells.append(cell(algorithm, reading, mobility, connectivity, 1.0, *high, repeat=repeat))
                    cells.append(cell(algorithm, reading, mobility, connectivity, 1e-3, low, repeat=repeat))
    return cells


def short_cells(quick: bool) -> list[Cell]:
    """RL at high load for as long as the paper's runs seem to have been."""
    repeat = 2 if quick else 6
    return [cell("rl", "text", "zero", connectivity, 1.0, SHORT_RUN, repeat=repeat) for connectivity in CONNECTIVITIES]


def figure_cells(quick: bool) -> list[Cell]:
    """The points of Figures 5 and 7 (against load) and 6 and 8 (against connectivity), under two readings."""
    rates = (1e-3, 1e-2, 1.0) if quick else (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    connectivities = (0.1, 0.5, 1.0) if quick else tuple(tenth / 10 for tenth in range(1, 11))
    points = [(rate, connectivity) for rate in rates for connectivity in CONNECTIVITIES]
    points += [(rate, connectivity) for rate in (1.0, 1e-3) for connectivity in connectivities]
    cells = []
    for mobility, change_rate in MOBILITY.items():
        for reading in READINGS[:2] if mobility != "zero" else READINGS[:1]:
            changes = change_rate * (NODES * (NODES - 1) / 2 if reading == "per-pair" else 1)
            for rate, connectivity in dict.fromkeys(points):
                duration = {1.0: 1200.0, 1e-1: 1200.0, 1e-2: 2500.0, 1e-3: 8000.0, 1e-4: 30_000.0}[rate]
                if changes > 1:  # limit the link changes of a run, and so the time that it takes
                    duration = min(duration, 25_000 / changes)
                if quick:
                    duration = min(duration, 1200 if rate > 1e-3 else 3000, 4000 / max(changes, 1e-9))
                if duration * NODES * rate < 3:  # too few requests to measure anything
                    continue
                repeat = 1 if quick else 3 if reading == "per-pair" else 6
                for algorithm in ALGORITHMS:
                    warmup = duration / 5 if rate == 1.0 else 0.0
                    cells.append(cell(algorithm, reading, mobility, connectivity, rate, duration, warmup, repeat))
    return cells


def charged_cells(quick: bool) -> list[Cell]:
    """RL over the link layer and RR over its router, which have to find and keep neighbours and routes."""
    lengths = {1.0: 400.0, 1e-2: 800.0} if quick else {1.0: 600.0, 1e-2: 1200.0}
    places = [("zero", 0.2)] if quick else [("zero", 0.2), ("zero", 0.8), ("high", 0.2)]
    return [
        Cell(
            algorithm, connectivity, rate, length, 100.0, 1 if quick else 3, mobility, MOBILITY[mobility], links="radio"
        )
        for algorithm in ALGORITHMS[::-1]
        for mobility, connectivity in places
        for rate, length in lengths.items()
    ]


def charged_rows(points: list[CellResult]) -> list[dict[str, Any]]:
    """What a critical section costs on the air, with every frame counted."""
    return [
        {
            "algorithm": point.cell.algorithm,
            "mobility": point.cell.mobility,
            "connectivity": point.cell.connectivity,
            "rate": point.cell.rate,
            "waiting_time": point.mean("waiting_time"),
            "frames_per_cs": point.mean("frames_per_cs"),
            "ci95": point.ci95("frames_per_cs"),
            "duration": point.cell.duration,
        }
        for point in points
    ]


def render_charged(rows: list[dict[str, Any]]) -> str:
    """RL and RR side by side."""
    header = ("cell", "algorithm", "waiting time", "frames per CS", "± 95 %", "run length")
    lines = [
        (
            f"load {row['rate']:g}, {row['mobility']} mobility, {row['connectivity']:.0%}",
            NAMES[row["algorithm"]],
            number(row["waiting_time"]),
            number(row["frames_per_cs"]),
            number(row["ci95"]),
            number(row["duration"]),
        )
        for row in sorted(rows, key=lambda row: (row["rate"], row["mobility"] != "zero", row["connectivity"]))
    ]
    return f"""## RL against RR with routing charged

The paper leaves open what RR costs when its routes have to be found. Here RL runs over the link layer and RR over its
router, without loss, a time unit a hop and a hello every ten; frames are all that goes over the air.

{Table(header, lines).render("md")}"""


def table_rows(points: list[CellResult]) -> list[TableRow]:
    """A row for every cell of Tables 1 and 2 under every reading."""
    found = {(p.cell.algorithm, p.cell.reading, p.cell.mobility, p.cell.connectivity, p.cell.rate): p for p in points}
    rows = []
    for table, lines in TABLES.items():
        for (algorithm, load), paper in lines.items():
            columns = [(mobility, connectivity) for mobility in MOBILITY for connectivity in CONNECTIVITIES]
            for (mobility, connectivity), value in zip(columns, paper, strict=True):
                for reading in READINGS:
                    run_under = reading if mobility != "zero" else READINGS[0]
                    point = found[algorithm, run_under, mobility, connectivity, LOADS[load]]
                    metric = METRICS[table]
                    rows.append(
                        TableRow(table, algorithm, reading, mobility, connectivity, load, value, point.mean(metric),
                            point.ci95(metric), point.cell.duration)
                    )  # fmt: skip
    return rows


def short_rows(points: list[CellResult]) -> list[TableRow]:
    """RL's high-load waiting time in runs as short as the paper's."""
    return [
        TableRow(1, "rl", "text", "zero", point.cell.connectivity, "high", 75, point.mean("waiting_time"),
            point.ci95("waiting_time"), SHORT_RUN)
        for point in points
    ]  # fmt: skip


def run(quick: bool, out: Path, report: Report) -> Reproduction:
    """Run all points and write the report."""
    tables, shorts, figures = table_cells(quick), short_cells(quick), figure_cells(quick)
    charged = charged_cells(quick)
    points, failures = run_cells([*tables, *shorts, *figures, *charged], "the RL paper's experiments", out, report)
    points, in_charged = points[: -len(charged)], charged_rows(points[-len(charged) :])
    in_tables, in_shorts = points[: len(tables)], points[len(tables) : len(tables) + len(shorts)]
    in_figures = points[len(tables) + len(shorts) :]
    rows, short = table_rows(in_tables), short_rows(in_shorts)
    records = list(figure_records(in_figures, NAMES))
    document = {
        "rows": [row.as_dict() for row in rows],
        "short_runs": [row.as_dict() for row in short],
        "charged": in_charged,
    }
    text = f"{render(rows, short)}\n{render_charged(in_charged)}"
    return Reproduction("rl", out, document, records, failures, text, draw)


def draw(records: list[dict[str, Any]], out: Path) -> list[Path]:
    """Figures 5-8, one file for each reading that was run."""
    from analysis.plots import Panels

    files = []
    for reading in READINGS[:2]:
        chosen = [one for one in records if one["reading"] == reading or one["mobility"] == "zero"]
        by_load = [
            {**one, "series": f"{one['algorithm']}, {one['connectivity']:.0%}"}
            for one in chosen
            if one["connectivity"] in CONNECTIVITIES
        ]
        by_links = [
            {**one, "percent": 100 * one["connectivity"], "series": f"{one['algorithm']}, {load} load"}
            for one in chosen
            for load, value in LOADS.items()
            if one["rate"] == value
        ]
        for figure, data, x, x_label, y in (
            (5, by_load, "rate", RATE_AXIS, "waiting_time"),
            (6, by_links, "percent", CONNECTIVITY_AXIS, "waiting_time"),
            (7, by_load, "rate", RATE_AXIS, "messages_per_cs"),
            (8, by_links, "percent", CONNECTIVITY_AXIS, "messages_per_cs"),
        ):
            y_label, mobilities = METRIC_AXES[y], list(MOBILITY)
            panels = Panels(data, x, x_label, y, y_label, "mobility", mobilities, log_x=x == "rate", log_y=True)
            files += draw_figure(panels, out / f"figure-{figure}-{reading}")
    return files


TITLES = {1: "Table 1: waiting time per CS entry (time units)", 2: "Table 2: messages per CS entry"}
NAMES = {"rl": "RL", "raymond-tree": "RR"}


def run_lengths(rows: list[TableRow]) -> str:
    """How long the cells were run; the longer a mobile run, the further its graph has come from the initial one."""
    cells: dict[float, list[str]] = {}
    for row in rows:
        name = f"{row.load} load, {row.mobility} mobility" + (f", {row.reading}" if row.mobility != "zero" else "")
        names = cells.setdefault(row.duration, [])
        if name not in names:
            names.append(name)
    usual = max(cells, key=lambda duration: len(cells[duration]))
    special = [f"{length:g} ({'; '.join(names)})" for length, names in sorted(cells.items()) if length != usual]
    return ", ".join([*special, f"{usual:g} (all others)"])


def render(rows: list[TableRow], short: list[TableRow]) -> str:
    """The tables as Markdown, and which cells agree with the paper under which reading."""
    parts = []
    for table, title in TITLES.items():
        mine = [row for row in rows if row.table == table]
        parts.append(f"## {title}\n")
        header = ("cell", "paper", *(f"{reading} {what}" for reading in READINGS for what in ("", "± 95 %", "ratio")))
        lines = []
        for row in mine:
            if row.reading != READINGS[0]:
                continue
            cells = [f"{NAMES[row.algorithm]} {row.load} load, {row.mobility} mobility, {row.connectivity:.0%}"]
            cells.append(number(row.paper))
            for reading in READINGS:
                one = next(r for r in mine if r.key == row.key and r.reading == reading)
                cells += [number(one.measured) + "*" * one.agrees(AGREES), number(one.ci95), number(one.ratio)]
            lines.append(cells)
        parts.append(Table([name.strip() for name in header], lines).render("md"))
    parts.append(f"`*`: within {AGREES:.0%} of the paper, or equal to it when rounded as the paper rounds.\n")
    parts.append(f"Run lengths, which the paper does not give, in time units: {run_lengths(rows)}.\n")
    parts.append("## High-load waiting time of RL, static\n")
    for row in short:
        parts.append(
            f"- {row.connectivity:.0%}: a run of {row.duration:g} time units gives {number(row.measured)} ± "
            f"{number(row.ci95)} (paper: {number(row.paper)}); Table 1 above shows the steady state.\n"
        )
    parts.append("\n## Which reading agrees\n")
    for reading in READINGS:
        mobile = [row for row in rows if row.reading == reading and row.mobility != "zero"]
        for algorithm in ALGORITHMS[::-1]:
            of_algorithm = [row for row in mobile if row.algorithm == algorithm]
            agreeing = sum(row.agrees(AGREES) for row in of_algorithm)
            parts.append(f"- {reading}: {agreeing} of {len(of_algorithm)} mobile cells of {NAMES[algorithm]} agree\n")
    static = [row for row in rows if row.mobility == "zero" and row.reading == READINGS[0]]
    parts.append(f"- static: {sum(row.agrees(AGREES) for row in static)} of {len(static)} cells agree\n")
    return "\n".join(parts)
