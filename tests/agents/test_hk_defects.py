"""What the printed text of hk does, for each deviation in the agent's docstring."""

from itertools import pairwise

import pytest

from agents.contract import Demand
from agents.errors import PeerError
from agents.h_out_of_k import Claim
from agents.hk import Initial, Link, PrioritizedHOutOfK, PriorityParameters, Release, Request, Token, Update
from agents.hk_fifo import HOutOfK
from agents.hk_fifo import Request as FifoRequest
from agents.hk_fifo import Token as FifoToken
from agents.outputs import Send
from tests.agents.hk_stage import UnitStage, burst, complete, play, unit_stage
from tests.agents.hk_variants import (
    EmptyNeighbourhood,
    HurriedRelease,
    IgnoringHolder,
    KeepingHolder,
    LostRelease,
    LostRequest,
    LoweringUpdate,
    OverwrittenNext,
    ReturningNext,
    StaleNext,
    UnreportedOwnRequest,
    UnreportedRaise,
)

OVER_NOTHING = (
    r"min\(\) (arg is an empty sequence|iterable argument is empty)"  # as Python 3.11, and later ones, say it
)


def node(agent: type[PrioritizedHOutOfK], *, free: int | None = None, **parameters) -> PrioritizedHOutOfK:
    """Node 5 at (0, 2), between a lower node 1 and a higher node 7; with the token if `free` is given."""
    initial = Initial((0, 2, 5), ((0, 1, 1), (0, 3, 7)), free is not None, free or 0)
    return agent(5, initial, agent.parameters(**parameters))


def drained(stage: UnitStage) -> list[int]:
    """The nodes that still wait when all others have left."""
    stage.deliver_all()
    while stage.inside:
        stage.release(min(stage.inside))
        stage.deliver_all()
    return stage.waiting()


@pytest.mark.parametrize(("agent", "starved"), [(PrioritizedHOutOfK, []), (LostRequest, [0])])
def test_deviation_1_a_holder_that_waits_for_units(agent, starved):
    """Node 0 holds the token and waits for two of three units when a more urgent request takes the token away."""
    stage = unit_stage(complete(3), agent, k=3)
    stage.request(1, Demand(2))
    stage.deliver_all()
    stage.request(0, Demand(2))
    stage.deliver_all()
    assert stage.agents[0].tokens
    stage.request(2, Demand(1, priority=5))
    assert drained(stage) == starved


def test_deviation_1_a_holder_that_leaves():
    """As printed, a holder in its CS ignores requests, and when it leaves it only counts its units."""
    with pytest.raises(AssertionError, match="starved"):
        play(3, KeepingHolder, static=True)
    play(3, IgnoringHolder, static=True)
    play(3, static=True)


@pytest.mark.parametrize(("aging", "gained"), [("entry", 4), ("stamp", 0), ("exit", 0), ("none", 0)])
def test_deviation_2_entries_elsewhere(aging, gained):
    """The token comes and has counted four entries, while the request of node 7 waited here; test_hk_paper has more."""
    one = node(PrioritizedHOutOfK, k=2, aging=aging)
    one.on_request(Demand(2, priority=9))
    one.on_receive(7, Request((0, 3, 7), (3, -7)))
    one.on_receive(1, Token((0, 1, 1), 1, 4, None))
    assert one.queue == [Claim(5, (9 + gained, -5)), Claim(7, (3 + gained, -7))]


@pytest.mark.parametrize(("aging", "priority"), [("exit", 3), ("none", 2)])
def test_deviation_2_the_exit_of_the_node_itself(aging, priority):
    """Node 5 has passed the token on to 7; the request of 1 waits in its queue when it leaves."""
    initial = Initial((0, 0, 5), ((0, 1, 1), (0, 1, 7)), True, 2)
    one = PrioritizedHOutOfK(5, initial, PriorityParameters(k=2, aging=aging))
    one.on_request(Demand(1))
    one.on_receive(7, Request((0, 1, 7), (8, -7)))
    one.on_receive(1, Request((0, 1, 1), (2, -1)))
    one.take_outputs()
    one.on_release()
    assert one.queue == [Claim(1, (priority, -1))]
    updates = [Send(7, Update((0, 0, 5), (priority, -1)))] if aging == "exit" else []
    assert one.take_outputs() == [Send(7, Release((0, 0, 5), 1)), *updates]


def test_deviation_3_a_release_that_moves_next():
    """`next` must be the node that was asked."""
    with pytest.raises(AssertionError, match=r"starved: \[2\]"):
        play(33, OverwrittenNext)
    play(33)


def test_deviation_3_a_release_on_a_breaking_link():
    """Its units are lost, unless it is sent again."""
    with pytest.raises(AssertionError, match="0 units"):
        play(1, LostRelease, breaking=True)
    play(1, breaking=True)


def test_deviation_3_a_release_at_a_node_without_neighbours():
    """It waits for the LINK of the next neighbour that is lower."""
    with pytest.raises(ValueError, match=OVER_NOTHING):
        play(1, HurriedRelease, breaking=True)
    agent = PrioritizedHOutOfK(5, Initial((0, 2, 5), (), False, 0))
    agent.on_return(3, Release((0, 2, 5), 2))
    assert agent.units == 2
    agent.on_link_up(4)
    agent.on_receive(4, Link((0, 1, 4)))
    assert agent.take_outputs()[-1] == Send(4, Release((0, 2, 5), 2))
    assert agent.units == 0


@pytest.mark.parametrize("agent", [UnreportedOwnRequest, UnreportedRaise])
def test_deviation_4_what_is_not_reported(agent):
    """Of bursts that are known before the first entry, not all are then served in order of priority."""

    def in_order(agent: type[PrioritizedHOutOfK]) -> int:
        return sum(is_in_order(*burst(seed, agent, k=1, aging="none")) for seed in range(100))

    def is_in_order(stage, demands: dict[int, Demand]) -> bool:
        stage.run(until=5000)
        return all(demands[a].priority > demands[b].priority for a, b in pairwise(stage.order()[1:]))

    assert in_order(agent) < 90
    assert in_order(PrioritizedHOutOfK) == 100


@pytest.mark.parametrize(("agent", "priority"), [(PrioritizedHOutOfK, 6), (LoweringUpdate, 4)])
def test_deviation_4_an_update_that_would_lower(agent, priority):
    """Node 5 has aged the request of node 7 from 3 to 6 while it held the token, when 7 says that it is now 4."""
    one = node(agent, k=2)
    one.on_request(Demand(2, priority=9))
    one.on_receive(7, Request((0, 3, 7), (3, -7)))
    one.on_receive(1, Token((0, 1, 1), 1, 3, None))
    one.on_receive(7, Update((0, 3, 7), (4, -7)))
    assert one.queue == [Claim(5, (12, -5)), Claim(7, (priority, -7))]


@pytest.mark.parametrize(("agent", "inside"), [(PrioritizedHOutOfK, {0, 1}), (IgnoringHolder, {0})])
def test_deviation_5_a_holder_in_its_critical_section(agent, inside):
    """One of two units is free, and node 1 asks for it."""
    stage = unit_stage(complete(2), agent, k=2)
    stage.request(0)
    stage.request(1)
    stage.deliver_all()
    assert stage.inside == inside
    assert drained(stage) == []


def test_deviation_6_a_request_that_comes_after_its_token():
    """Node 1 serves its own less urgent request, as it cannot know yet what follows; carried, it does."""
    inside = {}
    for follow in ("message", "carried"):
        one = node(PrioritizedHOutOfK, k=1, follow=follow)
        one.on_request(Demand(1, priority=0))
        one.take_outputs()
        carried = (9, -3) if follow == "carried" else None
        one.on_receive(1, Token((0, 1, 1), 1, 0, carried))
        if carried is None:
            one.on_receive(1, Request((0, 1, 1), (9, -3)))
        inside[follow] = one.in_use
    assert inside == {"message": 1, "carried": 0}


def test_deviation_7_a_minimum_over_nothing():
    """A node whose last link fails while another forms."""
    with pytest.raises(ValueError, match=OVER_NOTHING):
        play(2, EmptyNeighbourhood)
    play(2)


def test_deviation_7_a_next_that_has_left():
    """Compared by the height it had, a `next` that has left is never replaced."""
    with pytest.raises(AssertionError, match=r"starved: \[1\]"):
        play(2, StaleNext)
    play(2)


def test_deviation_7_a_next_that_returns():
    """The first neighbour to come back is the old `next`, which was never asked."""
    with pytest.raises(AssertionError, match=r"starved: \[1\]"):
        play(3, ReturningNext)
    play(3)


HEIGHT = (0, 9, 6)
STRANGERS = [
    *(
        (PrioritizedHOutOfK, one)
        for one in (Token(HEIGHT, 1, 0, None), Request(HEIGHT, (0, 0)), Update(HEIGHT, (0, 0)))
    ),
    *((HOutOfK, one) for one in (FifoToken(HEIGHT, 1), FifoRequest(HEIGHT))),
    *((agent, one) for agent in (PrioritizedHOutOfK, HOutOfK) for one in (Release(HEIGHT, 1), Link(HEIGHT))),
]


@pytest.mark.parametrize(("agent", "message"), STRANGERS)
def test_deviation_7_a_message_from_a_stranger(agent, message):
    """A node that is neither a neighbour nor forming a link is refused, and nothing changes."""
    one = node(agent)
    before = one.state()
    with pytest.raises(PeerError, match=f"node 5: unexpected {type(message).__name__} from node 6"):
        one.on_receive(6, message)
    assert one.state() == before


@pytest.mark.parametrize("agent", [PrioritizedHOutOfK, HOutOfK])
def test_a_returned_token_is_held_again(agent):
    """As if the lowest neighbour had just sent it, with the units that wait here added to it."""
    one = node(agent, k=3)
    one.on_return(9, one.token(2, None))
    assert (one.tokens, one.units, one.next, one.my_height) == (1, 2, 5, (0, 0, 5))
    assert one.take_outputs() == [Send(1, Link((0, 0, 5))), Send(7, Link((0, 0, 5)))]
