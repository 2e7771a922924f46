"""Random runs of link-reversal algorithms in networks that are cut and heal, drawn from a number."""

from random import Random
from typing import Any

from testbed.scenario.schema import Scenario
from tests.agents.klme_runs import judge
from tests.agents.random_runs import Run


def draw_cuts(seed: int, algorithm: str, **fixed: Any) -> Scenario:
    """A network that is cut up to three times, also while links change, and is whole for the last 60 time units."""
    rng = Random(f"cuts {seed}")
    nodes = rng.randint(6, 14)
    groups = [sorted(rng.sample(range(nodes), rng.randint(1, nodes - 1))) for _ in range(rng.randint(1, 3))]
    t, faults = 10.0, []
    for group in groups:
        t += rng.uniform(5, 40)
        faults.append({"at": t, "kind": "cut", "group": group})
        t += rng.uniform(2, 60)
        faults.append({"at": t, "kind": "heal", **({} if rng.random() < 0.7 else {"group": group})})
    t += 5
    connectivity, changes = rng.uniform(2 / nodes + 0.05, 0.6), rng.choice((0.0, 0.0, 0.1, 0.5))
    lag = {"max_lag": 0.3} if rng.random() < 0.3 else {}
    data = {
        "name": f"cuts-{seed}",
        "algorithm": {"name": algorithm, "detect_partitions": True},
        "nodes": nodes,
        "topology": {"kind": "random", "connectivity": connectivity, "link_change_rate": changes, **lag},
        "delays": {"hop": rng.choice((1.0, {"uniform": [0.1, 2.0]}, {"exponential": 1.0}))},
        "workload": {"rate": rng.choice((0.03, 0.1, 0.5)), "cs_time": 0.5},
        "faults": [*faults, {"at": t, "kind": "heal"}],
        "duration": t + 60,
        "drain": 3000.0,
        "seed": seed,
        "trace": "metrics",
    }
    return Scenario.model_validate({**data, **fixed})


def run_cuts(seed: int, algorithm: str, **fixed: Any) -> Run:
    """Draw a scenario, run it, judge it."""
    return judge(draw_cuts(seed, algorithm, **fixed))
