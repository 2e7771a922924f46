"""RL under random graphs, schedules and link changes: safe, one token, every request served."""

from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from testbed.runtime.breach import AgentError
from tests.agents import random_runs
from tests.agents.random_runs import BATCH, in_batches, large_runs, run_once
from tests.agents.rl_stage import play, random_stage
from tests.agents.rl_variants import MUTANTS, registered


@in_batches
def test_random_runs(batch, record_property):
    """Theorems 1 and 2."""
    large_runs(BATCH, batch * 1_000_000, lambda seed: "rl", record_property)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(seed=st.integers(0, 2**32), nodes=st.integers(2, 9), steps=st.integers(0, 250))
@example(seed=0, nodes=2, steps=50)
@example(seed=68840, nodes=4, steps=47)
@example(seed=1, nodes=1, steps=20)
def test_any_schedule(seed, nodes, steps):
    """Any interleaving of deliveries, requests and link changes: mutual exclusion, one token, no cycle, no starvation.

    Unlike the simulator, the stage lets a message be overtaken for as long as it likes by those of other channels.
    """
    rng = Random(seed)
    stage, graph = random_stage(rng, nodes)
    play(stage, graph, rng, steps)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutants_are_caught(mutant):
    """A random run tells a broken agent from a whole one, within a few seeds."""
    with registered(mutant):
        assert any(_fails(seed) for seed in range(40)), f"{mutant.__name__}: {mutant.__doc__}"


def _fails(seed: int) -> bool:
    try:
        return run_once(seed).has_failed
    except AgentError:
        return True


def test_random_runs_are_reproducible():
    """A seed names a run."""
    assert run_once(7) == run_once(7)
    assert random_runs.draw_scenario(7) != random_runs.draw_scenario(8)
