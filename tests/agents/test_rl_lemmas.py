"""RL: the lemmas of section 5, checked in every configuration of random runs (Walter, Welch, Vaidya 2001)."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agents.contract import Status
from agents.message import Message
from agents.rl import LinkInfo, Request, ReverseLink, Token
from testbed.network.graph import Graph
from tests.agents.k_stage import WatchedStage
from tests.agents.rl_stage import change_link, check_always, check_quiet, random_stage
from tests.agents.stage import Stage

any_run = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
seeds = given(seed=st.integers(0, 2**32))


class Counting(ReverseLink):
    """Counts its calls of RaiseHeight()."""

    raises = 0

    def raise_height(self) -> None:
        self.raises += 1
        super().raise_height()


def watched_stage(seed: int) -> tuple[WatchedStage, Graph, Random]:
    """Two to eight nodes on a random connected graph."""
    rng = Random(seed)
    stage, graph = random_stage(rng, rng.randint(2, 8), Counting)
    return WatchedStage(stage.agents.values(), stage.links()), graph, rng


def play(stage: Stage, rng: Random, steps: int, graph: Graph | None = None) -> Iterator[None]:
    """Random requests, releases and deliveries, and link changes if there is a graph; yields after each."""
    for _ in range(steps):
        choice = rng.random()
        idle = [node for node, agent in stage.agents.items() if agent.status is Status.REMAINDER]
        if choice < 0.15 and idle:
            stage.request(rng.choice(idle))
        elif choice < 0.30 and stage.inside:
            stage.release(min(stage.inside))
        elif choice < 0.45 and graph is not None:
            change_link(stage, graph, rng)
        elif stage.busy():
            stage.deliver(*rng.choice(stage.busy()))
        yield


def play_until_changes_cease(seed: int) -> tuple[WatchedStage, Random]:
    """A mobile run after its last link change, with messages still in transit."""
    stage, graph, rng = watched_stage(seed)
    for _ in play(stage, rng, rng.randint(0, 200), graph):
        check_always(stage)
    return stage, rng


# -- definitions -------------------------------------------------------------------------------------------------------


def in_transit(stage: Stage, source: int, target: int, kind: type[Message]) -> list[Message]:
    """The messages of a kind from one node to another."""
    return [message for message in stage.channels.get((source, target), ()) if isinstance(message, kind)]


def is_token_holder(stage: Stage, node: int) -> bool:
    """Definition 1: "tokenHolder_i = true or if a Token message is in transit from node i to next_i"."""
    agent = stage.agents[node]
    return agent.token_holder or bool(in_transit(stage, node, agent.next, Token))


def is_told_of_a_rise(stage: Stage, node: int, peer: int) -> bool:
    """Whether a LinkInfo is in transit to the node that says that the peer is higher."""
    mine = stage.agents[node].my_height
    return any(message.height > mine for message in in_transit(stage, peer, node, LinkInfo))


def goes_on(stage: Stage, p: int, q: int) -> bool:
    """Definition 4: whether a request chain goes on from p to q, which is next_p."""
    one, other = stage.agents[p], stage.agents[q]
    is_outgoing = q in one.height and one.height[q] < one.my_height
    is_incoming = p in other.height and other.height[p] > other.my_height
    are_clear = not in_transit(stage, p, q, Request) and not in_transit(stage, q, p, Token)
    return bool(other.queue) and is_outgoing and is_incoming and are_clear


def request_chain(stage: Stage, node: int, *, corrected: bool = True) -> list[int]:
    """Definition 4: "the maximal length list of node identifiers p_1 = l, p_2, ..., p_j" along which it has propagated.

    Corrected: it does not go on from p to q while a LinkInfo tells p that q is higher (see Lemma 4).
    """
    chain = [node]
    while True:
        p = chain[-1]
        q = stage.agents[p].next
        if q == p or not goes_on(stage, p, q) or (corrected and is_told_of_a_rise(stage, p, q)):
            return chain
        assert q not in chain, f"{chain} comes back to {q}"
        chain.append(q)


def variant(stage: Stage, node: int) -> tuple[int, ...]:
    """V_l of Lemma 6: positions in the queues along l's request chain; n + 1 for a Request in transit at its end."""
    chain = request_chain(stage, node)
    queues = [stage.agents[p].queue for p in chain]
    entries = [1 + queue.index(asking) for asking, queue in zip([node, *chain], queues, strict=False)]
    last = chain[-1]
    moving = in_transit(stage, last, stage.agents[last].next, Request)
    return (*entries, len(stage.agents) + 1) if moving else tuple(entries)


# -- lemmas ------------------------------------------------------------------------------------------------------------


@any_run
@seeds
def test_claim_1_a_holder_never_raises_its_height_again(seed):
    """Claim 1: "No node that holds the token after the last link change ever calls RaiseHeight() subsequently"."""
    stage, rng = play_until_changes_cease(seed)
    raises: dict[int, int] = {}  # by nodes that have held the token

    def check() -> None:
        for node, agent in stage.agents.items():
            if agent.token_holder:
                raises.setdefault(node, agent.raises)
            assert agent.raises == raises.get(node, agent.raises), f"node {node} has raised its height"

    stage.check = check
    for _ in play(stage, rng, 300):
        pass
    assert raises


@any_run
@seeds
def test_lemma_2_raises_cease(seed):
    """Lemma 2: with "a finite number of link changes, there exists a finite number of calls to RaiseHeight()".

    What is sent when links change leads to raises; when it has been delivered there are no more, whatever is requested.
    """
    stage, rng = play_until_changes_cease(seed)
    stage.deliver_all(rng)
    raises = sum(agent.raises for agent in stage.agents.values())
    for _ in play(stage, rng, 200):
        assert sum(agent.raises for agent in stage.agents.values()) == raises
    stage.deliver_all(rng)
    check_quiet(stage)


def check_chains(stage: Stage) -> None:
    """Lemma 4(b) and (c), for every request chain."""
    for node, agent in stage.agents.items():
        if agent.queue:
            chain = request_chain(stage, node)
            for p, q in pairwise(chain):
                assert p in stage.agents[q].queue, f"(b): {p} is not in the queue of {q}"
            assert chain_ends_well(stage, chain[-1]), f"(c): the chain {chain}"


def chain_ends_well(stage: Stage, p: int) -> bool:
    """Lemma 4(c), and deviation 3: a node without neighbours, whose `next` is itself, asks when it has one."""
    agent = stage.agents[p]
    q = agent.next
    return (
        is_token_holder(stage, p)
        or any(in_transit(stage, other, p, Token) for other in stage.agents)
        or bool(in_transit(stage, p, q, Request))
        or is_told_of_a_rise(stage, p, q)
        or (q == p and not agent.height)
        or (q != p and p not in stage.agents[q].height)
    )


@any_run
@seeds
@example(seed=2478)
def test_lemma_4_request_chains(seed):
    """Lemma 4, "in every configuration: Let l be a node with a non-empty request queue", p_1 = l, ..., p_j its chain.

    "(a) l is in Q_l iff l is WAITING, (b) p_{i-1} is in Q_{p_i}, 1 < i <= j, and (c) either p_j is the token holder, or
    a Token message is in transit to p_j, or a Request message is in transit from p_j to next_{p_j}, or a LinkInfo
    message is in transit from next_{p_j} to p_j with next_{p_j} higher than p_j, or next_{p_j} sees the link to p_j as
    failed." Two corrections. Deviation 3 adds a case to (c). And by definition 4 a chain would go on from p to a node
    that has raised its height, dropped p's request, and got the token before p hears of the raise, which (b) denies
    (`test_lemma_4_as_printed`): here it ends at p.
    """
    stage, graph, rng = watched_stage(seed)

    def check() -> None:
        check_chains(stage)
        for node, agent in stage.agents.items():
            assert (node in agent.queue) == (agent.status is Status.WAITING), f"(a) at node {node}"

    stage.check = check
    for _ in play(stage, rng, rng.randint(0, 300), graph):
        pass


def test_lemma_4_as_printed():
    """Seed 2478 has a request chain, by definition 4, with a node that is not in the queue of the next: (b) fails.

    Node 4 is above 6 and drops its request; before 6 hears that 4 has risen, 4 gets the token, and 6 is above it again.
    """
    stage, graph, rng = watched_stage(2478)
    broken = set()

    def check() -> None:
        for node, agent in stage.agents.items():
            chain = request_chain(stage, node, corrected=False) if agent.queue else []
            for p, q in pairwise(chain):
                if p not in stage.agents[q].queue:
                    broken.add((p, q))
                    assert is_told_of_a_rise(stage, p, q), "so p will ask again"

    stage.check = check
    for _ in play(stage, rng, rng.randint(0, 200), graph):
        pass
    stage.deliver_all(rng)
    assert broken == {(6, 4)}


@any_run
@seeds
def test_lemma_5_request_chains_reach_the_holder(seed):
    """Lemma 5: "Once link changes and calls to RaiseHeight() cease, for every configuration in which a node l's request
    chain does not include the token holder, then there is a later configuration in which l's request chain does".

    The later one comes at the latest when all that is in transit has been delivered, even if the holder stays inside.
    """
    stage, rng = play_until_changes_cease(seed)
    for _ in range(5):
        stage.deliver_all(rng)
        for node, agent in stage.agents.items():
            if agent.queue:
                chain = request_chain(stage, node)
                assert any(is_token_holder(stage, p) for p in chain), f"the chain {chain}"
        for _ in play(stage, rng, 30):
            pass


@any_run
@seeds
def test_lemma_6_the_variant_function(seed):
    """Lemma 6: "V_l is a variant function": well-founded, no event increases it, and it goes on to decrease.

    (1) "V_l never has more than n entries and every entry is between 1 and n + 1", except that a Request in transit at
    the end of a chain of all n nodes makes n + 1 entries; (2) events do "not increase V_l"; (3) "the events that cause
    V_l to decrease will continue to occur", so that every request is satisfied (Theorem 2).
    """
    stage, rng = play_until_changes_cease(seed)
    stage.deliver_all(rng)  # link changes and calls to RaiseHeight() have ceased
    before: dict[int, tuple[int, ...]] = {}
    n = len(stage.agents)

    def check() -> None:
        now = {node: variant(stage, node) for node in stage.waiting()}
        for node, value in now.items():
            assert value <= before.get(node, value), f"V of node {node}: {before[node]}, then {value}"
            assert len(value) <= n + 1
            assert all(1 <= entry <= n + 1 for entry in value)
        before.clear()
        before.update(now)

    stage.check = check
    for _ in play(stage, rng, 200):
        pass
    for _ in range(10 * n):
        stage.deliver_all(rng)
        if not stage.inside:
            break
        stage.release(min(stage.inside))
    assert stage.waiting() == []


def test_a_chain_of_wrong_links_is_noticed():
    """The checks can fail: a request that a queue has forgotten, and one that was never sent."""
    stage, _, rng = watched_stage(5)
    holder = next(node for node, agent in stage.agents.items() if agent.token_holder)
    stage.request(holder)
    asking = next(node for node, agent in stage.agents.items() if agent.next == holder and node != holder)
    stage.request(asking)
    stage.deliver_all(rng)
    check_chains(stage)
    stage.agents[holder].queue = [holder]
    with pytest.raises(AssertionError, match=r"\(b\)"):
        check_chains(stage)
    stage.agents[holder].queue = []
    with pytest.raises(AssertionError, match=r"\(c\)"):
        check_chains(stage)
