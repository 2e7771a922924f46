"""Runs in which every node is watched: how often it raises or lowers its height, and how long it waits.

No message says whether a node has raised its height: an acknowledgement carries the height that its receiver expects,
which may be above the node's own. So the agents themselves are looked at, after every event at which they send.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.contract import TICKS
from agents.heights import Height
from agents.krl import KReverseLink
from analysis import stats
from analysis.audit import BatchedAudit
from analysis.listener import Listener
from testbed.backends.sim.simulation import Simulation
from testbed.experiments.measure import RepetitionJob
from testbed.randomness import Streams


class Watcher(Listener):
    """Counts raises and lowerings of heights, and keeps the waiting times of every node.

    A node that changes its height sends messages at the same event, and no event both raises and lowers it, so looking
    at a node whenever it sends misses nothing but a lowering of which no neighbour has to hear.
    """

    def __init__(self) -> None:
        self._agents: dict[int, KReverseLink] = {}
        self._heights: dict[int, Height] = {}
        self._asked: dict[int, int] = {}
        self._waits: dict[int, list[int]] = {}
        self._raises = self._lowerings = 0

    def watch(self, simulation: Simulation) -> None:
        """Look at the nodes of this simulation, which has not begun."""
        self._agents = {node: one for node, one in simulation.driver.agents.items() if isinstance(one, KReverseLink)}
        self._heights = {node: agent.my_height for node, agent in self._agents.items()}
        self._waits = {node: [] for node in self._agents}

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self._asked[node] = t

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self._waits[node].append(t - self._asked[node])

    def send(
        self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, words: int, added_words: int,
        fields: Any,
    ) -> None:  # fmt: skip
        before, now = self._heights[node], self._agents[node].my_height
        self._raises += now > before
        self._lowerings += now < before
        self._heights[node] = now

    def result(self) -> dict[str, Any]:
        """How many raises and lowerings there were, and the mean waiting time of every node, None without an entry."""
        means = [stats.mean(waits) for _, waits in sorted(self._waits.items())]
        return {
            "raises": self._raises,
            "lowerings": self._lowerings,
            "waiting_by_node": [None if mean is None else mean / TICKS for mean in means],
        }


def watch(job: RepetitionJob, report: Callable[[float, str], None]) -> dict[str, Any]:
    """Run a repetition and watch it: its metrics, with what was seen, and the verdicts of the checks."""
    watcher = Watcher()
    audit = BatchedAudit(watcher)
    simulation = Simulation(job.scenario, Streams(job.scenario.seed, job.repetition), audit)
    watcher.watch(simulation)
    simulation.run_all(lambda share: report(share, ""))
    metrics = {**audit.metrics(), **watcher.result()}
    return {"repetition": job.repetition, "checks": audit.verdicts(), "metrics": metrics}
