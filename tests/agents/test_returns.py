"""Links that fail with messages in transit: what carries units comes back, and no node starves because of it."""

from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agents.contract import ONE_UNIT, Needs, Status
from agents.krl import KParameters
from agents.krlf_adaptive import AdaptiveParameters
from agents.outputs import Send
from agents.pacing import PacedParameters
from agents.registry import ALGORITHMS
from agents.rl import Initial, LinkInfo, Request, ReverseLink, Token
from testbed.network.graph import random_connected
from tests.agents.stage import Stage

OVER_LINKS = [name for name, agent in ALGORITHMS.items() if agent.needs is Needs.LINKS]


def play(seed: int, name: str) -> Stage:
    """Random requests, releases, deliveries and links that break or form; then no more changes."""
    rng = Random(seed)
    nodes = rng.randint(2, 8)
    k = 1 if name == "rl" else rng.randint(1, nodes - 1)
    parameters = PacedParameters() if name == "rl" else AdaptiveParameters(k) if "adapt" in name else KParameters(k)
    graph = random_connected(nodes, rng.randint(nodes - 1, nodes * (nodes - 1) // 2), rng)
    starts = ALGORITHMS[name].initial(graph.adjacency(), parameters)
    stage = Stage([ALGORITHMS[name](node, starts[node]) for node in range(nodes)], graph.links())
    for _ in range(rng.randint(0, 300)):
        choice = rng.random()
        idle = [node for node, one in stage.agents.items() if one.status is Status.REMAINDER]
        if choice < 0.15 and idle:
            stage.request(rng.choice(idle))
        elif choice < 0.3 and stage.inside:
            stage.release(rng.choice(sorted(stage.inside)))
        elif choice < 0.38:
            breakable = [link for link in graph.links() if not graph.is_bridge(*link)]
            if breakable:
                link = rng.choice(breakable)
                graph.remove(*link)
                stage.link_break(*link)
        elif choice < 0.45:
            new = graph.draw_absent(rng, lambda a, b: True)
            if new:
                graph.add(*new)
                stage.link_up(*new)
        elif stage.busy():
            stage.deliver(*rng.choice(stage.busy()))
        assert stage.units() == k
        assert len(stage.inside) <= k
    _settle(stage, rng)
    return stage


def _settle(stage: Stage, rng: Random, limit: int = 20_000) -> None:
    for _ in range(limit):
        if not stage.waiting() and not stage.inside:
            return
        busy = stage.busy()
        if stage.inside and (not busy or rng.random() < 0.1):
            stage.release(rng.choice(sorted(stage.inside)))
        elif busy:
            stage.deliver(*rng.choice(busy))
        else:
            return


@pytest.mark.parametrize("name", OVER_LINKS)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(seed=st.integers(0, 2**32))
@example(seed=0)
def test_any_schedule_with_breaking_links(name, seed):
    """No token is lost or doubled, and every request is served once links stay."""
    assert play(seed, name).waiting() == []


def test_a_returned_token_puts_the_node_below_its_neighbours():
    """As if its lowest neighbour had just sent it: those that were lower are told."""
    agent = ReverseLink(5, Initial((0, 3, 5), ((0, 1, 1), (0, 2, 2), (0, 9, 7)), False))
    agent.on_return(4, Token((0, 3, 5)))
    assert agent.token_holder
    assert agent.my_height == (0, 0, 5)
    assert agent.take_outputs() == [Send(1, LinkInfo((0, 0, 5))), Send(2, LinkInfo((0, 0, 5)))]
    assert agent.next == 5


def test_a_returned_token_goes_to_who_waits():
    """The head of the queue, be it the node itself."""
    agent = ReverseLink(5, Initial((0, 3, 5), ((0, 1, 1), (0, 9, 7)), False))
    agent.on_receive(7, Request((0, 9, 7)))
    agent.on_request(ONE_UNIT)
    agent.take_outputs()
    agent.on_return(4, Token((0, 3, 5)))
    sent = [(one.peer, one.message) for one in agent.take_outputs() if isinstance(one, Send)]
    assert (7, Token((0, 0, 5))) in sent
    assert not agent.token_holder


def test_a_lonely_node_keeps_a_returned_token():
    """It has no neighbour to come below."""
    agent = ReverseLink(5, Initial((0, 3, 5), (), False))
    agent.on_return(4, Token((0, 3, 5)))
    assert agent.token_holder
    assert agent.take_outputs() == []


@pytest.mark.parametrize("name", OVER_LINKS)
def test_other_returns_change_nothing(name):
    """A Request or LinkInfo that comes back is dropped: its link is gone, and who needs it asks anew."""
    parameters = ALGORITHMS[name].parameters()
    graph = {0: (1, 2), 1: (0, 2), 2: (0, 1, 3), 3: (2, 4), 4: (3,)}
    agent = ALGORITHMS[name].start(4, ALGORITHMS[name].initial(graph, parameters)[4], parameters, Random(0))
    before = agent.state()
    agent.on_return(9, Request((0, 9, 9)))
    agent.on_return(9, LinkInfo((0, 9, 9)))
    assert agent.state() == before
