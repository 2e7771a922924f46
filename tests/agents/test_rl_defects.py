"""The printed pseudocode of RL fails; the agent does not. A run or a case for each deviation in its docstring."""

from random import Random

import pytest

from agents.contract import ONE_UNIT
from agents.errors import PeerError
from agents.message import Message
from agents.outputs import Enter
from agents.rl import Initial, LinkInfo, Request, ReverseLink, Token
from testbed.runtime.breach import AgentError
from tests.agents.random_runs import run_once
from tests.agents.rl_stage import play, random_stage
from tests.agents.rl_variants import Literal, ReturningNext, StaleNext, registered

SEED = 1
STAGE = {"seed": 68840, "nodes": 4, "steps": 47}  # found by Hypothesis


def test_deviation_1_a_minimum_over_nothing():
    """As printed, a node whose last link fails while another forms takes a minimum over no neighbours."""
    with registered(Literal), pytest.raises(AgentError, match="on_link_down") as caught:
        run_once(SEED)
    assert isinstance(caught.value.__cause__, ValueError)


def test_deviation_2_a_next_that_has_left():
    """With an empty N treated as no sink, but `next` compared as printed, a node starves."""
    with registered(StaleNext):
        run = run_once(SEED)
    assert list(run.failures) == ["starvation", "progress"]
    assert "node 8 still waits since t=245.14" in run.failures["starvation"][0]


def play_stage(agent: type[ReverseLink]) -> None:
    rng = Random(STAGE["seed"])
    stage, graph = random_stage(rng, STAGE["nodes"], agent)
    play(stage, graph, rng, STAGE["steps"])


def test_deviation_3_a_next_that_returns():
    """With deviations 1 and 2 alone, a node whose old `next` is the first to come back never asks it, and starves."""
    with pytest.raises(AssertionError, match=r"starved: \[3\]"):
        play_stage(ReturningNext)
    play_stage(ReverseLink)


@pytest.mark.parametrize("message", [Request((0, 9, 7)), Token((0, 9, 7)), LinkInfo((0, 9, 7))])
def test_deviation_4_a_message_from_a_stranger(message: Message):
    """A node that is neither a neighbour nor forming a link is refused, and nothing changes."""
    agent = ReverseLink(5, Initial((0, 2, 5), ((0, 1, 1),), holds_token=False))
    before = agent.state()
    with pytest.raises(PeerError, match=f"node 5: unexpected {type(message).__name__} from node 7"):
        agent.on_receive(7, message)
    assert agent.state() == before
    agent.on_link_up(7)
    agent.on_receive(7, LinkInfo((0, 9, 7)))
    assert sorted(agent.height) == [1, 7]


@pytest.mark.parametrize("message", [Request((0, 9, 7)), Token((0, 9, 7)), LinkInfo((0, 9, 7))])
def test_deviation_5_a_link_that_fails_while_it_forms(message: Message):
    """A message of a link that is gone is refused; the link may form again."""
    agent = ReverseLink(5, Initial((0, 2, 5), ((0, 1, 1),), holds_token=False))
    agent.on_link_up(7)
    agent.on_link_down(7)
    with pytest.raises(PeerError):
        agent.on_receive(7, message)
    agent.on_link_up(7)
    agent.on_receive(7, LinkInfo((0, 9, 7)))
    assert (agent.height[7], agent.forming) == ((0, 9, 7), {})


def test_a_holder_without_neighbours_keeps_the_token():
    """It enters when its own application asks, and says nothing until a link forms."""
    agent = ReverseLink(5, Initial((0, 0, 5), ((0, 1, 1),), holds_token=True))
    agent.on_link_down(1)
    assert (agent.units, agent.take_outputs()) == (1, [])
    agent.on_request(ONE_UNIT)
    agent.on_release()
    assert (agent.units, agent.my_height, agent.take_outputs()) == (1, (0, 0, 5), [Enter()])


def test_the_deviations_mend_the_run():
    """The same seed with the agent as it is."""
    assert run_once(SEED).failures == {}
