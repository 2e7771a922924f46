"""hk and hk-fifo under random graphs, schedules, demands and link changes: safe, one token, k units, all served."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.registry import ALGORITHMS
from testbed.runtime.breach import AgentError
from tests.agents.hk_stage import play
from tests.agents.hk_variants import MUTANTS
from tests.agents.random_runs import Run, run_once
from tests.agents.rl_variants import registered

CHOICES: dict[str, dict[str, tuple[Any, ...]]] = {
    "hk": {
        "aging": ("entry", "stamp", "exit", "none"),
        "step": (1, 3),
        "ties": ("id", "arrival"),
        "follow": ("message", "carried"),
    },
    "hk-fifo": {},
}
every = pytest.mark.parametrize("name", CHOICES)


@every
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(seed=st.integers(0, 2**32), links=st.sampled_from(["static", "changing", "breaking"]), data=st.data())
def test_any_schedule(name, seed, links, data):
    """Any interleaving of deliveries, demands and link changes: at most k units in use, none lost, no starvation.

    Links that break return what they carry.
    """
    chosen = {key: data.draw(st.sampled_from(values)) for key, values in CHOICES[name].items()}
    play(seed, ALGORITHMS[name], static=links == "static", breaking=links == "breaking", **chosen)


def run(seed: int, name: str) -> Run:
    """A random run on the simulator, with parameters, demands and priorities drawn as well."""
    rng = Random(seed)
    k = rng.randint(1, 5)
    algorithm = {"name": name, "k": k, **{key: rng.choice(values) for key, values in CHOICES[name].items()}}
    workload = {
        "rate": rng.choice((0.03, 0.1, 0.3)),
        "cs_time": rng.choice((1.0, {"exponential": 0.5})),
        "units": {"uniform": [1, k]},
        "priority": rng.choice(("fewest-first", {"uniform": [0, 9]})),
    }
    return run_once(seed, algorithm=algorithm, workload=workload)


@every
@pytest.mark.parametrize("batch", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 10))])
def test_random_runs(name, batch):
    """Theorems 1 and 3 on the simulator, in networks whose links change."""
    for seed in range(batch * 200, batch * 200 + 200):
        failures = run(seed, name).failures
        assert not failures, f"seed {seed}: {failures}"


def _fails(seed: int, name: str) -> bool:
    try:
        return run(seed, name).has_failed
    except AgentError:
        return True


@pytest.mark.parametrize(("name", "mutant"), [(name, mutant) for name, all_ in MUTANTS.items() for mutant in all_])
def test_mutants_are_caught(name, mutant):
    """By some random run within a few seeds."""
    with registered(mutant, name):
        assert any(_fails(seed, name) for seed in range(10)), f"{mutant.__name__}: {mutant.__doc__}"
