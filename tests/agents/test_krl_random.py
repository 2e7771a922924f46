"""The KRL family under random graphs, schedules and link changes: at most k inside, k tokens, every request served."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agents.registry import ALGORITHMS
from testbed.runtime.breach import AgentError
from tests.agents.k_stage import play
from tests.agents.krl_variants import MUTANTS
from tests.agents.random_runs import BATCH, in_batches, large_runs, run_once
from tests.agents.rl_variants import registered
from tests.testbed.simulate import ALL_OK, simulate

every = pytest.mark.parametrize("name", ["krl", "krlf", "krlf-adaptive"])


@every
@in_batches
def test_random_runs(name, batch, record_property):
    """Theorems 1 and 2."""
    large_runs(BATCH, batch * 1_000_000, lambda seed: {"name": name, "k": seed % 4 + 1}, record_property)


@every
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(seed=st.integers(0, 2**32))
@example(seed=201)
@example(seed=64)
def test_any_schedule(name, seed):
    """Any interleaving of deliveries, requests and link changes: k-mutual exclusion, k tokens, no starvation."""
    assert play(seed, ALGORITHMS[name]).waiting() == []


@pytest.mark.parametrize(("name", "mutant"), [(name, one) for name, mutants in MUTANTS.items() for one in mutants])
def test_mutants_are_caught(name, mutant):
    """A random run tells a broken agent from a whole one, within a few seeds."""

    def fails(seed: int) -> bool:
        try:
            return run_once(seed, algorithm={"name": name, "k": seed % 4 + 1}).has_failed
        except AgentError:
            return True

    with registered(mutant, name):
        assert any(fails(seed) for seed in range(20)), f"{mutant.__name__}: {mutant.__doc__}"


@every
def test_a_component_with_a_token_goes_on(name):
    """Cut in two, both components go on if both have tokens; the rest is served after the heal."""
    faults = [{"at": 100.0, "kind": "cut", "group": [0, 1, 2, 3]}, {"at": 200.0, "kind": "heal"}]
    run = simulate(algorithm={"name": name, "k": 2}, faults=faults, workload={"rate": 0.1})
    assert [event for event in run.diary.of("enter") if 110 < event["t"] < 200]
    assert run.verdicts == ALL_OK


@every
def test_survivors_go_on_with_the_tokens_they_hold(name):
    """The paper's only condition: not all token holders fail. The report says how many tokens were lost."""
    faults = [{"at": 100.0, "kind": "crash", "holder": True}]
    run = simulate(algorithm={"name": name, "k": 3}, faults=faults, workload={"rate": 0.1}, drain=500.0)
    assert run.diary.of("crash")[0]["units"] >= 1
    assert "lost to injected faults" in run.details["conservation"]
    assert run.verdicts == ALL_OK
    assert len([event for event in run.diary.of("enter") if event["t"] > 110]) > 20
