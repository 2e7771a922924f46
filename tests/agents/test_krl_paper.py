"""KRL and KRLF: one test per claim of the paper (Walter, Cao, Mohanty 2001)."""

from random import Random

import pytest

from agents.contract import ONE_UNIT
from agents.errors import PeerError
from agents.heights import lowered
from agents.krl import Initial, KParameters, KReverseLink
from agents.krlf import KReverseLinkForwarding
from agents.message import Message
from agents.outputs import Enter, Send
from agents.rl import LinkInfo, Request, Token
from analysis import stats
from testbed.experiments.measure import measure
from testbed.network.graph import random_connected
from testbed.scenario.schema import Scenario


def node(height, neighbours, *, tokens=0, agent=KReverseLink):
    """Node 5 among neighbours given as (h1, h2, id)."""
    return agent(5, Initial((*height, 5), tuple(neighbours), tokens))


def outputs(agent) -> list:
    return [(one.peer, one.message) if isinstance(one, Send) else one for one in agent.take_outputs()]


# -- the appendix ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 9, 19])
def test_initial_heights(k):
    """Nodes 0 to k-1 hold a token; every other node has a way down, and every holder a neighbour above it."""
    graph = random_connected(20, 40, Random(k)).adjacency()
    starts = KReverseLink.initial(graph, KParameters(k))
    assert [start.tokens for start in starts] == [1] * k + [0] * (20 - k)
    for start in starts:
        if start.tokens:
            assert max(start.neighbours) > start.height
        else:
            assert min(start.neighbours) < start.height


@pytest.mark.parametrize("k", [0, -1])
def test_k_is_at_least_one(k):
    """And less than n: section 4.1."""
    with pytest.raises(ValueError, match="k at least 1"):
        KParameters(k)
    with pytest.raises(ValueError, match="k less than the number of nodes, 3"):
        KParameters(3).check(3)


def test_a_token_is_given_from_within_the_cs_if_there_is_another():
    """Request, line 5: (status = CRITICAL) and (numTokens > 1)."""
    agent = node((0, 0), [(0, 1, 1), (0, 1, 2)], tokens=2)
    agent.on_request(ONE_UNIT)
    assert outputs(agent) == [Enter()]
    agent.on_receive(1, Request((0, 1, 1)))
    assert outputs(agent) == [(1, Token((0, 0, 5)))]
    agent.on_receive(2, Request((0, 1, 2)))
    assert outputs(agent) == [], "the last one is in use"
    agent.on_release()
    assert outputs(agent)[0] == (2, Token((0, 0, 5)))


def test_the_height_is_lowered_only_if_necessary():
    """Section 4.1: not "when the node receiving the Token message has lower values" than the sender."""
    agent = node((0, -7), [(0, 1, 1), (0, 3, 2)])
    agent.on_receive(1, Token((0, 1, 1)))
    assert agent.my_height == (0, -7, 5)
    assert outputs(agent) == [(1, LinkInfo((0, 0, 5)))], "acknowledged all the same"
    agent = node((0, 4), [(0, 1, 1), (0, 3, 2)])
    agent.on_receive(1, Token((0, 1, 1)))
    assert agent.my_height == (0, 0, 5)
    assert outputs(agent) == [(2, LinkInfo((0, 0, 5))), (1, LinkInfo((0, 0, 5)))]


def test_a_request_follows_the_token_only_if_none_is_left():
    """GiveTokenToNext, line 9."""
    agent = node((0, 0), [(0, 1, 1), (0, 1, 2)], tokens=1)
    agent.on_request(ONE_UNIT)
    agent.on_receive(1, Request((0, 1, 1)))
    agent.on_receive(2, Request((0, 1, 2)))
    agent.take_outputs()
    agent.on_release()
    assert outputs(agent) == [(1, Token((0, 0, 5))), (1, Request((0, 0, 5)))]


def test_a_holder_with_nobody_above_lowers_its_height():
    """LowerHeight: just below the highest neighbours; those above are told."""
    assert lowered((0, 9, 5), {1: (0, 7, 1), 2: (0, 4, 2)}) == (-1, 9, 5)
    assert lowered((2, 9, 5), {1: (1, 7, 1), 2: (0, 4, 2)}) == (0, 5, 5)
    agent = node((0, 3), [(0, 4, 1), (0, 1, 2)], tokens=1)
    agent.on_link_down(1)
    assert agent.my_height == (-1, 3, 5)
    assert outputs(agent) == [(2, LinkInfo((-1, 3, 5)))]


@pytest.mark.parametrize("agent", [KReverseLink, KReverseLinkForwarding])
def test_only_a_request_from_above_is_queued(agent):
    """Request, line 3: Enqueue(Q, j) if myHeight < height[j] and j is not in Q."""
    one = node((0, 3), [(0, 1, 1), (0, 4, 2)], agent=agent)
    one.on_receive(2, Request((0, 4, 2)))
    one.on_receive(2, Request((0, 4, 2)))
    assert one.queue == [2]
    one.on_receive(1, Request((0, 1, 1)))
    assert one.queue == [2], "node 1 is below: its request has crossed a message that says so"


def test_a_foreign_message_is_refused():
    """And changes nothing."""
    agent = node((0, 3), [(0, 1, 1)])
    before = agent.state()
    with pytest.raises(PeerError):
        agent.on_receive(1, Message())
    assert agent.state() == before


# -- token forwarding --------------------------------------------------------------------------------------------------


def test_an_idle_token_is_forwarded_to_the_lowest_not_visited():
    """Section 4.4: the lowest neighbour first; when all have been visited it starts over."""
    agent = node((0, 3), [(0, 1, 1), (0, 2, 2), (0, 4, 7)], agent=KReverseLinkForwarding)
    went = []
    for _ in range(4):
        agent.on_receive(7, Token((0, 4, 7)))
        went += [peer for peer, message in outputs(agent) if isinstance(message, Token)]
        agent.awaiting_info.clear()
    assert went[:2] == [1, 2]
    assert agent.tokens == 0
    assert len(went) == 4


def test_a_token_in_use_is_not_forwarded():
    """Only the second one is."""
    agent = node((0, 0), [(0, 1, 1)], tokens=1, agent=KReverseLinkForwarding)
    agent.on_request(ONE_UNIT)
    agent.take_outputs()
    agent.on_receive(1, Token((0, 1, 1)))
    assert agent.tokens == 1
    assert [peer for peer, message in outputs(agent) if isinstance(message, Token)] == [1]


def test_a_lonely_node_keeps_its_token():
    """There is no neighbour to forward it to."""
    agent = node((0, 0), [], tokens=1, agent=KReverseLinkForwarding)
    agent.on_request(ONE_UNIT)
    agent.on_release()
    assert agent.tokens == 1


def test_a_new_link_is_not_visited():
    """Formation, line 4."""
    agent = node((0, 3), [(0, 1, 1)], agent=KReverseLinkForwarding)
    agent.visited = {1, 7}
    agent.on_link_up(7)
    assert agent.visited == {1}


# -- section 6 ---------------------------------------------------------------------------------------------------------


def waiting(name: str, connectivity: float) -> float:
    """Mean waiting time at a mean time between requests of 10, k = 3, static, 2,000 time units."""
    topology = {"kind": "random", "connectivity": connectivity}
    scenario = Scenario.model_validate(
        {"name": "s", "algorithm": {"name": name, "k": 3}, "nodes": 30, "topology": topology,
         "workload": {"rate": 0.1}, "duration": 2000.0, "trace": "metrics"}
    )  # fmt: skip
    results = [measure(scenario, repetition) for repetition in range(5)]
    assert all(check["verdict"] == "ok" for one in results for check in one["checks"].values())
    return stats.mean([one["metrics"]["waiting_time"]["mean"] for one in results])


def test_forwarding_halves_the_waiting_time():
    """Section 6: at a mean time between requests of 10, KRLF waits less than half as long, at 20 % and at 80 %."""
    forwarded = {connectivity: waiting("krlf", connectivity) for connectivity in (0.2, 0.8)}
    for connectivity, time in forwarded.items():
        assert time < waiting("krl", connectivity) / 2
    assert forwarded[0.2] == pytest.approx(forwarded[0.8], rel=0.05), "insensitive to connectivity"
