"""The points of the papers' experiments: 30 nodes on a random graph, one algorithm, one load, some repetitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.store import Store
from testbed.experiments.grid import Point, PointResult, run_points
from testbed.experiments.measure import run_job
from testbed.experiments.workers import Work
from testbed.progress import Report
from testbed.scenario.schema import Scenario

if TYPE_CHECKING:
    from analysis.plots import Panels

NODES = 30
LINKS: dict[str, Any] = {
    "ideal": "ideal",
    # A hop takes a time unit here, so hellos are rarer and retries later than where a hop takes milliseconds.
    "radio": {"kind": "radio", "hello": 10.0, "retry": 0.5},
}


@dataclass(frozen=True)
class Cell:
    """One point: what is run, and for how long."""

    algorithm: str
    connectivity: float
    rate: float
    duration: float
    warmup: float = 0.0
    repeat: int = 6
    mobility: str = "zero"
    change_rate: float = 0.0
    reading: str = "text"
    k: int | None = None
    links: str = "ideal"
    parameters: tuple[tuple[str, Any], ...] = ()
    """Parameters of the algorithm besides k, by name."""
    cut: tuple[int, ...] = ()
    """Nodes that are cut off from all others during the whole run, and a short drain."""

    def scenario(self) -> Scenario:
        """The cell as a scenario."""
        return Scenario.model_validate(
            {
                "name": f"paper-{self.algorithm}",
                "algorithm": {
                    "name": self.algorithm,
                    **({} if self.k is None else {"k": self.k}),
                    **dict(self.parameters),
                },
                "nodes": NODES,
                "topology": {
                    "kind": "random",
                    "connectivity": self.connectivity,
                    "link_change_rate": self.change_rate,
                    "reading": self.reading,
                },
                "workload": {"rate": self.rate},
                "duration": self.duration,
                "warmup": self.warmup,
                "repeat": self.repeat,
                "trace": "metrics",
                "links": LINKS[self.links],
                **({"faults": [{"at": 0, "kind": "cut", "group": list(self.cut)}], "drain": 300} if self.cut else {}),
            }
        )

    def __str__(self) -> str:
        """Its name in messages."""
        kind = f"{self.reading}, " if self.change_rate else ""
        kind += "".join(f"{name} {value}, " for name, value in self.parameters)
        kind += f"{len(self.cut)} nodes cut off, " if self.cut else ""
        return (
            f"{self.algorithm} ({self.links} links, {self.connectivity:.0%} connectivity, {self.mobility} mobility, "
            f"{kind}load {self.rate:g}, {self.duration:g} time units)"
        )

    def changes_per_unit(self) -> float:
        """Link changes in the whole network per time unit."""
        return self.change_rate * (NODES * (NODES - 1) / 2 if self.reading == "per-pair" else 1)

    def point(self) -> Point:
        """The cell as a point of the grid."""
        # A link change takes about as much time as two critical sections of a static run.
        weight = self.duration * (min(0.35, NODES * self.rate) + 0.5 * self.changes_per_unit())
        return Point(str(self), self.scenario(), weight)


@dataclass(frozen=True)
class CellResult:
    """What a cell measured."""

    cell: Cell
    result: PointResult

    def mean(self, metric: str) -> float | None:
        """Over the repetitions."""
        return self.result.mean(metric)

    def ci95(self, metric: str) -> float | None:
        """Half the width of its 95 % confidence interval, over the repetitions."""
        return self.result.ci95(metric)


def run_cells(
    cells: list[Cell], what: str, out: Path, report: Report, store: Store | None = None, work: Work = run_job
) -> tuple[list[CellResult], list[str]]:
    """Run cells over the cores; returns their results, and a line for every failed check and every lost repetition."""
    results = run_points([cell.point() for cell in cells], what, out, report, store, work)
    return [CellResult(cell, result) for cell, result in zip(cells, results, strict=True)], failures_of(results)


def failures_of(results: list[PointResult]) -> list[str]:
    """A line for every check that is not ok in a repetition, and for every lost repetition."""
    failures = []
    for result in results:
        for one in result.repetitions:
            failures += [
                f"{result.name}, repetition {one['repetition']}: {name}: {check['offenders'][:1]}"
                for name, check in one["checks"].items()
                if check["verdict"] not in ("ok", "not applicable")
            ]
        failures += result.lost
    return failures


def draw_figure(figure: Panels, path: Path) -> list[Path]:
    """Draw a figure in every format; none if all repetitions of one of its panels were lost."""
    from analysis.plots import draw_panels

    has_all = {record[figure.panel] for record in figure.records} >= set(figure.panels)
    return draw_panels(figure, path) if has_all else []


def figure_records(points: list[CellResult], names: dict[str, str]) -> Iterable[dict[str, Any]]:
    """One record per repetition of every point, for plotting; `names` gives the papers' names of the algorithms."""
    for point in points:
        cell, result = point.cell, point.result
        for waiting, messages in zip(result.values("waiting_time"), result.values("messages_per_cs"), strict=True):
            if waiting is not None:
                yield {
                    "algorithm": names[cell.algorithm],
                    "reading": cell.reading,
                    "mobility": cell.mobility,
                    "connectivity": cell.connectivity,
                    "rate": cell.rate,
                    "waiting_time": waiting,
                    "messages_per_cs": messages,
                }


RATE_AXIS = "request rate of a node (requests per time unit)"
CONNECTIVITY_AXIS = "connectivity (share of all links, %)"
METRIC_AXES = {
    "waiting_time": "waiting time per CS entry (time units)",
    "messages_per_cs": "messages per CS entry (messages)",
}
