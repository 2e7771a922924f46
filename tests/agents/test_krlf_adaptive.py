"""KRLF-adaptive: tokens go as far as the load is worth. What the KRL paper's section 7 plans, held against it."""

from functools import cache

import pytest

from agents.contract import ONE_UNIT
from agents.krl import Initial
from agents.krlf_adaptive import AdaptiveParameters, KReverseLinkAdaptive, Token
from agents.outputs import Send
from agents.rl import Request
from analysis import stats
from testbed.experiments.measure import measure
from testbed.scenario.schema import Scenario


def node(*neighbours, tokens=0, **parameters):
    """Node 5 at height (0, 0, 5) among neighbours given as (h1, h2, id)."""
    return KReverseLinkAdaptive(5, Initial((0, 0, 5), neighbours, tokens), AdaptiveParameters(**parameters))


def sent_tokens(agent) -> list:
    sent = [one for one in agent.take_outputs() if isinstance(one, Send)]
    return [(one.peer, one.message.hops) for one in sent if isinstance(one.message, Token)]


def use_token(agent) -> None:
    agent.on_request(ONE_UNIT)
    agent.take_outputs()
    agent.on_release()


def test_at_low_load_a_token_stays():
    """ "If a processor perceives that there is a low load on the system, it will not forward the token."""
    agent = node((0, 1, 1), tokens=1)
    for _ in range(3):
        use_token(agent)
        assert sent_tokens(agent) == []
    assert agent.tokens == 1


def test_the_hops_are_the_share_of_yes():
    """Two of four notes say that a request waited: half of max_hops."""
    agent = node((0, 1, 1), (0, 1, 2), tokens=1, window=4, max_hops=6)
    agent.notes = [True, True, True, False]
    use_token(agent)
    assert agent.notes == [True, True, False, False], "the oldest is forgotten"
    assert sent_tokens(agent) == [(1, 3)]


def test_hops_are_counted_down_and_the_token_rests():
    """No node wants it on its way."""
    agent = node((0, 1, 1), (0, 2, 2))
    agent.on_receive(2, Token((0, 2, 2), 3))
    assert sent_tokens(agent) == [(1, 2)]
    agent.awaiting_info.clear()
    agent.on_receive(2, Token((0, 2, 2), 1))
    assert sent_tokens(agent) == []
    assert agent.tokens == 1
    assert agent.notes == [False, False]


def test_a_token_that_was_asked_for_is_no_sign_of_load():
    """It always finds a request waiting, at any load."""
    agent = node((0, -1, 1), (0, 2, 2))
    agent.on_request(ONE_UNIT)
    agent.on_receive(1, Token((0, -1, 1), 0))
    assert agent.notes == []


def test_a_forwarded_token_serves_who_waits():
    """And goes on from there as one that was asked for."""
    agent = node((0, -1, 1), (0, 2, 2))
    agent.on_receive(2, Request((0, 2, 2)))
    agent.take_outputs()
    agent.on_receive(1, Token((0, -1, 1), 5))
    assert agent.notes == [True]
    assert sent_tokens(agent) == [(2, 0)]


@pytest.mark.parametrize(("key", "value"), [("window", 0), ("max_hops", -1), ("k", 0)])
def test_impossible_parameters_are_refused(key, value):
    """One line that names the parameter."""
    with pytest.raises(ValueError, match=key):
        AdaptiveParameters(**{key: value})


# -- against KRL and KRLF ----------------------------------------------------------------------------------------------


@cache
def measured(name: str, rate: float, connectivity: float) -> tuple[float, float]:
    """Waiting time and messages per CS: 30 nodes, k = 3, static, three repetitions of 2,000 time units."""
    topology = {"kind": "random", "connectivity": connectivity}
    scenario = Scenario.model_validate(
        {"name": "s", "algorithm": {"name": name, "k": 3}, "nodes": 30, "topology": topology,
         "workload": {"rate": rate}, "duration": 2000.0, "trace": "metrics"}
    )  # fmt: skip
    metrics = [one["metrics"] for one in [measure(scenario, repetition) for repetition in range(3)]]
    return (
        stats.mean([one["waiting_time"]["mean"] for one in metrics]),
        stats.mean([one["messages_per_cs"] for one in metrics]),
    )


@pytest.mark.parametrize("connectivity", [0.2, 0.8])
def test_between_the_two(connectivity):
    """At low load nearly KRL's messages, a small part of KRLF's; at load 0.1 much less waiting than KRL."""
    krl, krlf, adaptive = (measured(name, 1e-3, connectivity)[1] for name in ("krl", "krlf", "krlf-adaptive"))
    assert adaptive < 1.5 * krl
    assert adaptive < krlf / 10
    krl, adaptive = (measured(name, 0.1, connectivity)[0] for name in ("krl", "krlf-adaptive"))
    assert adaptive < 0.75 * krl
