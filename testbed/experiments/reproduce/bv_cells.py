"""The points of the BV paper's experiments: 30 nodes that reach each other directly, three entries at a time.

Section 4: a node thinks for an exponential time, asks, and stays inside for a fixed time. Sending a message keeps its
sender busy for T_s, receiving one its receiver for T_r, and in between it is in transit for T_t.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from testbed.experiments.grid import Point, PointResult
from testbed.experiments.reproduce.claims import Interval
from testbed.scenario.schema import Scenario

NODES, K, V = 30, 3, 2
ENTRIES = 5000

LAST_SEEN, RANDOM = "BV, last seen", "BV, random"
RAYMOND, SRIMANI, MAKKI = "Raymond", "Srimani-Reddy (reconstruction)", "Makki (reconstruction)"
NAIMI_TREHEL = "Naimi-Trehel"
ALGORITHMS: dict[str, dict[str, Any]] = {
    LAST_SEEN: {"name": "bv", "choice": "last-seen"},
    RANDOM: {"name": "bv", "choice": "random"},
    RAYMOND: {"name": "raymond-k"},
    SRIMANI: {"name": "srimani-reddy"},
    MAKKI: {"name": "makki"},
    NAIMI_TREHEL: {"name": "naimi-trehel"},
}
BOTH = (LAST_SEEN, RANDOM)
OTHERS = (RAYMOND, SRIMANI, MAKKI)
COMPARED = (*BOTH, *OTHERS)
"""What Figures 3 to 5 show."""


@dataclass(frozen=True)
class Setting:
    """What messages and critical sections cost, in time units."""

    processing: float
    """T_s and T_r."""
    transit: float
    """T_t."""
    cs_time: float = 0.0002

    def __str__(self) -> str:
        """As tables name it."""
        return f"T_s = T_r = {self.processing:g}, T_t = {self.transit:g}, CS {self.cs_time:g}"


PROCESSING = Setting(0.1, 0.8)  # of Figures 3 (a), 4 and 5
NO_PROCESSING = Setting(0.0, 1.0)  # of Figure 3 (b)
LESS_PROCESSING = Setting(0.05, 0.9)
LONG_CS = replace(PROCESSING, cs_time=1.0)


@dataclass(frozen=True)
class BVCell:
    """One point: an algorithm, a load, and what differs from the paper's usual setting."""

    series: str
    rate: float
    setting: Setting = PROCESSING
    v: int = V
    clusters: int | None = None
    """With clusters, every cluster has one unit."""
    k: int = K
    times_as_long: int = 1
    entries: int = ENTRIES
    repeat: int = 5

    @property
    def place(self) -> BVCell:
        """The cell without its number of entries and repetitions, which `--quick` changes."""
        return replace(self, entries=0, repeat=0)

    def scenario(self) -> Scenario:
        """The cell as a scenario."""
        algorithm = {**ALGORITHMS[self.series]}
        if self.series != NAIMI_TREHEL:
            algorithm["k"] = 1 if self.clusters else self.k
        if self.series in BOTH:
            algorithm["v"] = self.v
        times = self.setting
        return Scenario.model_validate(
            {
                "name": "paper-bv",
                "algorithm": algorithm,
                "nodes": NODES,
                "topology": "complete",
                "clusters": self.clusters,
                "delays": {"send": times.processing, "hop": times.transit, "receive": times.processing},
                "workload": {"rate": self.rate, "cs_time": times.cs_time},
                "entries": self.entries * self.times_as_long,
                "repeat": self.repeat,
                "trace": "metrics",
            }
        )

    def __str__(self) -> str:
        """Its name in messages."""
        differs = f", v = {self.v}" if self.series in BOTH else ""
        differs += f", {self.clusters} clusters" if self.clusters else f", k = {self.k}"
        return (
            f"{self.series} ({self.setting}{differs}, load {self.rate:g}, {self.entries * self.times_as_long} entries)"
        )

    def point(self) -> Point:
        """The cell as a point of the grid; what takes long are messages."""
        messages = {RAYMOND: 2 * NODES, SRIMANI: NODES}.get(self.series, 10) / (self.clusters or 1)
        return Point(str(self), self.scenario(), self.entries * self.times_as_long * messages)


class Measured:
    """Looks up what was measured in a cell, repetition by repetition.

    Repetition r has the same draws for every algorithm, so quantities of two cells are compared repetition by
    repetition.
    """

    def __init__(self, cells: list[BVCell], results: list[PointResult]) -> None:
        self.cells = cells
        self._results = {cell.place: result for cell, result in zip(cells, results, strict=True)}

    def rates(self, like: BVCell) -> list[float]:
        """The loads at which a cell was run that differs from this one in its load only."""
        return sorted(
            cell.rate for cell in self.cells if replace(cell.place, rate=0.0) == replace(like.place, rate=0.0)
        )

    def each(self) -> Iterator[tuple[BVCell, PointResult]]:
        """Every cell with its results."""
        return ((cell, self._results[cell.place]) for cell in self.cells)

    def result(self, cell: BVCell, rate: float) -> PointResult:
        """The results of a cell at a load."""
        return self._results[replace(cell.place, rate=rate)]

    def values(self, metric: str, cell: BVCell) -> list[float | None]:
        """A metric of every repetition; `Inform` is the number of those messages per entry."""
        result = self._results[cell.place]
        if metric != "Inform":
            return result.values(metric)
        by_type = [one["metrics"]["messages_per_cs_by_type"] for one in result.repetitions]
        return [None if one is None else one.get(metric, 0.0) for one in by_type]

    def interval(self, metric: str, cell: BVCell) -> Interval:
        """A metric of a cell."""
        return Interval.of(self.values(metric, cell))

    def ratio(self, metric: str, cell: BVCell, other: BVCell) -> Interval:
        """How many times as much a cell has of a metric as another."""
        pairs = zip(self.values(metric, cell), self.values(metric, other), strict=True)
        return Interval.of([None if a is None or b is None else a / b for a, b in pairs])
