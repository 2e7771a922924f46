"""RL on the testbed's own simulator, with all checks: the program that is measured."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import Any

from analysis.audit import BatchedAudit
from testbed.backends.sim.simulation import Simulation
from testbed.network.link_changes import PoissonChanges
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario

SEED = 1


class WrongRun(Exception):
    """A run that is not worth timing: a check failed, or two programs did not do the same work."""


class TimedSimulation(Simulation):
    """Records when the event loop begins and ends, so that work done once per node can be left out."""

    def run(self, *args: Any) -> str:
        """Run the event loop, and record its times."""
        self.loop_began = process_time()
        try:
            return super().run(*args)
        finally:
            self.loop_ended = process_time()


@dataclass(frozen=True)
class Outcome:
    """One run: its counts, its metrics and its times."""

    events: int  # inputs of agents: messages received, requests, releases, links that formed or failed
    link_changes: int  # as the papers count them: one link fails and another forms
    messages_per_cs: float
    waiting_time: float
    pending: float  # the mean number of messages and events that were planned and had yet to happen
    setup_s: float  # graph, agents, first requests
    loop_s: float  # the event loop
    whole_s: float  # everything after the constructor, verdicts and metrics included


def scenario(*, nodes: int, connectivity: float, rate: float, link_change_rate: float = 0.0, **length: Any) -> Scenario:
    """The papers' model: one time unit per hop and in the critical section."""
    topology = {"kind": "random", "connectivity": connectivity, "link_change_rate": link_change_rate}
    data = {"name": "benchmark", "algorithm": "rl", "nodes": nodes, "topology": topology, "workload": {"rate": rate}}
    return Scenario.model_validate({**data, "seed": SEED, "trace": "metrics", **length})


def streams() -> Streams:
    """The random streams that every program draws from."""
    return Streams(SEED, 0)


def run(scenario: Scenario) -> Outcome:
    """Run a scenario once, judged by all checks."""
    audit = BatchedAudit()
    began = process_time()
    simulation = TimedSimulation(scenario, streams(), audit)
    made = process_time()
    samples: list[int] = []
    simulation.run_all(lambda share: samples.append(len(simulation.heap) + in_transit(simulation)))
    metrics, verdicts = audit.metrics(), audit.verdicts()
    ended = process_time()
    failed = [name for name, verdict in verdicts.items() if verdict["verdict"] == "failed"]
    if failed:
        raise WrongRun(f"{', '.join(failed)} failed with {scenario.nodes} nodes")
    received = sum(metrics["messages"].values()) - in_transit(simulation)
    return Outcome(
        # The run ends when every request has been served, so there are as many requests and releases as entries. A link
        # change counts in the metrics when a link fails and when one forms, and is an event at both ends.
        events=received + 2 * metrics["entries"] + 2 * metrics["link_changes"],
        link_changes=metrics["link_changes"] // 2,
        messages_per_cs=metrics["messages_per_cs"],
        waiting_time=metrics["waiting_time"]["mean"],
        pending=sum(samples) / len(samples) if samples else float(len(simulation.heap)),
        setup_s=simulation.loop_began - began,
        loop_s=simulation.loop_ended - simulation.loop_began,
        whole_s=ended - made,
    )


def in_transit(simulation: Simulation) -> int:
    """How many messages are in transit: those in the lane, because every hop takes the same time."""
    return sum(len(posts) for _, _, posts in simulation.lane)


def time_link_changes(scenario: Scenario) -> float:
    """Run a scenario once more for the mean time of a link change alone, in seconds.

    That is drawing the old and the new link, and informing the agents. The cost of the messages that they send is not
    included, nor the failure of a link that had to wait until it was empty.
    """
    simulation = Simulation(scenario, streams(), BatchedAudit())
    changes = simulation.changes
    assert isinstance(changes, PoissonChanges)
    change, taken = changes._change, []

    def timed_change() -> None:
        began = process_time()
        change()
        taken.append(process_time() - began)

    setattr(changes, "_change", timed_change)  # noqa: B010  (mypy knows that methods are not assigned to)
    simulation.run_all(lambda share: None)
    return sum(taken) / len(taken)
