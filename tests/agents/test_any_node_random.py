"""Every algorithm that addresses any node, in random runs: at most k inside, units conserved, every request served."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.contract import Needs
from agents.registry import ALGORITHMS
from testbed.network.graph import complete
from testbed.scenario.algorithm import parse_algorithm
from tests.agents.any_node_stage import play
from tests.agents.random_runs import MIN_ENTRIES, MIN_NODES, run_once, spread

NAMES = [name for name, agent in ALGORITHMS.items() if agent.needs is Needs.ANY_NODE]
every_algorithm = pytest.mark.parametrize("name", NAMES)

RUNS = 200
in_batches = pytest.mark.parametrize("batch", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 10))])
"""2,000 runs of each algorithm, of which the suite makes a tenth; the rest by hand."""


def drawn(name: str, rng: Random, nodes: int) -> dict[str, Any]:
    """An algorithm with parameters drawn at random, as a scenario would write it."""
    own: dict[str, dict[str, Any]] = {
        "bv": {
            "choice": rng.choice(("random", "last-seen")),
            "v": rng.choice((0, 1, min(2, nodes - 1), nodes - 1)),
            "inform_to": rng.choice(("random", "stalest")),
        },
        "raymond-k": {"deferred": rng.choice(("index", "oldest"))},
        "makki": {"window": rng.choice((0.0, 0.5, 2.0))},
    }
    has_k = hasattr(ALGORITHMS[name].parameters(), "k")
    return {"name": name, **({"k": rng.randint(1, min(4, nodes))} if has_k else {}), **own.get(name, {})}


@every_algorithm
@in_batches
def test_random_runs(name, batch, record_property):
    """Over routes that change, with delays drawn for every hop."""
    entries, sent = [], []
    for seed in range(batch * 1_000_000, batch * 1_000_000 + RUNS):
        rng = Random(f"{name} {seed}")
        hop = rng.choice(({"uniform": [0.1, 2.0]}, {"exponential": 1.0}))
        run = run_once(seed, algorithm=drawn(name, rng, MIN_NODES), delays={"hop": hop})
        assert not run.failures, f"seed {seed}, {run.scenario.algorithm}: {run.failures}"
        assert run.scenario.nodes >= MIN_NODES
        entries.append(run.metrics["entries"])
        sent.append(sum(run.metrics["messages"].values()))
    assert min(entries) >= MIN_ENTRIES
    least = "least / median / greatest"
    record_property(f"{name}, {RUNS} runs, {least}", f"entries {spread(entries)}, messages {spread(sent)}")


@every_algorithm
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(seed=st.integers(0, 2**32), nodes=st.integers(2, 9), steps=st.integers(0, 250))
def test_any_schedule(name, seed, nodes, steps):
    """Any interleaving of requests, releases, deliveries and timers: a message may be overtaken for as long as it likes
    by those between other nodes.
    """
    rng = Random(seed)
    choice = parse_algorithm(drawn(name, rng, nodes))
    starts = choice.agent.initial(complete(nodes).adjacency(), choice.parameters)
    agents = {
        node: choice.agent.start(node, starts[node], choice.parameters, Random(f"{seed} {node}"))
        for node in range(nodes)
    }
    play(agents, rng, steps, choice.agent.capacity(choice.parameters))
