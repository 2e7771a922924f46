"""Random runs of KLME: neighbourhoods with churn, drawn from a number, run on the simulator, judged by the checks."""

from random import Random
from typing import Any

from analysis.audit import BatchedAudit
from testbed.backends.sim.simulation import Simulation
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario
from tests.agents.random_runs import PASSED, Run


def draw_churn(seed: int, **fixed: Any) -> Scenario:
    """A scenario drawn from a number: churn at several rates, slow links, travellers that come back at once."""
    rng = Random(f"klme {seed}")
    nodes = rng.randint(3, 12)
    hop = rng.choice(({"uniform": [0.01, 0.2]}, {"exponential": 0.1}, {"uniform": [0.05, 0.1]}, {"exponential": 0.4}))
    data = {
        "name": f"klme-{seed}",
        "algorithm": {"name": "klme", "k": rng.randint(1, 4), "ack": rng.choice(("always", "queued"))},
        "nodes": nodes,
        "topology": {"kind": "complete"},
        "churn": {
            "groups": rng.randint(1, 3),
            "departures": rng.choice((0.02, 0.1, 0.3, 1.0)),
            "away": rng.choice((0, 0.05, {"exponential": 0.5}, {"exponential": 3.0})),
        },
        "notice": 1000.0,  # so long that no node has to leave before it is ready
        "delays": {"hop": hop},
        "workload": {"rate": rng.choice((0.1, 1.0, 5.0)), "cs_time": rng.choice((0.2, {"exponential": 1.0}))},
        "duration": rng.choice((20.0, 60.0)),
        "drain": 5000.0,
        "seed": seed,
        "trace": "metrics",
    }
    return Scenario.model_validate({**data, **fixed})


def run_churn(seed: int, **fixed: Any) -> Run:
    """Draw a scenario, run it, judge it."""
    return judge(draw_churn(seed, **fixed))


def judge(scenario: Scenario) -> Run:
    """Run a scenario, judge it."""
    audit = BatchedAudit()
    Simulation(scenario, Streams(scenario.seed, 0), audit).run_all(lambda share: None)
    failures = {name: one["offenders"] for name, one in audit.verdicts().items() if one["verdict"] not in PASSED}
    return Run(scenario.seed, scenario, audit.metrics(), failures)
