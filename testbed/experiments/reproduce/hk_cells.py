"""The points of the h-out of-k reproduction: the paper prints no experiment, so each is made from one of its claims.

Unless a cell says otherwise: 10 nodes on a random graph with half of all links, 4 units of which a request asks for 1
to 4, critical sections of 10, a hop of 1, 3,000 time units from the start and nothing counted after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from testbed.experiments.grid import Point, PointResult
from testbed.experiments.reproduce.claims import Interval
from testbed.scenario.schema import Scenario

STATIC, MOBILE = "static", "mobile"
HK, FIFO = "hk", "hk-fifo (reconstruction)"
"""As tables name them."""
NO_AGING = "hk, no aging"
AGINGS = ("entry", "stamp", "exit", "none")
THINK = (160.0, 80.0, 40.0, 20.0, 10.0)
"""Mean thinking times, from low to high load."""
USUAL_THINK = 40.0
LOADS = (0.01, 0.1, 1.0)
"""Request rates of the comparison with KRL and RL, whose papers have these."""
LINK_CHANGES = {"kind": "random", "connectivity": 0.5, "link_change_rate": 0.05, "max_lag": 0.5}
"""A link change every 20 time units; links that are to fall wait half a time unit for messages in transit."""


@dataclass(frozen=True)
class HKCell:
    """One point: which experiment, which line of it, where on its axis, and what differs from the usual scenario."""

    experiment: str
    series: str
    x: float
    algorithm: dict[str, Any] = field(hash=False, compare=False)
    changes: dict[str, Any] = field(default_factory=dict, hash=False, compare=False)
    repeat: int = 16
    length: float = 3000.0

    def scenario(self) -> Scenario:
        """The cell as a scenario."""
        workload = {"rate": 1 / (self.x or 1), "cs_time": 10, "units": {"uniform": [1, 4]}, "priority": "fewest-first"}
        data: dict[str, Any] = {
            "name": "paper-hk",
            "algorithm": self.algorithm,
            "nodes": 10,
            "topology": {"kind": "random", "connectivity": 0.5},
            "workload": workload,
            "duration": self.length,
            "drain": 0,
            "repeat": self.repeat,
            "trace": "metrics",
            **self.changes,
        }
        if not data["drain"]:  # then what is pending at the end is not served
            data["expect"] = {"checks": {"starvation": "failed"}}
        return Scenario.model_validate(data)

    def __str__(self) -> str:
        """Its name in messages."""
        return f"{self.experiment}: {self.series}, {self.x:g}"

    def point(self) -> Point:
        """The cell as a point of the grid."""
        scenario = self.scenario()
        return Point(str(self), scenario, scenario.nodes * (scenario.duration or 0.0))


def hk(**parameters: Any) -> dict[str, Any]:
    """hk with 4 units and some of its parameters set."""
    return {"name": "hk", "k": 4, **parameters}


def introduction() -> Iterator[HKCell]:
    """The example of the introduction, whose entries are at times that can be computed by hand."""
    requests = [
        {"node": 3, "at": 0, "units": 2, "cs_time": 100},
        {"node": 0, "at": 5, "units": 4},
        {"node": 1, "at": 10, "units": 2},
        {"node": 2, "at": 10, "units": 1},
    ]
    workload = {"cs_time": 10, "priority": "fewest-first", "requests": requests}
    changes = {"nodes": 4, "topology": "complete", "workload": workload, "drain": 100}
    for series, name in ((HK, "hk"), (FIFO, "hk-fifo")):
        yield HKCell("introduction", series, 0.0, {"name": name, "k": 5}, changes, repeat=1, length=200.0)


def bursts(count: int) -> Iterator[HKCell]:
    """One request of every node, all of them known before the first can be served: node 0 is inside until then."""
    requests = [{"node": 0, "at": 0, "cs_time": 100}, *({"node": node, "at": 1} for node in range(1, 10))]
    workload = {"cs_time": 1, "priority": {"uniform": [0, 10**6]}, "requests": requests}
    changes = {"workload": workload, "topology": {"kind": "random", "connectivity": 0.3}, "drain": 1000}
    for series, algorithm in ((NO_AGING, {"name": "hk", "aging": "none"}), (FIFO, {"name": "hk-fifo"})):
        yield HKCell("bursts", series, 0.0, {**algorithm, "k": 1}, changes, repeat=count, length=150.0)


def stars() -> Iterator[HKCell]:
    """A star whose centre never asks; three leaves of priority 9 ask again at once, one of priority 0 waits."""
    star = {"kind": "explicit", "links": [[0, leaf] for leaf in range(1, 5)]}
    workload = {"rate": [0, 1000, 1000, 1000, 1000], "cs_time": 1, "priority": [0, 9, 9, 9, 0]}
    changes = {"nodes": 5, "topology": star, "workload": workload, "drain": 1000, "patience": 500}
    for aging in AGINGS:
        yield HKCell("star", aging, 0.0, {"name": "hk", "k": 1, "aging": aging}, changes, repeat=3, length=5000.0)


def loads(quick: bool) -> Iterator[HKCell]:
    """The usual scenario at several loads, static and mobile: concurrency, with the fewest units first."""
    for network in (STATIC, MOBILE):
        for think in (USUAL_THINK,) if quick else THINK:
            changes = {"topology": LINK_CHANGES} if network == MOBILE else {}
            by_arrival = hk(aging="none", ties="arrival")
            yield HKCell(f"load, {network}", f"{NO_AGING}, ties by arrival", think, by_arrival, changes)
            yield HKCell(f"load, {network}", f"{NO_AGING}, ties by id", think, hk(aging="none"), changes)
            yield HKCell(f"load, {network}", FIFO, think, {"name": "hk-fifo", "k": 4}, changes)


def agings() -> Iterator[HKCell]:
    """What aging costs and gains at the usual load."""
    for aging in AGINGS:
        for step in (1,) if aging == "none" else (1, 4):
            yield HKCell("aging", f"{aging}, step {step}", USUAL_THINK, hk(aging=aging, step=step))


def deadlines(quick: bool) -> Iterator[HKCell]:
    """The real-time motive: the earliest deadline first, against no priorities."""
    for network in (STATIC, MOBILE):
        for think in (USUAL_THINK, 10.0) if quick else THINK:
            workload = {
                "rate": 1 / think,
                "cs_time": 10,
                "units": {"uniform": [1, 4]},
                "deadline": {"uniform": [20, 200]},
                "priority": "deadline",
            }
            changes = {"workload": workload, **({"topology": LINK_CHANGES} if network == MOBILE else {})}
            yield HKCell(f"deadlines, {network}", NO_AGING, think, hk(aging="none"), changes)
            yield HKCell(f"deadlines, {network}", "hk, aging by entry, step 1000", think, hk(step=1000), changes)
            yield HKCell(f"deadlines, {network}", FIFO, think, {"name": "hk-fifo", "k": 4}, changes)


def burst_concurrency() -> Iterator[HKCell]:
    """All nodes ask at once; how many are inside while the first critical sections last."""
    workload = {"cs_time": 50, "units": {"uniform": [1, 4]}, "priority": "fewest-first",
                "requests": [{"node": node, "at": 0} for node in range(10)]}  # fmt: skip
    changes = {"workload": workload, "topology": "complete", "drain": 10_000, "warmup": 20}
    for series, algorithm in ((NO_AGING, hk(aging="none")), (FIFO, {"name": "hk-fifo", "k": 4})):
        yield HKCell("burst, units", series, 0.0, algorithm, changes, repeat=40, length=45.0)


def generalisation() -> Iterator[HKCell]:
    """With h = 1 beside KRL, and with h = k = 1 beside RL, in the setting of their papers."""
    for k, others in ((3, ("krl", "krlf")), (1, ("rl",))):
        for series, name in ((HK, "hk"), (FIFO, "hk-fifo"), *((other, other) for other in others)):
            for rate in LOADS:
                algorithm = {"name": name} if name == "rl" else {"name": name, "k": k}
                network = {"kind": "random", "connectivity": 0.2}
                changes = {"nodes": 30, "topology": network, "workload": {"rate": rate}, "drain": 10_000}
                yield HKCell(f"k = {k}, h = 1", series, rate, algorithm, changes, repeat=5, length=1000.0)


def cells(quick: bool) -> list[HKCell]:
    """Every point, once."""
    every: Iterable[HKCell] = (
        *introduction(), *bursts(20 if quick else 100), *stars(), *loads(quick), *agings(), *deadlines(quick),
        *burst_concurrency(), *generalisation(),
    )  # fmt: skip
    if not quick:
        return list(every)
    return [_shorter(cell) for cell in every]


def _shorter(cell: HKCell) -> HKCell:
    """Fewer repetitions of shorter runs; what is exact, or a count of bursts, stays."""
    if cell.experiment in ("introduction", "bursts", "star", "burst, units"):
        return cell
    return HKCell(cell.experiment, cell.series, cell.x, cell.algorithm, cell.changes, 4, cell.length / 2)


class Measured:
    """Looks up what was measured, repetition by repetition; these have the same draws for every algorithm."""

    def __init__(self, cells: list[HKCell], results: list[PointResult]) -> None:
        self.cells = cells
        self._results = {(c.experiment, c.series, c.x): result for c, result in zip(cells, results, strict=True)}

    def each(self) -> Iterator[tuple[HKCell, PointResult]]:
        """Every cell with its results."""
        return ((cell, self._results[cell.experiment, cell.series, cell.x]) for cell in self.cells)

    def result(self, experiment: str, series: str, x: float) -> PointResult:
        """The results of a cell."""
        return self._results[experiment, series, x]

    def places(self, experiment: str) -> list[float]:
        """The places on the axis of an experiment."""
        return list(dict.fromkeys(cell.x for cell in self.cells if cell.experiment == experiment))

    def interval(self, metric: str, experiment: str, series: str, x: float = 0.0) -> Interval:
        """A metric of a cell."""
        return Interval.of(self.result(experiment, series, x).values(metric))

    def difference(self, metric: str, experiment: str, series: str, other: str, x: float = 0.0) -> Interval:
        """How much more a line has of a metric than another."""
        mine, base = (self.result(experiment, one, x).values(metric) for one in (series, other))
        pairs = zip(mine, base, strict=True)
        return Interval.of([None if a is None or b is None else a - b for a, b in pairs])
