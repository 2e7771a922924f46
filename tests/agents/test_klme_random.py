"""KLME under random churn, schedules and faults: at most k inside, one token, every request served."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.klme import KLME
from testbed.runtime.breach import AgentError
from testbed.scenario.schema import Scenario
from tests.agents.klme_faults import EVERY_REQUEST, Transfers, crashing, lose_tokens, run, vanishing
from tests.agents.klme_runs import draw_churn
from tests.agents.klme_stage import play
from tests.agents.klme_variants import MUTANTS, RARE_MUTANTS
from tests.agents.random_runs import spread
from tests.agents.rl_variants import registered

RUNS = 200
in_batches = pytest.mark.parametrize("batch", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 10))])
"""2,000 runs, of which the suite makes a tenth; the rest by hand."""


@in_batches
def test_random_runs(batch, record_property):
    """Nodes travel between neighbourhoods, slow links, much or little load. No request needs an excuse."""
    runs = [(seed, run(draw_churn(seed))) for seed in range(batch * RUNS, batch * RUNS + RUNS)]
    for seed, judged in runs:
        assert not judged.failures, f"seed {seed}: {judged.failures}"
        assert judged.excuses == EVERY_REQUEST, f"seed {seed}: {judged.excuses}"
        assert set(judged.lost) <= {"left"}, f"seed {seed}"
    names = ("entries", "arrivals", "evictions", "regenerated")
    found = (f"{name} {spread([one.metrics[name] for _, one in runs])}" for name in names)
    record_property(f"klme, {RUNS} runs, least / median / greatest", ", ".join(found))
    assert sum(one.metrics["regenerated"] for _, one in runs) > RUNS


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(seed=st.integers(0, 2**32), steps=st.integers(0, 300), losses=st.sampled_from([0.0, 0.0, 0.1, 0.5]))
def test_any_schedule(seed, steps, losses):
    """Any interleaving of deliveries, arrivals, departures, timers and losses of Tokens."""
    stage = play(seed, steps=steps, losses=losses)
    for agent in stage.agents.values():
        assert agent.clone().state() == agent.state()


# -- lost tokens -------------------------------------------------------------------------------------------------------


def small(departures: float, faults: list[dict[str, Any]]) -> Scenario:
    """One neighbourhood of six nodes and two units, and some ten time units."""
    churn = {"groups": 1, "departures": departures, "away": {"exponential": 0.5}}
    workload = {"rate": 1.0, "cs_time": {"exponential": 0.2}}
    algorithm = {"name": "klme", "k": 2}
    hop = {"uniform": [0.01, 0.1]}
    fixed = {"nodes": 6, "churn": churn, "workload": workload, "algorithm": algorithm, "delays": {"hop": hop}}
    return draw_churn(1, duration=10.0, faults=faults, **fixed)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("departures", [0.0, 0.3])
def test_the_token_is_lost_in_each_transfer_in_turn(departures, times):
    """Once or twice in a row: section 7 makes it anew as often as it is lost, and every request is served."""
    reference = Transfers()
    run(small(departures, []), reference)
    assert len(reference.times) > 20
    for index, time in enumerate(reference.times):
        judged = run(small(departures, lose_tokens(*[time] * times)))
        assert not judged.failures, f"transfer {index}: {judged.failures}"
        assert judged.excuses == EVERY_REQUEST, f"transfer {index}: {judged.excuses}"
        by_fault = judged.lost.count("fault")
        assert 1 <= by_fault <= times
        assert by_fault == times or index == len(reference.times) - 1
        assert judged.metrics["regenerated"] == len(judged.lost), f"transfer {index}: {judged.lost}"


def test_without_recovery_a_lost_token_is_an_excuse():
    """So that the test above can fail."""
    scenario = small(0.0, lose_tokens(2.0))
    algorithm = {"name": "klme", "k": 2, "recover": False}
    judged = run(Scenario.model_validate({**scenario.model_dump(), "algorithm": algorithm, "drain": 10.0}))
    assert judged.metrics["regenerated"] == 0
    assert "neighbourhood has lost its token" in judged.excuses


# -- what the paper rules out ------------------------------------------------------------------------------------------


def excused(scenarios: list[Scenario]) -> int:
    """Judge runs in which tokens and units may be lost for good; in how many of them requests are excused."""
    runs = [run(scenario) for scenario in scenarios]
    for scenario, judged in zip(scenarios, runs, strict=True):
        assert not judged.failures, f"seed {scenario.seed}: {judged.failures}"
    return sum(judged.excuses != EVERY_REQUEST for judged in runs)


def test_nodes_that_vanish():
    """Without I_am_leaving the token is lost with its holder, and a unit with a node that was inside; never more."""
    assert excused([vanishing(seed) for seed in range(40)]) > 10


def test_short_notice():
    """Nodes leave before they are ready, and may take the token along."""
    assert excused([draw_churn(seed, notice=0.05, drain=100.0) for seed in range(40)]) > 10


def test_crashes():
    """Nodes that crash and come back make no agent fail."""
    assert excused([crashing(seed) for seed in range(40)]) > 10


# -- mutants -----------------------------------------------------------------------------------------------------------


def fails_in_run(agent: type[KLME], seed: int) -> bool:
    with registered(agent, "klme"):
        try:
            return not run(draw_churn(seed, drain=100.0)).is_flawless
        except AgentError:
            return True


def fails_on_stage(agent: type[KLME], seed: int) -> bool:
    try:
        play(seed, agent)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("agent", MUTANTS)
def test_mutants_are_caught(agent):
    """By some random run within a few seeds."""
    assert any(fails_in_run(agent, seed) for seed in range(10)), f"{agent.__name__}: {agent.__doc__}"


@pytest.mark.parametrize("agent", RARE_MUTANTS)
def test_rare_mutants_are_caught(agent):
    """By some schedule on the stage, at whose end all units must be free."""
    assert any(fails_on_stage(agent, seed) for seed in range(40)), f"{agent.__name__}: {agent.__doc__}"
