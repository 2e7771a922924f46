"""What an algorithm costs, beside known ones of its kind on the same small scenario."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.contract import Needs
from analysis.tables import Table, number
from testbed.experiments.checkup.subject import Subject, find_subject
from testbed.experiments.grid import Point, run_points
from testbed.progress import Report
from testbed.scenario.schema import Scenario

REPETITIONS = 4
LARGE = 30
"""Nodes: in so large a network every registered algorithm can have all values of k that are tried."""
METRICS = {"messages_per_cs": "messages per CS", "waiting_time": "waiting time"}


@dataclass(frozen=True)
class Costs:
    """A row for every algorithm, that of the check-up first."""

    title: str
    rows: list[dict[str, Any]]
    failures: list[str]
    """What went wrong in the runs of the algorithm itself."""

    def render(self) -> str:
        """As a table."""
        cells = [[row["algorithm"], *(number(row[metric]) for metric in METRICS)] for row in self.rows]
        return f"{self.title}\n\n{Table(('algorithm', *METRICS.values()), cells).render('md')}"


def measure_costs(subject: Subject, seed: int, out: Path, report: Report) -> Costs:
    """Run the algorithm and its peers in the simulator, on the same network with the same load."""
    (nodes, *_) = subject.sizes(10, 15)
    k = _k_of(subject, nodes)
    subjects = [subject, *(peer for peer in _peers(subject, k) if peer.allows(nodes))]
    points = [Point(one.name, _scenario(one, nodes, seed, {} if "k" in one.fixed else k)) for one in subjects]
    results = run_points(points, "costs", out, report)
    rows = [{"algorithm": one.name, **{metric: one.mean(metric) for metric in METRICS}} for one in results]
    units = f", k={k['k']}" if k else ""
    title = f"costs: {nodes} nodes{units}, sim with ideal links, no faults, {REPETITIONS} repetitions"
    return Costs(title, rows, results[0].failures())


def _k_of(subject: Subject, nodes: int) -> dict[str, int]:
    """The number of units of all algorithms in the table; empty if this one knows no such number."""
    if "k" in subject.fixed:
        return {"k": subject.fixed["k"]}
    choices = subject.choices_of_k(nodes)
    return choices[min(2, len(choices) - 1)]


def _peers(subject: Subject, k: dict[str, int]) -> list[Subject]:
    """One or two registered algorithms of the same kind."""
    agent = subject.agent
    parameters = agent.parameters(**{**subject.fixed, **k})
    if agent.needs is Needs.GROUPS:
        names = ["klme"]
    elif agent.largest_demand(parameters) > 1:
        names = ["hk", "hk-fifo"]
    elif k and agent.capacity(parameters) > 1:
        names = ["krl", "bv"] if agent.needs is Needs.LINKS else ["raymond-k", "bv"]
    elif agent.needs is Needs.LINKS:
        names = ["rl", "raymond-tree"]
    else:
        names = ["suzuki-kasami", "ricart-agrawala"]
    settings = [f"{key}={value}" for key, value in k.items()]
    known = [name for name in names if name != subject.name]
    return [find_subject(name, settings=settings if k and _knows_k(name) else ()) for name in known]


def _knows_k(name: str) -> bool:
    return bool(find_subject(name).choices_of_k(LARGE)[0])


def _scenario(subject: Subject, nodes: int, seed: int, parameters: dict[str, int]) -> Scenario:
    network: dict[str, Any] = {"topology": {"kind": "random", "connectivity": 0.4}}
    if subject.agent.needs is Needs.GROUPS:
        network = {
            "topology": {"kind": "complete"},
            "churn": {"groups": 1, "departures": 0.01, "away": {"exponential": 3.0}},
            "notice": 1000.0,
        }
    return subject.scenario(
        parameters,
        name="costs",
        nodes=nodes,
        workload={"rate": 0.05},
        duration=300.0,
        drain=1000.0,
        repeat=REPETITIONS,
        seed=seed,
        trace="metrics",
        **network,
    )
