"""Pacing: components without a token, or full of tokens, change heights at most so often, and no node starves."""

from itertools import pairwise

import pytest

from agents.pacing import PacedAgent
from agents.registry import ALGORITHMS
from tests.agents.random_runs import run_once
from tests.testbed.simulate import ALL_OK, simulate

PACED = [name for name, agent in ALGORITHMS.items() if issubclass(agent, PacedAgent)]
every = pytest.mark.parametrize("name", PACED)

COMPONENT = [4, 5, 6, 7]
CUT = [{"at": 100.0, "kind": "cut", "group": COMPONENT}, {"at": 300.0, "kind": "heal"}]
NO_REQUEST = {**ALL_OK, "progress": "inconclusive"}
"""A run without requests shows nothing of progress."""


def paced(name: str, interval: float, k: int = 1) -> dict[str, object]:
    """The algorithm with an interval."""
    return {"name": name, "raise_interval": interval, **({} if name == "rl" else {"k": k})}


@every
@pytest.mark.parametrize("batch", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_random_runs(name, batch):
    """Safe and live under link changes, whatever the interval."""
    for seed in range(batch * 200, batch * 200 + 200):
        run = run_once(seed, algorithm=paced(name, (0.5, 3.0, 20.0)[seed % 3], seed % 4 + 1))
        assert not run.failures, f"seed {seed}: {run.failures}"


@every
def test_a_component_without_a_token_is_paced(name):
    """No node raises more often than once an interval; without one they raise as fast as messages travel."""
    raises = {}
    for interval in (0.0, 20.0):
        # Hardly a request, so that all that is sent in the component is the raising of heights.
        run = simulate(algorithm=paced(name, interval), faults=CUT, workload={"rate": 1e-9})
        assert run.verdicts == NO_REQUEST
        sent = [one for one in run.diary.of("send") if one["node"] in COMPONENT and 101 < one["t"] < 300]
        raises[interval] = {node: sorted({one["t"] for one in sent if one["node"] == node}) for node in COMPONENT}
    assert max(map(len, raises[0.0].values())) > 40
    gaps = [b - a for times in raises[20.0].values() for a, b in pairwise(times)]
    assert gaps
    assert min(gaps) >= 20


@pytest.mark.parametrize("name", [name for name in PACED if name.startswith("krl")])
def test_a_component_in_which_every_node_holds_a_token_is_paced(name):
    """No node lowers its height more often than once an interval. RL and hk have one token, and no such components."""
    cut = [{"at": 100.0, "kind": "cut", "group": [0, 1]}, {"at": 300.0, "kind": "heal"}]
    times = {}
    for interval in (0.0, 20.0):
        run = simulate(algorithm=paced(name, interval, k=3), topology={"kind": "complete"}, faults=cut,
                       workload={"rate": 1e-9})  # fmt: skip
        assert run.verdicts == NO_REQUEST
        sent = [one for one in run.diary.of("send") if one["node"] in (0, 1) and 101 < one["t"] < 300]
        times[interval] = {node: sorted(one["t"] for one in sent if one["node"] == node) for node in (0, 1)}
    assert min(map(len, times[0.0].values())) > 40
    gaps = [b - a for ones in times[20.0].values() for a, b in pairwise(ones)]
    assert gaps
    assert min(gaps) >= 20


@every
def test_requests_made_in_a_component_without_a_token_are_served_after_the_heal(name):
    """A node that rests does not ask, and must not forget to ask afterwards."""
    run = simulate(algorithm=paced(name, 20.0), faults=CUT, workload={"rate": 0.1})
    waiting = {
        event["node"] for event in run.diary.of("request") if 105 < event["t"] < 290 and event["node"] in COMPONENT
    }
    assert waiting
    assert run.verdicts == ALL_OK


@every
def test_zero_is_off(name):
    """In the papers' model no timer is ever set."""
    assert simulate(algorithm=paced(name, 0.0)).diary.of("timer") == []
    assert simulate(algorithm=paced(name, 1.0), topology={"kind": "random", "connectivity": 0.4,
                    "link_change_rate": 0.5}).diary.of("timer") != []  # fmt: skip
