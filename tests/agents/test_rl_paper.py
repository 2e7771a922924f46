"""RL: one test per claim or figure of the paper (Walter, Welch, Vaidya 2001)."""

from random import Random

import pytest

from agents.contract import ONE_UNIT, Status
from agents.errors import MisuseError, PeerError
from agents.heights import by_distance, is_lowest, raised
from agents.message import Message
from agents.outputs import Enter, Send
from agents.rl import Initial, LinkInfo, Request, ReverseLink, Token
from testbed.network.graph import random_connected
from tests.agents.rl_stage import check_quiet, figure_a, figure_stage, play, random_stage, snapshot
from tests.agents.stage import Stage


def node(height, neighbours, *, holds=False, i=5) -> ReverseLink:
    """Node 5 among neighbours given as (h1, h2, id)."""
    return ReverseLink(i, Initial((*height, i), tuple(neighbours), holds))


def outputs(agent: ReverseLink) -> list[tuple[str, object, object]]:
    """Take what the agent has asked for, with readable names."""
    return [
        ("send", one.peer, one.message) if isinstance(one, Send) else ("enter", None, None)
        for one in agent.take_outputs()
    ]


def sends(agent: ReverseLink) -> list[tuple[int, Message]]:
    return [(peer, message) for name, peer, message in outputs(agent) if name == "send"]


# -- figures -----------------------------------------------------------------------------------------------------------


def test_figure_3_static_network(golden):
    """Section 4.4 with Figure 3: the token goes 0, 3, 1, 3, 0, 2, and h2 falls by one a hop."""
    stage = figure_a()
    stage.script.append(snapshot(stage))
    stage.note("(b) node 1 has asked node 3")
    stage.request(1)
    stage.deliver(1, 3)
    stage.script.append(snapshot(stage))
    assert stage.agents[0].queue == [3, 2]
    assert stage.agents[3].queue == [3, 1]

    stage.note("(c) node 0 has released; token to 3, then a request on behalf of 2")
    stage.release(0)
    stage.deliver(0, 3)
    stage.deliver(0, 3)
    stage.deliver_all()
    stage.script.append(snapshot(stage))
    assert stage.inside == {3}
    assert stage.agents[3].my_height == (0, -1, 3)
    assert (stage.agents[0].next, stage.agents[3].next) == (3, 3)

    stage.note("(d) node 3 has sent the token to 1, then a request")
    stage.release(3)
    stage.deliver_all()
    stage.script.append(snapshot(stage))
    assert stage.inside == {1}
    assert [stage.agents[i].queue[0] for i in (1, 3, 0)] == [3, 0, 2], "the heads lead from the holder to node 2"

    stage.note("(e) the token has gone from 1 to 3, 0 and 2")
    stage.release(1)
    stage.deliver_all()
    stage.script.append(snapshot(stage))
    assert stage.inside == {2}
    assert stage.agents[2].my_height == (0, -5, 2), "five hops since height (0, 0, 0)"
    assert min(agent.my_height for agent in stage.agents.values())[2] == 2, "the holder is lowest"
    golden("rl_figure_3.txt", "\n".join(stage.script) + "\n")


def test_figure_4_dynamic_network(golden):
    """Section 4.4 with Figure 4: node 3 moves away from 0 and 2, and its request finds a new way by 1 and 2."""
    stage = figure_a()
    stage.script.append(snapshot(stage))
    stage.note("(b) node 3 has moved: its links to 0 and 2 are gone")
    before = stage.agents[2].my_height
    stage.link_down(2, 3)
    stage.link_down(0, 3)
    assert stage.agents[0].queue == [2], "node 0 has struck 3 from its queue"
    assert stage.agents[2].my_height == before

    stage.note("(c) node 3 has raised its height and asked node 1")
    stage.script.append(snapshot(stage))
    assert stage.agents[3].my_height == (1, 1, 3)
    assert [type(message) for message in stage.channels[3, 1]] == [LinkInfo, Request]

    stage.note("(d) node 1 has heard of it, queued 3 and raised its height")
    stage.deliver(3, 1)
    stage.deliver(3, 1)
    stage.script.append(snapshot(stage))
    assert stage.agents[1].my_height == (1, 0, 1)
    assert stage.agents[1].queue == [3]

    stage.note("(e) node 2 has queued 1 and sent nothing: its link to next is intact")
    stage.deliver(1, 2)
    stage.deliver(1, 2)
    stage.script.append(snapshot(stage))
    assert stage.agents[2].queue == [2, 1]
    assert stage.agents[2].my_height == before
    assert not stage.channels[2, 0]

    stage.note("and everybody is served")
    while stage.inside:
        stage.release(min(stage.inside))
        stage.deliver_all()
    stage.script.append(snapshot(stage))
    assert stage.entries == 3
    golden("rl_figure_4.txt", "\n".join(stage.script) + "\n")


def test_a_long_mobile_run_line_by_line(golden):
    """Every input and output of a random mobile run on six nodes: any change of behaviour shows as a diff."""
    rng = Random(5)
    stage, graph = random_stage(rng, 6)
    play(stage, graph, rng, 160)
    stage.script.append(snapshot(stage))
    golden("rl_mobile_run.txt", "\n".join(stage.script) + "\n")


# -- section 4.1 and 4.2: the data structures and the overview ---------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_initial_heights_lead_to_node_0(seed):
    """Section 4.1: node 0 has height (0, 0, 0) and the token; every other node has a way down to it."""
    graph = random_connected(20, 30, Random(seed))
    starts = ReverseLink.initial(graph.adjacency(), None)
    assert starts[0].height == (0, 0, 0)
    assert [start.holds_token for start in starts] == [True] + [False] * 19
    for start in starts[1:]:
        assert min(start.neighbours) < start.height
    agents = [ReverseLink(i, start) for i, start in enumerate(starts)]
    assert agents[0].next == 0
    check_quiet(Stage(agents, graph.links()))


def test_heights_are_compared_lexicographically():
    """Section 4.1: (2, 3, 1) > (2, 2, 2), so the link leads from 1 to 2."""
    agent = node((2, 3), [(2, 2, 2)], i=1)
    assert not agent.is_sink()
    assert agent.next == 2


def test_a_holder_that_asks_enters_at_once():
    """4.2, requesting: "If node i does hold the token, i can set status to CRITICAL and enter the CS"."""
    agent = node((0, 0), [(0, 1, 1)], holds=True)
    agent.on_request(ONE_UNIT)
    assert outputs(agent) == [("enter", None, None)]
    assert agent.status is Status.CRITICAL
    assert agent.units == 1


def test_a_request_goes_to_the_lowest_neighbour():
    """4.2, ForwardRequest: "Selects node i's lowest height neighbor to be next"."""
    agent = node((0, 3), [(0, 2, 1), (0, 1, 2), (0, 1, 7)])
    agent.on_request(ONE_UNIT)
    assert sends(agent) == [(2, Request((0, 3, 5)))]
    assert agent.next == 2


def test_later_requests_ride_on_the_first():
    """4.2, requesting: only a node with a single element on its queue forwards."""
    agent = node((0, 3), [(0, 2, 1), (0, 4, 2)])
    agent.on_receive(2, Request((0, 4, 2)))
    assert sends(agent) == [(1, Request((0, 3, 5)))]
    agent.on_request(ONE_UNIT)
    assert sends(agent) == []
    assert agent.queue == [2, 5]


def test_enqueue_only_if_not_already_there():
    """4.1: Enqueue() "enqueues an item only if it is not already on Q"."""
    agent = node((0, 3), [(0, 2, 1), (0, 4, 2)])
    for _ in range(2):
        agent.on_receive(2, Request((0, 4, 2)))
    assert agent.queue == [2]


def test_release_passes_the_token_and_asks_for_it_back():
    """4.2, GiveTokenToNext: a Token to the head of Q and, if Q is not empty then, a Request after it."""
    agent = node((0, 0), [(0, 1, 1), (0, 1, 2)], holds=True)
    agent.on_request(ONE_UNIT)
    agent.on_receive(1, Request((0, 1, 1)))
    agent.on_receive(2, Request((0, 1, 2)))
    outputs(agent)
    agent.on_release()
    assert sends(agent) == [(1, Token((0, 0, 5))), (1, Request((0, 0, 5)))]
    assert agent.status is Status.REMAINDER
    assert (agent.token_holder, agent.next, agent.queue) == (False, 1, [2])
    assert agent.height[1] == (0, -1, 1), "lowered, so that requests follow the token"


def test_release_with_an_empty_queue_keeps_the_token():
    """4.3, release line 1."""
    agent = node((0, 0), [(0, 1, 1)], holds=True)
    agent.on_request(ONE_UNIT)
    agent.on_release()
    assert (agent.token_holder, agent.next) == (True, 5)


def test_an_idle_holder_gives_the_token_at_once():
    """4.2, Request messages: the holder in its REMAINDER section calls GiveTokenToNext."""
    agent = node((0, 0), [(0, 1, 1)], holds=True)
    agent.on_receive(1, Request((0, 1, 1)))
    assert sends(agent) == [(1, Token((0, 0, 5)))]
    assert agent.units == 0


def test_a_holder_in_its_cs_only_queues():
    """4.3, Request line 5: nothing is given away from within the CS."""
    agent = node((0, 0), [(0, 1, 1)], holds=True)
    agent.on_request(ONE_UNIT)
    outputs(agent)
    agent.on_receive(1, Request((0, 1, 1)))
    assert outputs(agent) == []
    assert agent.queue == [1]


def test_a_request_is_ignored_until_the_token_is_known_to_have_arrived():
    """4.2, Request messages: "i ignores the Request if receivedLI[j] is false"; Case 1.1 of Lemma 4."""
    agent = node((0, 0), [(0, 1, 1)], holds=True)
    agent.on_receive(1, Request((0, 1, 1)))
    outputs(agent)
    agent.on_receive(1, Request((0, 1, 1)))
    assert (agent.queue, agent.height[1]) == ([], (0, -1, 1))
    agent.on_receive(1, LinkInfo((0, 7, 1)))
    assert agent.height[1] == (0, -1, 1), "heights from before the token are not recorded"
    agent.on_receive(1, LinkInfo((0, -1, 1)))
    agent.on_receive(1, LinkInfo((2, 0, 1)))
    assert agent.height[1] == (2, 0, 1), "after the expected height, they are"


def test_a_request_from_below_is_not_queued():
    """4.3, Request line 3: only requests over incoming links are queued."""
    agent = node((0, 3), [(0, 2, 1), (0, 1, 2)])
    agent.on_receive(1, Request((0, 2, 1)))
    assert agent.queue == []
    assert sends(agent) == []


def test_the_token_lowers_its_receiver_and_tells_those_below():
    """4.2, Token messages: LinkInfo to all outgoing neighbours and to j, with the new height."""
    agent = node((0, 3), [(0, 2, 1), (0, 1, 2), (0, 4, 7)])
    agent.on_request(ONE_UNIT)
    outputs(agent)
    agent.on_receive(2, Token((0, 1, 2)))
    info = LinkInfo((0, 0, 5))
    assert outputs(agent) == [("send", 1, info), ("send", 2, info), ("enter", None, None)]
    assert agent.my_height == (0, 0, 5)


def test_the_token_is_acknowledged_even_to_a_sender_above():
    """4.3, Token line 3: "and to j", outgoing or not."""
    agent = node((0, 1), [(0, 2, 1), (0, 0, 2)])
    agent.on_receive(1, Token((0, 2, 1)))
    assert (1, LinkInfo((0, 1, 5))) in sends(agent)


def test_a_token_nobody_waits_for_is_kept():
    """4.3, Token line 6: next := i."""
    agent = node((0, 3), [(0, 2, 1)])
    agent.on_receive(1, Token((0, 2, 1)))
    assert (agent.token_holder, agent.next, agent.units) == (True, 5, 1)


def test_link_info_strikes_a_requester_that_is_now_below():
    """4.2, LinkInfo messages: "If j is an element of Q and j is an outgoing link, then j is deleted from Q"."""
    agent = node((0, 3), [(0, 2, 1), (0, 4, 2)])
    agent.on_receive(2, Request((0, 4, 2)))
    outputs(agent)
    agent.on_receive(2, LinkInfo((0, 0, 2)))
    assert agent.queue == []


def test_link_info_keeps_a_requester_that_is_still_above():
    """4.3, LinkInfo line 7: only if my height is greater."""
    agent = node((0, 3), [(0, 2, 1), (0, 4, 2)])
    agent.on_receive(2, Request((0, 4, 2)))
    agent.on_receive(2, LinkInfo((0, 9, 2)))
    assert agent.queue == [2]


def test_a_reversed_link_to_next_reroutes_the_request():
    """4.2, LinkInfo messages: "if Q is non-empty, and the link to next has reversed, i calls ForwardRequest()"."""
    agent = node((0, 3), [(0, 1, 1), (0, 2, 2)])
    agent.on_request(ONE_UNIT)
    outputs(agent)
    agent.on_receive(1, LinkInfo((1, 0, 1)))
    assert sends(agent) == [(2, Request((0, 3, 5)))]
    assert agent.next == 2


def test_link_info_without_a_queue_sends_nothing():
    """4.3, LinkInfo line 9: nothing to reroute."""
    agent = node((0, 3), [(0, 1, 1), (0, 2, 2)])
    agent.on_receive(1, LinkInfo((1, 0, 1)))
    assert sends(agent) == []


def test_a_request_over_a_reversed_link_reroutes():
    """4.3, Request line 8: (|Q| > 0) and (myHeight < height[next])."""
    agent = node((0, 3), [(0, 1, 1), (0, 2, 2)])
    agent.on_request(ONE_UNIT)
    outputs(agent)
    agent.on_receive(1, Request((1, 0, 1)))
    assert agent.queue == [5, 1]
    assert sends(agent) == [(2, Request((0, 3, 5)))]


def test_a_request_that_takes_the_last_way_out_raises_the_height():
    """4.3, Request line 7."""
    agent = node((0, 3), [(0, 1, 1), (0, 4, 2)])
    agent.on_receive(1, Request((1, 0, 1)))
    assert agent.my_height == (1, -1, 5)
    assert sends(agent) == [(1, LinkInfo((1, -1, 5))), (2, LinkInfo((1, -1, 5))), (2, Request((1, -1, 5)))]
    assert agent.queue == [1]


def test_a_sink_raises_its_height_above_its_lowest_neighbours():
    """4.3, RaiseHeight lines 1-3: h1 is one more than the least around; h2 is below those that share it."""
    assert raised((0, 5, 9), {1: (0, 7, 1), 2: (1, 4, 2), 3: (1, 2, 3)}) == (1, 1, 9)
    assert raised((0, 5, 9), {1: (3, 7, 1), 2: (4, 4, 2)}) == (4, 3, 9)
    assert raised((0, 5, 9), {1: (0, 7, 1)}) == (1, 5, 9), "no neighbour shares the new h1: h2 stays"


def test_raise_height_strikes_those_now_below_and_asks_again():
    """4.3, RaiseHeight lines 5-6."""
    agent = node((0, 3), [(0, 1, 1), (0, 4, 2), (1, 1, 3)])
    agent.on_receive(2, Request((0, 4, 2)))
    agent.on_receive(3, Request((1, 1, 3)))
    outputs(agent)
    agent.on_link_down(1)
    assert agent.my_height == (1, 0, 5)
    assert agent.queue == [3], "2 is below now and will hear of it; 3 is still above"
    info = LinkInfo((1, 0, 5))
    assert sends(agent) == [(2, info), (3, info), (2, Request((1, 0, 5)))]


def test_the_holder_never_raises_its_height():
    """Definition 3: a token holder is no sink."""
    agent = node((0, 0), [(0, 1, 1), (0, 1, 2)], holds=True)
    agent.on_link_down(1)
    agent.on_receive(2, LinkInfo((3, 3, 2)))
    assert sends(agent) == []
    assert agent.my_height == (0, 0, 5)


def test_link_failure_forgets_the_neighbour():
    """4.3, link failure lines 1-3."""
    agent = node((0, 0), [(0, 1, 1), (0, 1, 2)], holds=True)
    agent.on_receive(1, Request((0, 1, 1)))
    outputs(agent)
    agent.on_link_down(1)
    assert 1 not in agent.height
    assert agent.awaiting_info == {}
    agent = node((0, 0), [(0, 1, 1)], holds=True)
    agent.on_request(ONE_UNIT)
    agent.on_receive(1, Request((0, 1, 1)))
    agent.on_link_down(1)
    assert agent.queue == []


def test_failure_of_the_link_to_next_reroutes():
    """4.3, link failure line 6."""
    agent = node((0, 3), [(0, 1, 1), (0, 2, 2)])
    agent.on_request(ONE_UNIT)
    outputs(agent)
    agent.on_link_down(1)
    assert sends(agent) == [(2, Request((0, 3, 5)))]


def test_failure_of_another_link_changes_nothing():
    """Figure 4(b): "Node 2 takes no action", its link to next is intact."""
    agent = node((0, 3), [(0, 1, 1), (0, 2, 2)])
    agent.on_request(ONE_UNIT)
    outputs(agent)
    agent.on_link_down(2)
    assert sends(agent) == []


def test_link_formation_tells_the_height_twice_if_it_changed():
    """4.2, link formation, and LinkInfo lines 1-4: heights that changed while the link formed are sent again."""
    agent = node((0, 3), [(0, 1, 1)])
    agent.on_link_up(7)
    assert sends(agent) == [(7, LinkInfo((0, 3, 5)))]
    assert 7 not in agent.height, "7 joins N with its first LinkInfo"
    agent.on_receive(1, Token((0, 1, 1)))
    outputs(agent)
    agent.on_receive(7, LinkInfo((0, 8, 7)))
    assert sends(agent) == [(7, LinkInfo((0, 0, 5)))]
    assert agent.height[7] == (0, 8, 7)
    agent.on_receive(7, LinkInfo((0, 9, 7)))
    assert sends(agent) == [], "only the first LinkInfo finds the link forming"


def test_link_formation_with_an_unchanged_height_says_it_once():
    """4.3, LinkInfo line 2."""
    agent = node((0, 3), [(0, 1, 1)])
    agent.on_link_up(7)
    outputs(agent)
    agent.on_receive(7, LinkInfo((0, 8, 7)))
    assert sends(agent) == []


# -- section 3 and 5: the conditions on executions ---------------------------------------------------------------------


def test_the_application_must_alternate():
    """Section 3: RequestCS only after ReleaseCS, ReleaseCS only after EnterCS; a refused event changes nothing."""
    agent = node((0, 3), [(0, 1, 1)])
    before = agent.state()
    with pytest.raises(MisuseError, match="release while REMAINDER"):
        agent.on_release()
    assert agent.state() == before
    agent.on_request(ONE_UNIT)
    before = agent.state()
    with pytest.raises(MisuseError, match="request while WAITING"):
        agent.on_request(ONE_UNIT)
    assert agent.state() == before


def test_a_foreign_message_is_refused():
    """A message of another algorithm changes nothing."""
    agent = node((0, 3), [(0, 1, 1)])
    before = agent.state()
    with pytest.raises(PeerError, match="unexpected Message from node 1"):
        agent.on_receive(1, Message())
    assert agent.state() == before


def test_only_the_token_carries_a_unit():
    """Theorem 1 rests on one token."""
    height = (0, 0, 0)
    assert [message(height).units for message in (Request, Token, LinkInfo)] == [0, 1, 0]


def test_no_height_is_raised_in_a_static_network():
    """Section 6.2: without link changes the token's own moves keep the DAG token oriented."""
    rng = Random(3)
    stage, _ = random_stage(rng, 12)
    for _ in range(60):
        idle = [i for i, agent in stage.agents.items() if agent.status is Status.REMAINDER]
        if idle and rng.random() < 0.5:
            stage.request(rng.choice(idle))
        stage.deliver_all(rng)
        if stage.inside:
            stage.release(min(stage.inside))
    assert stage.entries > 20
    assert {agent.my_height[0] for agent in stage.agents.values()} == {0}


def test_the_dag_is_token_oriented_iff_there_is_no_sink():
    """Lemma 1, both directions, on the figures' network."""
    stage = figure_stage()
    check_quiet(stage)
    lonely = stage.agents[3]
    lonely.height = {1: stage.agents[1].my_height}
    assert is_lowest(lonely.my_height, lonely.height)
    with pytest.raises(AssertionError, match="node 3 is a sink"):
        check_quiet(stage)


def test_heights_by_distance_mark_what_cannot_be_reached():
    """A node with no way to the root starts above all others."""
    assert by_distance({0: (1,), 1: (0,), 2: ()}, 0) == [(0, 0, 0), (0, 1, 1), (0, 3, 2)]


def test_a_blank_node_joins_like_a_new_one():
    """A node that comes back empty learns its neighbours by LinkInfo and is raised until it has a way out."""
    agent = ReverseLink(5, ReverseLink.blank(5, None, None))
    agent.on_request(ONE_UNIT)
    assert sends(agent) == [], "no neighbour to ask yet"
    agent.on_link_up(1)
    outputs(agent)
    agent.on_receive(1, LinkInfo((2, 4, 1)))
    assert agent.my_height == (3, 0, 5)
    assert sends(agent) == [(1, LinkInfo((3, 0, 5))), (1, Request((3, 0, 5)))]


def test_enter_is_an_output_of_its_own():
    """The driver tells an entry from a message by the operation alone."""
    agent = node((0, 0), [], holds=True)
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Enter()]
