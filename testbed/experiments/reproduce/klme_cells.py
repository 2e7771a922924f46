"""The points of the KLME paper's simulations: Figures 2 and 3, and what the paper only proves.

What the paper prints: critical sections are exponential with a mean of 0.5 s, the contention level is 2, 50 or 98 %
(the mean CS time as a share of it and the mean idle time), k is 2 to 5, and Figure 3 has k = 5. What it does not print
is in the constants below, and `assumed` puts them beside every table. A time unit is a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from testbed.experiments.grid import Point, PointResult
from testbed.experiments.reproduce.claims import Interval
from testbed.scenario.schema import Scenario

NODES, QUICK_NODES = (20, 40, 60, 80, 100), (20, 60, 100)
KS, QUICK_KS = (2, 3, 4, 5), (2, 5)
LIGHT, MEDIUM, HEAVY = "light", "medium", "heavy"
LOADS = {LIGHT: 0.02, MEDIUM: 0.5, HEAVY: 0.98}
"""Contention levels."""
CS_TIME = 0.5
"""The mean critical section, in seconds."""
CHURN_K, CHURN_LOAD = 5, MEDIUM
"""Of Figure 3. The paper gives k; the load is our choice."""

# -- what the paper does not print -------------------------------------------------------------------------------------
HOP = (0.005, 0.015)
"""A message takes a time that is uniform between these, in seconds; links are FIFO."""
NO_CHURN = "no"
CHURN = {NO_CHURN: 0.0, LIGHT: 0.002, MEDIUM: 0.02, HEAVY: 0.2}
"""Departures of each node per second, while it is in a neighbourhood."""
AWAY = 1.0
"""The mean time from leaving a neighbourhood to the arrival in the next one, exponential, in seconds."""
LENGTH, REPEAT = 300.0, 4
"""Of a run, in seconds from its start; requests that are pending then are still served, and everything counts.

There is no warm-up: with one, requests from before it would count as entries without the messages that made them. The
run lengths below show what the start costs.
"""
QUICK_LENGTH, QUICK_REPEAT = 40.0, 3
ONE, FOUR = "one", "four"
GROUPS = {ONE: 1, FOUR: 4}
"""The number of neighbourhoods, each with k units. The nodes n are those of all together, as in Figure 1."""
FIGURE_2_CHURN = {ONE: NO_CHURN, FOUR: LIGHT}
"""The churn of Figure 2: none in one neighbourhood; with four, nodes travel between them."""

FIGURE_2, FIGURE_3 = "figure 2", "figure 3"
RUN_LENGTH, HELD, SATURATED = "run length", "units held", "saturated"
LENGTHS = (30.0, 100.0, 300.0, 1000.0)
HELD_FOR = 200.0
"""How long k - 1 units are in use without interruption, in seconds, while the last one has to serve all others."""
LETS_IN_FOR = 10.0
"""How long the first leader is inside if it is not among those that stay: long enough to let them in."""
LEADER_HOLDS, OTHERS_HOLD = "held by the leader and others", "held by others"
WITH_7, WITHOUT_7 = "with section 7", "without section 7"

MESSAGES, TRANSMISSIONS, WAITING = "messages_per_cs", "transmissions_per_cs", "waiting_time"
INDEPENDENT = {
    WITHOUT_7: {MESSAGES: 13.5, TRANSMISSIONS: 4.12, WAITING: 4.5},
    WITH_7: {MESSAGES: 14.2, TRANSMISSIONS: 4.47, WAITING: 4.5},
}
"""What an independent implementation measured at the saturated point."""
UNANNOUNCED = "messages_per_cs without announcements"
ABANDONED = "abandoned_per_cs"


def assumed(length: float, repeat: int) -> str:
    """What the paper leaves open, as tables say it."""
    return (
        f"{repeat} repetitions of {length:g} s from the start; a message takes {HOP[0] * 1000:g} to "
        f"{HOP[1] * 1000:g} ms, uniform; a CS lasts {CS_TIME:g} s and a journey between neighbourhoods {AWAY:g} s on "
        "average, exponential"
    )


@dataclass(frozen=True)
class KLMECell:
    """One point."""

    experiment: str
    network: str
    nodes: int
    k: int
    load: str
    churn: str
    variant: str = ""
    """What differs from the other points of the experiment, where `changes` makes a difference."""
    length: float = field(default=LENGTH, compare=False)
    repeat: int = field(default=REPEAT, compare=False)
    changes: dict[str, Any] = field(default_factory=dict, hash=False, compare=False)

    def scenario(self) -> Scenario:
        """The cell as a scenario."""
        data: dict[str, Any] = {
            "name": "paper-klme",
            "algorithm": {"name": "klme", "k": self.k},
            "nodes": self.nodes,
            "topology": "complete",
            "churn": {
                "groups": GROUPS[self.network],
                "departures": CHURN[self.churn],
                "away": {"exponential": AWAY},
            },
            "delays": {"hop": {"uniform": list(HOP)}},
            "workload": {"contention": LOADS[self.load], "cs_time": {"exponential": CS_TIME}},
            "duration": self.length,
            "repeat": self.repeat,
            "trace": "metrics",
            **self.changes,
        }
        return Scenario.model_validate(data)

    @property
    def place(self) -> str:
        """Its parameters."""
        load = "thinking 0.125 s" if self.experiment == SATURATED else f"{self.load} load"
        variant = f", {self.variant}" if self.variant else ""
        return f"n = {self.nodes}, k = {self.k}, {load}, {self.churn} churn{variant}"

    def __str__(self) -> str:
        """Its name in messages."""
        return f"{self.experiment}, {self.network}: {self.place}"

    def point(self) -> Point:
        """The cell as a point of the grid. What takes long are messages, and most of them tell all members."""
        arrivals = CHURN[self.churn] * self.nodes
        entries = min(2 * self.k, self.nodes * LOADS[self.load] / CS_TIME) * GROUPS[self.network]
        told = self.nodes / GROUPS[self.network]
        return Point(str(self), self.scenario(), self.length * (2 * arrivals * told + entries * (4 + told / self.k)))


def figure_2(quick: bool) -> Iterator[KLMECell]:
    """Messages and waiting time against n, at three loads, with k units; in one neighbourhood and in four."""
    for network in (ONE, FOUR):
        for load in LOADS:
            for k in QUICK_KS if quick else KS:
                for nodes in QUICK_NODES if quick else NODES:
                    yield KLMECell(FIGURE_2, network, nodes, k, load, FIGURE_2_CHURN[network])


def figure_3(quick: bool) -> Iterator[KLMECell]:
    """Messages and waiting time against n, at three rates of churn."""
    for network in (ONE, FOUR):
        for churn in (LIGHT, MEDIUM, HEAVY):
            for nodes in QUICK_NODES if quick else NODES:
                yield KLMECell(FIGURE_3, network, nodes, CHURN_K, CHURN_LOAD, churn)


def run_lengths(quick: bool) -> Iterator[KLMECell]:
    """The longest waiting time of Figure 2, from runs of some length that start empty and end without a drain."""
    for length in LENGTHS[:2] if quick else LENGTHS:
        cell = KLMECell(RUN_LENGTH, ONE, NODES[-1], KS[0], MEDIUM, NO_CHURN, f"{length:g} s from the start")
        yield replace(cell, length=length, changes={"drain": 0})


def units_held() -> Iterator[KLMECell]:
    """l-deadlock avoidance: k - 1 nodes stay inside, and the others must get the last unit again and again.

    In one variant the leader is among those that stay. In the other it lets them in and leaves, so that the leader
    changes with every critical section but theirs.
    """
    nodes, rate = 20, LOADS[MEDIUM] / ((1 - LOADS[MEDIUM]) * CS_TIME)
    for k in KS:
        for variant, first, stays in ((LEADER_HOLDS, 0, HELD_FOR), (OTHERS_HOLD, 1, LETS_IN_FOR)):
            inside = range(first, first + k - 1)
            leader = {"node": 0, "at": 0, "cs_time": stays}
            requests = [leader, *({"node": node, "at": 0, "cs_time": HELD_FOR} for node in inside if node)]
            rates = [0.0 if node in inside or node == 0 else rate for node in range(nodes)]
            workload = {"rate": rates, "cs_time": {"exponential": CS_TIME}, "requests": requests}
            cell = KLMECell(HELD, ONE, nodes, k, MEDIUM, NO_CHURN, variant, changes={"workload": workload})
            yield replace(cell, length=HELD_FOR - 1, repeat=3)  # so that requests stop while they are inside


def saturated() -> Iterator[KLMECell]:
    """The point of which an independent implementation's values are known (scenarios/papers/klme-saturated.yaml)."""
    for variant, recover in ((WITHOUT_7, False), (WITH_7, True)):
        changes = {
            "algorithm": {"name": "klme", "k": 3, "recover": recover},
            "workload": {"rate": 8, "cs_time": {"exponential": CS_TIME}},
        }
        cell = KLMECell(SATURATED, ONE, 30, 3, HEAVY, NO_CHURN, variant, changes=changes)
        yield replace(cell, length=150.0, repeat=8)


def cells(quick: bool) -> list[KLMECell]:
    """Every point, once."""
    figures: Iterable[KLMECell] = (*figure_2(quick), *figure_3(quick))
    if quick:
        figures = [replace(one, length=QUICK_LENGTH, repeat=QUICK_REPEAT) for one in figures]
    return [*figures, *run_lengths(quick), *units_held(), *saturated()]


class Measured:
    """Looks up what was measured, repetition by repetition; these have the same draws at every k."""

    def __init__(self, cells: list[KLMECell], results: list[PointResult]) -> None:
        self.cells = cells
        self._results = dict(zip(cells, results, strict=True))

    def each(self, experiment: str, network: str | None = None) -> list[tuple[KLMECell, PointResult]]:
        """The cells of an experiment with their results."""
        return [
            (cell, result)
            for cell, result in self._results.items()
            if cell.experiment == experiment and network in (None, cell.network)
        ]

    def result(self, cell: KLMECell) -> PointResult:
        """The results of a cell."""
        return self._results[cell]

    def values(self, metric: str, cell: KLMECell) -> list[float | None]:
        """A metric of every repetition; some are computed from others."""
        result = self._results[cell]
        if metric not in _DERIVED:
            return result.values(metric)
        return [None if not one["entries"] else _DERIVED[metric](one) for one in _metrics(result)]

    def interval(self, metric: str, cell: KLMECell) -> Interval:
        """A metric of a cell."""
        return Interval.of(self.values(metric, cell))

    def ratio(self, metric: str, cell: KLMECell, other: KLMECell) -> Interval:
        """How many times as much a cell has of a metric as another."""
        pairs = zip(self.values(metric, cell), self.values(metric, other), strict=True)
        return Interval.of([None if a is None or not b else a / b for a, b in pairs])

    def difference(self, metric: str, cell: KLMECell, other: KLMECell) -> Interval:
        """How much more a cell has of a metric than another."""
        pairs = zip(self.values(metric, cell), self.values(metric, other), strict=True)
        return Interval.of([None if a is None or b is None else a - b for a, b in pairs])

    def nodes(self, experiment: str) -> list[int]:
        """The numbers of nodes of an experiment."""
        return sorted({cell.nodes for cell in self.cells if cell.experiment == experiment})

    def ks(self) -> list[int]:
        """The numbers of units of Figure 2."""
        return sorted({cell.k for cell in self.cells if cell.experiment == FIGURE_2})


def _metrics(result: PointResult) -> list[dict[str, Any]]:
    return [one["metrics"] for one in result.repetitions]


def _without_announcements(metrics: dict[str, Any]) -> float:
    by_type: dict[str, float] = metrics["messages_per_cs_by_type"]
    return sum(value for name, value in by_type.items() if name not in ("IAmHere", "IAmLeaving"))


def _abandoned(metrics: dict[str, Any]) -> float:
    return float(metrics["abandoned"] / metrics["entries"])


_DERIVED = {UNANNOUNCED: _without_announcements, ABANDONED: _abandoned}
