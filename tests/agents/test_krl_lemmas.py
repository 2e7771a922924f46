"""KRL and KRLF: what section 4.1 says of every configuration, checked in random runs (Walter, Cao, Mohanty 2001)."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.contract import Status
from agents.heights import is_highest
from agents.krl import Initial, KReverseLink
from agents.krlf import KReverseLinkForwarding
from agents.outputs import Send
from agents.rl import LinkInfo, Request, Token
from testbed.network.graph import Graph
from tests.agents.k_stage import (
    WatchedStage,
    check_acyclic,
    check_always,
    check_ways,
    deliver_others,
    downhill,
    random_k_stage,
)
from tests.agents.rl_stage import change_link
from tests.agents.stage import Stage

any_run = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
seeds = given(seed=st.integers(0, 2**32))
both = pytest.mark.parametrize("agent", [KReverseLink, KReverseLinkForwarding])


def watched_stage(seed: int, agent: type[KReverseLink]) -> tuple[WatchedStage, Graph, Random, int]:
    """A random network with k tokens, in which a check can be made after every event."""
    stage, graph, rng, k = random_k_stage(seed, agent)
    return WatchedStage(stage.agents.values(), stage.links()), graph, rng, k


def play(stage: Stage, rng: Random, steps: int, graph: Graph | None = None) -> Iterator[None]:
    """Random requests, releases and deliveries, and link changes if there is a graph; yields after each."""
    for _ in range(steps):
        choice = rng.random()
        idle = [node for node, one in stage.agents.items() if one.status is Status.REMAINDER]
        if choice < 0.15 and idle:
            stage.request(rng.choice(idle))
        elif choice < 0.30 and stage.inside:
            stage.release(rng.choice(sorted(stage.inside)))
        elif choice < 0.45 and graph is not None:
            change_link(stage, graph, rng)
        elif stage.busy():
            stage.deliver(*rng.choice(stage.busy()))
        yield


def check_every_event(seed: int, agent: type[KReverseLink], check) -> None:
    """A random mobile run, with a check of every node after every event."""
    stage, graph, rng, k = watched_stage(seed, agent)

    def check_all() -> None:
        for node, one in stage.agents.items():
            check(node, one)

    check_all()
    stage.check = check_all
    for _ in play(stage, rng, rng.randint(0, 300), graph):
        check_always(stage, k)


@any_run
@seeds
def test_initial_configuration(seed):
    """4.1: "the directed links form a DAG in which every non-token holder has a directed path to some token holder and
    every token holder has at least one incoming link"."""
    stage, _, _, _ = random_k_stage(seed)
    check_ways(stage)
    check_acyclic(downhill(stage))
    for agent in stage.agents.values():
        assert not agent.units or max(agent.height.values()) > agent.my_height


@both
@any_run
@seeds
def test_non_holders_have_a_lower_neighbour(agent, seed):
    """4.1: "Non-token holding nodes must ensure that they have at least one "lower" neighbor at all times".

    A node without any neighbour cannot (deviation 1).
    """

    def check(node: int, one: KReverseLink) -> None:
        has_lower = any(height < one.my_height for height in one.height.values())
        assert one.token_count or has_lower or not one.height, f"node {node} is a sink"

    check_every_event(seed, agent, check)


@both
@any_run
@seeds
def test_holders_have_a_higher_neighbour(agent, seed):
    """4.1: "Token holders must ensure that they have at least one "higher" neighbor at all times".

    Not so as printed while a holder that has passed on another token waits for the acknowledgement: line 6 of
    GiveTokenToNext lowers height[next], and the height is compared only when the LinkInfo comes (`test_holders_wait`).
    """

    def check(node: int, one: KReverseLink) -> None:
        is_above_all = is_highest(one.my_height, one.height)
        assert not one.token_count or not is_above_all or one.awaiting_info, f"no request can reach node {node}"

    check_every_event(seed, agent, check)


def test_holders_wait():
    """A holder of two tokens gives one to its only higher neighbour, and lowers its height when that says so."""
    agent = KReverseLink(5, Initial((0, 0, 5), ((0, 1, 1), (0, -4, 2)), 2))
    agent.on_receive(1, Request((0, 1, 1)))
    assert (agent.units, agent.my_height) == (1, (0, 0, 5))
    assert is_highest(agent.my_height, agent.height)
    agent.on_receive(1, LinkInfo((0, -1, 1)))
    assert agent.my_height == (-1, 0, 5)
    assert not is_highest(agent.my_height, agent.height)


class Received(KReverseLink):
    """Compares its height with that of the sender of each token."""

    def on_token(self, j: int, message: Token) -> None:
        super().on_token(j, message)
        assert self.my_height < message.height


class ReceivedForwarding(KReverseLinkForwarding, Received):
    """The same for KRLF."""


@pytest.mark.parametrize("agent", [Received, ReceivedForwarding])
@any_run
@seeds
def test_the_receiver_of_a_token_is_below_its_sender(agent, seed):
    """4.1: each recipient modifies its height "if necessary each time it receives a Token message so that its height is
    lower than the height of the node that sent the Token message"."""
    check_every_event(seed, agent, lambda node, one: None)


def test_requests_are_queued_in_the_order_of_arrival():
    """4.1: "enqueue the identifiers of those neighbors on Q_i in the order in which the Requests were received"."""
    agent = KReverseLink(5, Initial((0, 3, 5), ((0, 1, 1), (0, 4, 2), (0, 5, 3), (0, 6, 7)), 0))
    for peer in (7, 2, 3):
        agent.on_receive(peer, Request(agent.height[peer]))
    assert agent.queue == [7, 2, 3]
    assert [output.peer for output in agent.take_outputs() if isinstance(output, Send)] == [1], "the first is sent on"


@both
def test_a_raise_is_told_to_all_neighbours(agent):
    """4.1: "Each time a node raises its height, it sends LinkInfo messages to all its neighbors"."""
    one = agent(5, Initial((0, 3, 5), ((0, 1, 1), (0, 4, 2), (0, 5, 3)), 0))
    one.on_link_down(1)
    assert one.my_height == (1, 3, 5)
    assert [(out.peer, out.message) for out in one.take_outputs()] == [(k, LinkInfo((1, 3, 5))) for k in (2, 3)]


@any_run
@seeds
def test_ways_to_holders_once_changes_cease(seed):
    """Sections 2 and 5: "all non-token holding processors will always have a path to some token holding processor"; the
    DAG is token oriented once changes cease and what was sent has been delivered."""
    stage, graph, rng, k = watched_stage(seed, KReverseLink)
    for _ in play(stage, rng, rng.randint(0, 250), graph):
        pass
    for _ in range(5):
        stage.deliver_all(rng)
        check_ways(stage)
        check_acyclic(downhill(stage))
        check_always(stage, k)
        for _ in play(stage, rng, 30):
            pass


@any_run
@seeds
def test_ways_to_holders_between_moves_of_tokens(seed):
    """The same for KRLF, whose tokens never rest: links do not change, and all but tokens has been delivered.

    A node whose token is in transit from it is a holder, as in definition 1 of the RL paper.
    """
    stage, graph, rng, k = watched_stage(seed, KReverseLinkForwarding)
    for _ in play(stage, rng, rng.randint(0, 250), graph):
        pass
    for _ in range(5):
        deliver_others(stage, rng)
        check_ways(stage)
        check_always(stage, k)
        for _ in play(stage, rng, 30):
            pass


def test_a_missing_way_and_a_cycle_are_noticed():
    """The checks can fail."""
    stage, _, _, _ = random_k_stage(1)
    for agent in stage.agents.values():
        agent.token_count = 0
    with pytest.raises(AssertionError, match="no way to a token from"):
        check_ways(stage)
    with pytest.raises(AssertionError, match=r"a cycle among \[0, 1\]"):
        check_acyclic({0: [1], 1: [0], 2: []})
