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
from tests.agents.k_stage import (
    FIGURE_2_HEIGHTS,
    FIGURE_2_LINKS,
    FIGURE_4_HEIGHTS,
    FIGURE_4_LINKS,
    figure_stage,
    snapshot,
)
from tests.agents.stage import Stage
from tests.testbed.simulate import ALL_OK, verdicts_of


def node(height, neighbours, *, tokens=0, agent=KReverseLink):
    """Node 5 among neighbours given as (h1, h2, id)."""
    return agent(5, Initial((*height, 5), tuple(neighbours), tokens))


def outputs(agent) -> list:
    return [(one.peer, one.message) if isinstance(one, Send) else one for one in agent.take_outputs()]


# -- figures, on networks that are reconstructed from the text ---------------------------------------------------------


def figure_2a() -> Stage:
    """Figures 2(a) and 3(a): nodes 0 and 1 are in their CS; 3 and then 2 have asked node 0, and 4 has asked node 1."""
    stage = figure_stage(KReverseLink, FIGURE_2_LINKS, FIGURE_2_HEIGHTS, (0, 1))
    stage.note("(a)")
    for holder in (0, 1):
        stage.request(holder)
    for asking in (3, 2, 4):
        stage.request(asking)
        stage.deliver_all()
    stage.script.append(snapshot(stage))
    assert (stage.agents[0].queue, stage.agents[1].queue) == ([3, 2], [4])
    assert [stage.agents[i].next for i in range(5)] == [0, 1, 0, 0, 1]
    return stage


def test_figure_2_static_network(golden):
    """Section 4.2 with Figure 2, reconstructed: tokens go 0, 3, 0, 2, 4 and 1, 4, 1; node 1 then lowers its height."""
    stage = figure_2a()
    stage.note("(b) node 1 has sent a token to 4 and asked it; node 0 has sent one to 3, then a request for 2")
    for holder in (1, 0):
        stage.release(holder)
        stage.deliver_all()
    stage.request(1)
    stage.deliver_all()
    stage.script.append(snapshot(stage))
    assert stage.inside == {3, 4}
    assert (stage.agents[3].queue, stage.agents[4].queue, stage.agents[1].queue) == ([0], [1], [1])
    assert [stage.agents[i].next for i in (0, 3, 1, 4)] == [3, 3, 4, 4]
    assert stage.agents[3].my_height < stage.agents[0].my_height, "the link has turned towards node 3"
    assert stage.agents[4].my_height < stage.agents[1].my_height

    stage.note("(c) node 4 has sent its token to 1, and node 3 to 0, which sent it to 2")
    for holder in (4, 3):
        stage.release(holder)
        stage.deliver_all()
    for holder in (1, 2):
        stage.release(holder)
    stage.script.append(snapshot(stage))
    assert [stage.agents[i].units for i in range(5)] == [0, 1, 1, 0, 0]
    assert not any(agent.queue for agent in stage.agents.values()), "there are no pending requests"

    stage.note("(d) node 4 has asked its lowest neighbour, node 2")
    stage.request(4)
    stage.script.append(snapshot(stage))
    assert [type(message) for message in stage.channels[4, 2]] == [Request]

    stage.note("(e) node 4 has the token")
    stage.deliver(4, 2)
    stage.deliver(2, 4)
    stage.script.append(snapshot(stage))
    assert stage.inside == {4}
    assert max(stage.agents[1].height.values()) > stage.agents[1].my_height, "it has yet to hear of it"

    stage.note("(f) node 1 has heard that it has no incoming link, and is lower than all its neighbours")
    stage.deliver_all()
    stage.script.append(snapshot(stage))
    assert stage.agents[1].my_height < min(stage.agents[1].height.values())
    assert stage.agents[4].height[1] == stage.agents[1].my_height
    assert max(agent.my_height[0] for agent in stage.agents.values()) == 0, "no node has raised its height"
    golden("krl_figure_2.txt", "\n".join(stage.script) + "\n")


def test_figure_3_dynamic_network(golden):
    """Section 4.3 with Figure 3, reconstructed: node 3 moves from 0 and 2 to 1, and asks there."""
    stage = figure_2a()
    stage.note("(b) node 3 has moved: it has a link to 1, and those to 2 and 0 are gone")
    before = stage.agents[2].my_height
    stage.link_up(1, 3)
    stage.deliver_all()
    stage.link_down(2, 3)
    assert (stage.agents[2].my_height, stage.busy()) == (before, []), "node 2 takes no action"
    assert [peer for peer, height in stage.agents[2].height.items() if height < before] == [0], "one outgoing link"
    stage.link_down(0, 3)
    assert stage.agents[0].queue == [2], "node 0 has struck 3 from its queue"

    stage.note("(c) node 3 has raised its height and asked node 1")
    stage.script.append(snapshot(stage))
    assert stage.agents[3].my_height == (1, 1, 3)
    assert [type(message) for message in stage.channels[3, 1]] == [LinkInfo, Request]

    stage.note("(d) node 0 has sent a token to 2, and node 1 one to 4, then a request for 3")
    stage.deliver_all()
    for holder in (0, 1):
        stage.release(holder)
        stage.deliver_all()
    stage.script.append(snapshot(stage))
    assert stage.inside == {2, 4}
    assert stage.agents[4].queue == [1]

    stage.note("(e) node 4 has sent its token to 1, which sent it to 3")
    stage.release(4)
    stage.deliver_all()
    stage.script.append(snapshot(stage))
    assert stage.inside == {2, 3}
    golden("krl_figure_3.txt", "\n".join(stage.script) + "\n")


def nodes_4_and_6_wait(agent: type[KReverseLink]) -> Stage:
    """Figures 4 and 5: node 5 is in its CS, 6 and then 4 have asked it; node 3 is in its CS too."""
    stage = figure_stage(agent, FIGURE_4_LINKS, FIGURE_4_HEIGHTS, (3, 5))
    for one in (5, 3, 6, 4):
        stage.request(one)
        stage.deliver_all()
    assert (stage.inside, stage.agents[5].queue) == ({3, 5}, [6, 4])
    return stage


def test_figure_4_an_idle_token(golden):
    """Section 4.4 with Figure 4, reconstructed: node 3 "will not send its token to any other node", while 6 and 4 wait.

    They get the token that node 5 uses, one after the other.
    """
    stage = nodes_4_and_6_wait(KReverseLink)
    stage.release(3)
    stage.deliver_all()
    stage.note("node 3 holds an idle token")
    stage.script.append(snapshot(stage))
    assert (stage.agents[3].units, stage.agents[3].queue, stage.waiting()) == (1, [], [4, 6])

    for served in (6, 4):
        stage.note(f"node {served} has the token of node 5")
        stage.release(min(stage.inside))
        stage.deliver_all()
        assert (stage.inside, stage.agents[3].units) == ({served}, 1)
    stage.script.append(snapshot(stage))
    golden("krl_figure_4.txt", "\n".join(stage.script) + "\n")


def test_figure_5_token_forwarding(golden):
    """Section 4.4 with Figure 5, reconstructed: a token goes by 0, 2, 1 and 3 to the "left portion of the network"."""
    stage = nodes_4_and_6_wait(KReverseLinkForwarding)
    stage.note("(a) no neighbour of node 3 needs its token")
    stage.script.append(snapshot(stage))

    stage.note("(b) the token has been forwarded by 0, 2, 1 and 3 to node 5, which has given it to 6")
    stage.release(3)
    began = len(stage.script)
    stage.deliver_all()
    stage.script.append(snapshot(stage))
    tokens = [line for line in stage.script[began:] if ": Recv Token" in line]
    assert [int(line.split(":")[0]) for line in tokens] == [0, 2, 1, 3, 5, 6]
    assert stage.inside == {5, 6}
    visited = {node: agent.visited for node, agent in stage.agents.items()}
    assert visited == {0: {2, 3}, 1: {2, 3}, 2: {0, 1}, 3: {0, 1, 5}, 4: set(), 5: {3}, 6: {5}}

    stage.note("node 3 gets a token once more: all its links have been visited, so it starts over")
    stage.release(5)
    stage.deliver(5, 4)
    stage.release(4)
    while stage.agents[3].visited == {0, 1, 5}:
        stage.deliver(*stage.busy()[0])
    stage.script.append(snapshot(stage))
    assert len(stage.agents[3].visited) == 1
    golden("krl_figure_5.txt", "\n".join(stage.script) + "\n")


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
    assert all(verdicts_of(one["checks"]) == ALL_OK for one in results)
    return stats.mean([one["metrics"]["waiting_time"]["mean"] for one in results])


def test_forwarding_halves_the_waiting_time():
    """Section 6: at a mean time between requests of 10, KRLF waits less than half as long, at 20 % and at 80 %."""
    forwarded = {connectivity: waiting("krlf", connectivity) for connectivity in (0.2, 0.8)}
    for connectivity, time in forwarded.items():
        assert time < waiting("krl", connectivity) / 2
    assert forwarded[0.2] == pytest.approx(forwarded[0.8], rel=0.05), "insensitive to connectivity"
