"""The points of the papers' experiments: 30 nodes on a random graph, one algorithm, one load, some repetitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from analysis import stats
from testbed.experiments.grid import Job, spread
from testbed.progress import Report
from testbed.scenario.schema import Scenario

NODES = 30
LINKS: dict[str, Any] = {
    "ideal": "ideal",
    # A hop takes a time unit here, so hellos are rarer, and patience longer, than where it takes milliseconds.
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

    def scenario(self) -> Scenario:
        """The cell as a scenario."""
        return Scenario.model_validate(
            {
                "name": f"paper-{self.algorithm}",
                "algorithm": {"name": self.algorithm, **({} if self.k is None else {"k": self.k})},
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
            }
        )

    def changes_per_unit(self) -> float:
        """Link changes in the whole network per time unit."""
        return self.change_rate * (NODES * (NODES - 1) / 2 if self.reading == "per-pair" else 1)

    def jobs(self) -> list[Job]:
        """Its repetitions. A link change costs about as much as two critical sections' worth of a static run."""
        scenario = self.scenario()
        weight = self.duration * (min(0.35, NODES * self.rate) + 0.5 * self.changes_per_unit())
        return [Job(scenario, repetition, weight) for repetition in range(self.repeat)]


@dataclass(frozen=True)
class Point:
    """What a cell measured: values over its repetitions."""

    cell: Cell
    waiting_time: list[float]
    messages_per_cs: list[float]
    frames_per_cs: list[float]

    def mean(self, metric: str) -> float | None:
        """Over the repetitions."""
        return stats.mean(getattr(self, metric))

    def ci95(self, metric: str) -> float | None:
        """Over the repetitions."""
        return stats.ci95(getattr(self, metric))


def run_cells(cells: list[Cell], what: str, report: Report) -> tuple[list[Point], list[str]]:
    """Run cells over the cores; returns what they measured, and a line for every check that failed."""
    jobs = [job for cell in cells for job in cell.jobs()]
    results = iter(spread(jobs, what, report))
    points, failures = [], []
    for cell in cells:
        repetitions = [next(results) for _ in range(cell.repeat)]
        for one in repetitions:
            failures += [
                f"{cell}, repetition {one['repetition']}: {name}: {check['offenders'][:1]}"
                for name, check in one["checks"].items()
                if check["verdict"] != "ok"
            ]
        measured = [one["metrics"] for one in repetitions if one["metrics"]["entries"]]
        waiting = [metrics["waiting_time"]["mean"] for metrics in measured]
        frames = [metrics["frames_per_cs"] or 0.0 for metrics in measured]
        points.append(Point(cell, waiting, [metrics["messages_per_cs"] for metrics in measured], frames))
    return points, failures


def figure_records(points: list[Point], names: dict[str, str]) -> Iterable[dict[str, Any]]:
    """One record per repetition of every point, for plotting; `names` are the papers' for the algorithms."""
    for point in points:
        cell = point.cell
        for waiting, messages in zip(point.waiting_time, point.messages_per_cs, strict=True):
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
