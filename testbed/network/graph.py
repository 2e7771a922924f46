"""An undirected graph whose links come and go, and the papers' random connected graph."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from random import Random

from testbed.pairs import Link, link_of

Neighbours = Sequence[Collection[int]] | Mapping[int, Collection[int]]
"""The neighbours of every node."""


class Graph:
    """Adjacency for walking, and a list of the links for drawing one at random in constant time."""

    def __init__(self, nodes: int, links: Iterable[Link] = ()) -> None:
        self.nodes = nodes
        self.peers: list[set[int]] = [set() for _ in range(nodes)]
        self._links: list[Link] = []
        self._place: dict[Link, int] = {}
        for a, b in links:
            self.add(a, b)

    def __contains__(self, link: Link) -> bool:
        return link in self._place

    def __len__(self) -> int:
        """How many links there are."""
        return len(self._links)

    def links(self) -> list[Link]:
        """All links, sorted."""
        return sorted(self._links)

    def add(self, a: int, b: int) -> None:
        """Add a link that the graph does not have."""
        link = link_of(a, b)
        self._place[link] = len(self._links)
        self._links.append(link)
        self.peers[a].add(b)
        self.peers[b].add(a)

    def remove(self, a: int, b: int) -> None:
        """Remove a link that the graph has."""
        place = self._place.pop(link_of(a, b))
        last = self._links.pop()
        if place < len(self._links):  # the last link moves into the gap
            self._links[place] = last
            self._place[last] = place
        self.peers[a].discard(b)
        self.peers[b].discard(a)

    def adjacency(self) -> dict[int, tuple[int, ...]]:
        """Neighbours in ascending order, as agents are given them."""
        return {node: tuple(sorted(peers)) for node, peers in enumerate(self.peers)}

    def component(self, node: int) -> set[int]:
        """The nodes that can be reached from a node, itself included."""
        reached, frontier = {node}, [node]
        while frontier:
            for peer in self.peers[frontier.pop()]:
                if peer not in reached:
                    reached.add(peer)
                    frontier.append(peer)
        return reached

    def is_bridge(self, a: int, b: int) -> bool:
        """Whether the link is the only path between its ends."""
        return side_without(self.peers, a, b) is not None

    def draw_removable(self, rng: Random) -> Link | None:
        """A random link without which the graph stays as connected as it is, or None if there is none."""
        for _ in range(64):
            if not self._links:
                return None
            link = self._links[rng.randrange(len(self._links))]
            if not self.is_bridge(*link):
                return link
        candidates = [link for link in self.links() if not self.is_bridge(*link)]
        return rng.choice(candidates) if candidates else None

    def draw_absent(self, rng: Random, allowed: Callable[[int, int], bool]) -> Link | None:
        """A random pair of nodes that has no link and may have one, or None if there is none."""
        link = self.guess_absent(rng, allowed)
        if link is None:
            candidates = [link for link in self.absent() if allowed(*link)]
            link = rng.choice(candidates) if candidates else None
        return link

    def guess_absent(self, rng: Random, allowed: Callable[[int, int], bool]) -> Link | None:
        """The first of some random pairs that has no link and may have one; None if none of them is such a pair."""
        for _ in range(256 if self.nodes > 1 else 0):
            link = link_of(*rng.sample(range(self.nodes), 2))
            if link not in self._place and allowed(*link):
                return link
        return None

    def absent(self) -> list[Link]:
        """All pairs of nodes that have no link, sorted. It takes as long as there are pairs."""
        return [link for link in combinations(range(self.nodes), 2) if link not in self._place]


def side_without(peers: Neighbours, a: int, b: int) -> set[int] | None:
    """The smaller of the two components that remain without the link between two nodes; None if it stays one component.

    Searches from both nodes, always growing the smaller side, so it ends when the two meet or when the smaller side is
    complete; in a random graph they meet after about the square root of its nodes.
    """
    sides = ({a}, {b})
    frontiers = ([a], [b])
    while True:
        grow = 0 if len(sides[0]) <= len(sides[1]) else 1
        mine, other = sides[grow], sides[1 - grow]
        fresh: list[int] = []
        for node in frontiers[grow]:
            for peer in peers[node]:
                if peer in mine or (node == a and peer == b) or (node == b and peer == a):
                    continue
                if peer in other:
                    return None
                mine.add(peer)
                fresh.append(peer)
        if not fresh:
            return mine
        frontiers[grow][:] = fresh


def permuted(graph: Graph, rng: Random) -> Graph:
    """The same graph with its nodes relabelled at random."""
    labels = list(range(graph.nodes))
    rng.shuffle(labels)
    return Graph(graph.nodes, (link_of(labels[a], labels[b]) for a, b in graph.links()))


def complete(nodes: int) -> Graph:
    """Every node linked to every other."""
    return Graph(nodes, ((a, b) for a in range(nodes) for b in range(a + 1, nodes)))


def random_connected(nodes: int, links: int, rng: Random) -> Graph:
    """A random tree over all nodes, each tree equally likely, and random further links up to the number asked for."""
    graph = Graph(nodes, random_tree(nodes, rng))
    absent: list[Link] = []  # known when pairs without a link have become so rare that none was guessed
    while len(graph) < links:
        link = graph.guess_absent(rng, lambda a, b: True)
        if link is None:
            absent = absent or graph.absent()
            link = rng.choice(absent)
        if absent:
            del absent[bisect_left(absent, link)]
        graph.add(*link)
    return graph


def random_tree(nodes: int, rng: Random) -> list[Link]:
    """A labelled tree drawn uniformly, from a random Prüfer sequence."""
    if nodes < 2:
        return []
    sequence = [rng.randrange(nodes) for _ in range(nodes - 2)]
    degree = [1] * nodes
    for node in sequence:
        degree[node] += 1
    links = []
    pointer = leaf = degree.index(1)
    for node in sequence:
        links.append(link_of(leaf, node))
        degree[node] -= 1
        if degree[node] == 1 and node < pointer:
            leaf = node  # the node just freed is the smallest leaf
        else:
            pointer = leaf = degree.index(1, pointer + 1)
    links.append(link_of(leaf, nodes - 1))
    return links
