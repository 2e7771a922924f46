"""Random runs in the papers' model: drawn from a number, run on the simulator, judged by the checks."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from agents.contract import Agent
from analysis.audit import BatchedAudit
from testbed.backends.sim.simulation import Simulation
from testbed.randomness import Streams
from testbed.runtime.breach import AgentError
from testbed.scenario.schema import Scenario
from tests.agents.rl_variants import registered

MIN_NODES, MIN_ENTRIES, MIN_CHANGES = 8, 40, 15


@dataclass(frozen=True)
class Run:
    """What became of a random run."""

    seed: int
    scenario: Scenario
    metrics: dict[str, Any]
    failures: dict[str, list[str]]
    """The offences of every check that did not pass."""

    @property
    def link_changes(self) -> int:
        """Changes as the papers count them: one link falls and another forms."""
        return self.metrics["link_changes"] // 2

    @property
    def has_failed(self) -> bool:
        """Whether a check found an offence; one that is inconclusive, or not checked, found none."""
        return any(self.failures.values())


def draw_scenario(seed: int, **fixed: Any) -> Scenario:
    """A scenario drawn from a number, large enough to count as a run of its own."""
    rng = Random(seed)
    nodes = rng.randint(MIN_NODES, 16)
    entries = rng.randint(MIN_ENTRIES, 60)
    rate = rng.choice((0.03, 0.1, 0.3, 1.0))
    # An entry takes about 3 units under load and 1 / (nodes * rate) without: leave time for some 25 changes.
    length = entries * max(3.0, 1 / (nodes * rate))
    hop = rng.choice((1.0, {"uniform": [0.1, 2.0]}, {"exponential": 1.0}))
    least = 2 / nodes
    data = {
        "name": f"random-{seed}",
        "algorithm": "rl",
        "nodes": nodes,
        "topology": {
            "kind": "random",
            "connectivity": rng.uniform(least + 0.02, 0.6),
            "link_change_rate": rng.uniform(25, 60) / length,
        },
        "delays": {"hop": hop},
        "workload": {"rate": rate, "cs_time": rng.choice((1.0, {"exponential": 0.5}))},
        "entries": entries,
        "drain": 5000.0,
        "seed": seed,
        "trace": "metrics",
    }
    return Scenario.model_validate({**data, **fixed})


PASSED = ("ok", "not applicable")


def run_once(seed: int, **fixed: Any) -> Run:
    """Draw a scenario, run it, judge it."""
    scenario = draw_scenario(seed, **fixed)
    audit = BatchedAudit()
    Simulation(scenario, Streams(scenario.seed, 0), audit).run_all(lambda share: None)
    failures = {name: one["offenders"] for name, one in audit.verdicts().items() if one["verdict"] not in PASSED}
    return Run(seed, scenario, audit.metrics(), failures)


def is_caught(mutant: type[Agent], name: str, seeds: int = 10) -> bool:
    """Whether some random run tells a broken agent from the algorithm whose place it takes."""

    def fails(seed: int) -> bool:
        try:
            return run_once(seed, algorithm=name).has_failed
        except AgentError:
            return True

    with registered(mutant, name):
        return any(map(fails, range(seeds)))


def spread(values: list[float]) -> str:
    """Least, median and greatest, for the record."""
    ordered = sorted(values)
    return f"{ordered[0]:g} / {ordered[len(ordered) // 2]:g} / {ordered[-1]:g}"


def large_runs(count: int, first_seed: int, algorithm_of: Callable[[int], Any], record_property: Any) -> None:
    """Judge so many runs of at least `MIN_NODES` nodes, `MIN_ENTRIES` entries and `MIN_CHANGES` link changes."""
    runs: list[Run] = []
    seed = first_seed
    while len(runs) < count:
        run = run_once(seed, algorithm=algorithm_of(seed))
        assert not run.failures, f"seed {seed}: {run.failures}"
        seed += 1
        large = run.metrics["entries"] >= MIN_ENTRIES and run.link_changes >= MIN_CHANGES
        if large and run.scenario.nodes >= MIN_NODES:
            runs.append(run)
    record_property(
        f"{runs[0].scenario.algorithm.name}, {len(runs)} runs, least / median / greatest",
        f"nodes {spread([run.scenario.nodes for run in runs])}, "
        f"entries {spread([run.metrics['entries'] for run in runs])}, "
        f"link changes {spread([run.link_changes for run in runs])}, "
        f"messages {spread([sum(run.metrics['messages'].values()) for run in runs])}",
    )


BATCH = 500
in_batches = pytest.mark.parametrize("batch", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
"""2,000 runs of each algorithm, of which the suite makes a quarter; the rest by hand."""
