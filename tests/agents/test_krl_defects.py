"""What the printed pseudocode of KRL does, for each deviation in the agent's docstring."""

from collections.abc import Callable

import pytest

from agents.contract import ONE_UNIT
from agents.errors import PeerError
from agents.heights import lowered
from agents.krl import Initial, KParameters, KReverseLink
from agents.krlf import KReverseLinkForwarding
from agents.krlf_adaptive import AdaptiveParameters, KReverseLinkAdaptive
from agents.krlf_adaptive import Token as AdaptiveToken
from agents.outputs import Send
from agents.rl import LinkInfo, Request, Token
from testbed.runtime.breach import AgentError
from tests.agents.k_stage import play
from tests.agents.krl_variants import (
    AskingHolder,
    CrossingTokens,
    EmptyNeighbourhood,
    HighAcknowledgement,
    KeptNext,
    LostAcknowledgement,
    ReturningNext,
    SilentAcknowledgement,
    StaleNext,
    UnguardedRelease,
)
from tests.agents.random_runs import run_once
from tests.agents.rl_variants import registered
from tests.agents.stage import Stage

SEED, K = 16, {"name": "krl", "k": 1}
OVER_NOTHING = (
    r"min\(\) (arg is an empty sequence|iterable argument is empty)"  # as Python 3.11, and later ones, say it
)


def node(agent: type[KReverseLink], height, neighbours, tokens: int) -> KReverseLink:
    """Node 5 among neighbours given as (h1, h2, id)."""
    return agent(5, Initial((*height, 5), tuple(neighbours), tokens))


def test_deviation_1_a_minimum_over_nothing():
    """A node whose last link fails while another forms."""
    with registered(EmptyNeighbourhood, "krl"), pytest.raises(AgentError, match=OVER_NOTHING):
        run_once(SEED, algorithm=K)
    assert not run_once(SEED, algorithm=K).failures


def test_deviation_1_a_holder_without_neighbours():
    """Its last link fails, and it leaves its critical section: as printed, LowerHeight takes a maximum over nothing."""
    one = node(KReverseLink, (0, 0), [(0, 1, 1)], tokens=1)
    one.on_request(ONE_UNIT)
    one.take_outputs()
    one.on_link_down(1)
    one.on_release()
    assert (one.tokens, one.my_height, one.take_outputs()) == (1, (0, 0, 5), [])
    with pytest.raises(ValueError, match=r"max\(\)"):
        lowered(one.my_height, one.height)


def test_deviation_2_a_next_that_has_left():
    """Compared by the height it had, a `next` that has left is never replaced."""
    with registered(StaleNext, "krl"):
        assert list(run_once(SEED, algorithm=K).failures) == ["starvation", "progress"]


def test_deviation_3_a_next_that_returns():
    """The first neighbour to come back is the old `next`, which was never asked."""
    with pytest.raises(AssertionError, match="starved"):
        play(201, ReturningNext)
    play(201)


def test_deviation_4_a_release_without_a_token():
    """Section 4.2: in a static network no node will have to raise its height. As printed, some do."""

    def raises_heights(agent: type[KReverseLink]) -> bool:
        return any(one.my_height[0] > 0 for seed in range(60) for one in play(seed, agent, static=True).agents.values())

    assert raises_heights(UnguardedRelease)
    assert not raises_heights(KReverseLink)


@pytest.mark.parametrize(("agent", "heard"), [(KReverseLink, True), (CrossingTokens, False)])
def test_deviation_5_tokens_that_cross(agent, heard):
    """Node 5 sends 1 a token while 1 sends it one. The acknowledgement must open the link for requests again."""
    one = node(agent, (0, 0), [(0, 1, 1)], tokens=1)
    one.on_receive(1, Request((0, 1, 1)))
    one.on_receive(1, Token((0, 1, 1)))
    one.on_receive(1, LinkInfo((0, -1, 1)))
    one.take_outputs()
    one.on_receive(1, Request((0, 7, 1)))
    assert any(isinstance(out, Send) and isinstance(out.message, Token) for out in one.take_outputs()) is heard


@pytest.mark.parametrize(("agent", "lowered"), [(KReverseLink, (-1, 0, 5)), (LostAcknowledgement, (0, 0, 5))])
def test_deviation_5_what_an_acknowledgement_says_after_tokens_have_crossed(agent, lowered):
    """Node 1 says that it is below, and no more is heard of it: node 5 holds a token and has no neighbour above it."""
    one = node(agent, (0, 0), [(0, 1, 1)], tokens=1)
    one.on_receive(1, Request((0, 1, 1)))
    one.on_receive(1, Token((0, 1, 1)))
    one.on_receive(1, LinkInfo((0, -1, 1)))
    assert one.my_height == lowered


def test_deviation_6_an_acknowledgement_that_never_comes():
    """As printed, a node that is low already does not acknowledge a token."""
    with pytest.raises(AssertionError, match="starved"):
        play(64, SilentAcknowledgement)
    play(64)


@pytest.mark.parametrize(("agent", "asks"), [(KReverseLink, False), (AskingHolder, True)])
def test_deviation_7_a_holder_that_asks(agent, asks):
    """A holder in its critical section, with a request queued, hears of a height."""
    one = node(agent, (0, 0), [(0, 1, 1), (0, 2, 2)], tokens=1)
    one.on_request(ONE_UNIT)
    one.on_receive(1, Request((0, 1, 1)))
    one.take_outputs()
    one.on_receive(2, LinkInfo((0, 3, 2)))
    assert any(isinstance(out, Send) and isinstance(out.message, Request) for out in one.take_outputs()) is asks


@pytest.mark.parametrize(("agent", "next_"), [(KReverseLink, 5), (KeptNext, 1)])
def test_deviation_8_a_holder_points_at_itself(agent, next_):
    """With two tokens, one is passed on."""
    one = node(agent, (0, 0), [(0, 1, 1)], tokens=2)
    one.on_receive(1, Request((0, 1, 1)))
    assert (one.tokens, one.next) == (1, next_)


def tokens_passed_between_equals(agent: type[KReverseLinkAdaptive]) -> Stage:
    """Node 5 at (0, -3) forwards a token to node 3, which is there too, and is then lowered by one; later it asks 3."""
    links = [(0, 1), (1, 2), (0, 5), (5, 6), (2, 4), (4, 7), (1, 8), (8, 9), (9, 3), (5, 10)]
    graph = {i: tuple(sorted({*(b for a, b in links if a == i), *(a for a, b in links if b == i)})) for i in range(11)}
    parameters = AdaptiveParameters(k=3, max_hops=2)
    starts = agent.initial(graph, parameters)
    stage = Stage([agent(i, starts[i], parameters) for i in range(11)], links)

    def then(do: Callable[..., None], *nodes: int) -> None:
        do(*nodes)
        stage.deliver_all()

    then(stage.request, 3)
    then(stage.release, 3)
    for node, other in ((5, 6), (4, 7)):  # each sees a load, so it forwards an idle token
        then(stage.request, node)
        then(stage.request, other)
        then(stage.release, node)
        then(stage.request, node)
        then(stage.release, other)
    then(stage.link_up, 3, 5)
    then(stage.release, 5)
    then(stage.link_up, 4, 5)
    then(stage.release, 4)
    then(stage.request, 10)
    then(stage.release, 10)
    then(stage.link_up, 7, 10)
    then(stage.link_down, 5, 10)
    then(stage.request, 5)
    return stage


def test_deviation_9_a_node_that_says_it_is_lower_than_it_is():
    """Both ends take the link for outgoing: the request is dropped, and never repeated. A run of krlf-adaptive."""
    starved = tokens_passed_between_equals(HighAcknowledgement)
    assert (starved.waiting(), starved.busy(), starved.agents[3].units) == ([5], [], 2)
    assert tokens_passed_between_equals(KReverseLinkAdaptive).inside == {5}


def test_deviation_10_holders_among_holders():
    """Node 0 borders on node 1 only, which holds a token as well."""
    starts = KReverseLink.initial({0: (1,), 1: (0, 2), 2: (1,)}, KParameters(k=2))
    assert [start.height for start in starts] == [(0, -1, 0), (0, 0, 1), (0, 1, 2)]


@pytest.mark.parametrize("kind", [Request, Token, LinkInfo])
@pytest.mark.parametrize("agent", [KReverseLink, KReverseLinkForwarding, KReverseLinkAdaptive])
def test_deviation_11_a_message_from_a_stranger(agent, kind):
    """A node that is neither a neighbour nor forming a link is refused, and nothing changes."""
    kind = AdaptiveToken if kind is Token and agent is KReverseLinkAdaptive else kind
    message = kind((0, 9, 7), 1) if kind is AdaptiveToken else kind((0, 9, 7))
    one = node(agent, (0, 0), [(0, 1, 1)], tokens=0)
    before = one.state()
    with pytest.raises(PeerError, match=f"node 5: unexpected {kind.__name__} from node 7"):
        one.on_receive(7, message)
    assert one.state() == before


@pytest.mark.parametrize("kind", [Request, Token, LinkInfo])
def test_deviation_12_a_link_that_fails_while_it_forms(kind):
    """A message of a link that is gone is refused; the link may form again."""
    one = node(KReverseLink, (0, 0), [(0, 1, 1)], tokens=0)
    one.on_link_up(7)
    one.on_link_down(7)
    with pytest.raises(PeerError):
        one.on_receive(7, kind((0, 9, 7)))
    one.on_link_up(7)
    one.on_receive(7, LinkInfo((0, 9, 7)))
    assert (one.height[7], one.forming) == ((0, 9, 7), {})
