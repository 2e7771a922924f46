"""KRL and its kin on a stage: random schedules, and what must hold of every configuration."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

from agents.contract import Status
from agents.heights import Height
from agents.krl import Initial, KParameters, KReverseLink
from agents.krlf import KReverseLinkForwarding
from agents.rl import Token
from testbed.network.graph import Graph, random_connected
from tests.agents.rl_stage import change_link
from tests.agents.stage import Stage

FIGURE_2_LINKS = ((0, 2), (0, 3), (1, 4), (2, 3), (2, 4))
FIGURE_2_HEIGHTS = ((0, 0, 0), (0, 2, 1), (0, 2, 2), (0, 1, 3), (0, 3, 4))
"""Figures 2 and 3, reconstructed from section 4, for the text of the paper does not hold the drawings.

Node 2 has one outgoing link besides that to 3; node 4's lowest neighbour is 1, and 2 when 2 has been lowered; node 1
asks 4, so no lower node is its neighbour; and node 3, when it has moved to 1, has no outgoing link. Nodes 0 and 1 hold
the tokens.
"""
FIGURE_4_LINKS = ((0, 2), (0, 3), (1, 2), (1, 3), (3, 5), (4, 5), (5, 6))
FIGURE_4_HEIGHTS = ((0, 1, 0), (0, 1, 1), (0, 2, 2), (0, 0, 3), (0, 3, 4), (0, 2, 5), (0, 3, 6))
"""Figures 4 and 5, reconstructed in the same way. Nodes 4 and 6 ask 5; no neighbour of 3 asks; an idle token goes from
3 to 0, 2, 1, 3 and then to the "left portion of the network", by which all links of 3 are visited. Nodes 3 and 5 hold
the tokens."""


def figure_stage(
    agent: type[KReverseLink], links: Sequence[tuple[int, int]], heights: Sequence[Height], holders: Sequence[int]
) -> Stage:
    """The network of a figure."""
    nodes = range(len(heights))
    peers = {i: [b if a == i else a for a, b in links if i in (a, b)] for i in nodes}
    starts = [Initial(heights[i], tuple(heights[j] for j in peers[i]), int(i in holders)) for i in nodes]
    return Stage([agent(i, starts[i]) for i in nodes], links)


def snapshot(stage: Stage) -> str:
    """What the figures show of every node: height, queue, next, tokens, and the links marked as visited."""
    rows = []
    for node, agent in sorted(stage.agents.items()):
        assert isinstance(agent, KReverseLink)
        tokens = " token" * agent.token_count
        visited = f" visited={sorted(agent.visited)}" if isinstance(agent, KReverseLinkForwarding) else ""
        status = agent.status.name.lower()
        rows.append(f"   {node} {agent.my_height} Q={agent.queue} next={agent.next} {status}{tokens}{visited}")
    return "\n".join(rows)


class WatchedStage(Stage):
    """Calls a check after every single event, also between the two ends' notices of a link change."""

    check: Callable[[], None] = staticmethod(lambda: None)

    def _step(self, node: int, what: str, event) -> None:
        super()._step(node, what, event)
        self.check()


def random_k_stage(seed: int, agent: type[KReverseLink] = KReverseLink) -> tuple[Stage, Graph, Random, int]:
    """Two to nine nodes on a random connected graph, and one to n-1 tokens."""
    rng = Random(seed)
    nodes = rng.randint(2, 9)
    k = rng.randint(1, nodes - 1)
    graph = random_connected(nodes, rng.randint(nodes - 1, nodes * (nodes - 1) // 2), rng)
    starts = agent.initial(graph.adjacency(), KParameters(k))
    return Stage([agent(node, starts[node]) for node in range(nodes)], graph.links()), graph, rng, k


def play(seed: int, agent: type[KReverseLink] = KReverseLink, *, static: bool = False) -> Stage:
    """Random requests, releases, deliveries and link changes; then no more changes, and every request is served."""
    stage, graph, rng, k = random_k_stage(seed, agent)
    for _ in range(rng.randint(0, 400)):
        choice = rng.random()
        idle = [node for node, one in stage.agents.items() if one.status is Status.REMAINDER]
        if choice < 0.15 and idle:
            stage.request(rng.choice(idle))
        elif choice < 0.30 and stage.inside:
            stage.release(rng.choice(sorted(stage.inside)))
        elif choice < 0.45 and not static:
            change_link(stage, graph, rng)
        elif stage.busy():
            stage.deliver(*rng.choice(stage.busy()))
        check_always(stage, k)
    settle(stage, rng, k)
    return stage


def settle(stage: Stage, rng: Random, k: int, limit: int = 20_000) -> None:
    """Deliver and release until no node waits or is inside. Tokens that are forwarded never come to rest."""
    for _ in range(limit):
        if not stage.waiting() and not stage.inside:
            return
        busy = stage.busy()
        if stage.inside and (not busy or rng.random() < 0.1):
            stage.release(rng.choice(sorted(stage.inside)))
        elif busy:
            stage.deliver(*rng.choice(busy))
        else:
            break
        check_always(stage, k)
    raise AssertionError(f"starved: {stage.waiting()}")


def check_always(stage: Stage, k: int) -> None:
    """Theorem 1: at most k inside, exactly k tokens; and a node is in its own queue exactly while it waits."""
    assert len(stage.inside) <= k, f"in the CS together: {sorted(stage.inside)}"
    assert stage.units() == k, f"{stage.units()} tokens"
    for node, agent in stage.agents.items():
        assert isinstance(agent, KReverseLink)
        assert (node in agent.queue) == (agent.status is Status.WAITING), f"queue of node {node}"


def deliver_others(stage: Stage, rng: Random, limit: int = 20_000) -> None:
    """Deliver at random until the next message on every channel, if there is one, is a token."""
    for _ in range(limit):
        free = [ends for ends in stage.busy() if not isinstance(stage.channels[ends][0], Token)]
        if not free:
            return
        stage.deliver(*rng.choice(free))
    raise AssertionError(f"messages are still in transit after {limit} deliveries")


def downhill(stage: Stage) -> dict[int, list[int]]:
    """The outgoing links of every node, as it sees them."""
    links = {}
    for node, agent in stage.agents.items():
        assert isinstance(agent, KReverseLink)
        links[node] = [peer for peer, height in agent.height.items() if height < agent.my_height]
    return links


def check_ways(stage: Stage) -> None:
    """From every node, outgoing links lead to a token holder, or to one whose token is in transit from it."""
    links = downhill(stage)
    senders = {a for (a, _), messages in stage.channels.items() if any(isinstance(one, Token) for one in messages)}
    reaches = senders | {node for node, agent in stage.agents.items() if agent.units}
    while more := {node for node in links if node not in reaches and reaches.intersection(links[node])}:
        reaches |= more
    assert reaches == set(links), f"no way to a token from {sorted(set(links) - reaches)}"


def check_acyclic(links: Mapping[int, Sequence[int]]) -> None:
    """No node comes back to itself by outgoing links."""
    remaining = dict(links)
    while remaining:
        free = [node for node, below in remaining.items() if all(peer not in remaining for peer in below)]
        assert free, f"a cycle among {sorted(remaining)}"
        for node in free:
            del remaining[node]
