"""Clusters: groups of nodes that each run an algorithm of their own, as if the others were not there.

K clusters that each run an algorithm with one unit let K nodes in at a time (Bulgannawar and Vaidya 1995, section 5,
where it is called partitioning). Algorithms that address any node get clusters of nearly the same size, by the numbers
of their nodes. Algorithms on links need clusters that are connected, and see only the links inside.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from testbed.network.graph import Graph
from testbed.network.interfaces import Links


@dataclass(frozen=True)
class Clusters:
    """Which cluster every node belongs to."""

    of: tuple[int, ...]
    """The cluster of every node."""

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of every cluster, ascending: a node's place among them is its number inside the cluster."""
        found: list[list[int]] = [[] for _ in range(max(self.of) + 1)]
        for node, cluster in enumerate(self.of):
            found[cluster].append(node)
        return tuple(map(tuple, found))

    def are_together(self, a: int, b: int) -> bool:
        """Whether two nodes are in the same cluster."""
        return self.of[a] == self.of[b]

    def within(self, graph: Graph) -> Graph:
        """The graph without the links between clusters."""
        return Graph(graph.nodes, (link for link in graph.links() if self.are_together(*link)))

    def inside(self, cluster: int, graph: Graph) -> Graph:
        """The nodes of one cluster, by their numbers inside it, and the links between them."""
        members = self.members[cluster]
        number = {node: place for place, node in enumerate(members)}
        links = ((number[a], number[b]) for a, b in graph.links() if a in number and b in number)
        return Graph(len(members), links)


class LinksWithin:
    """Passes on the changes of links inside clusters only."""

    def __init__(self, links: Links, clusters: Clusters) -> None:
        self._links = links
        self._clusters = clusters

    def up(self, a: int, b: int) -> None:
        """A link between two nodes forms."""
        if self._clusters.are_together(a, b):
            self._links.up(a, b)

    def down(self, a: int, b: int) -> None:
        """The link between two nodes falls."""
        if self._clusters.are_together(a, b):
            self._links.down(a, b)


def equal_clusters(nodes: int, count: int) -> Clusters:
    """Clusters of nodes with consecutive numbers, whose sizes differ by at most one."""
    return Clusters(tuple(node * count // nodes for node in range(nodes)))


def connected_clusters(graph: Graph, count: int) -> Clusters | None:
    """Connected clusters of about the same size, grown greedily; None if the graph has more components than that.

    Each cluster grows from one node, and these are far from each other. The smallest cluster that can grow takes, of
    the nodes beside it, the one with the fewest neighbours that are still free, which would otherwise be left behind.
    """
    peers, of = graph.peers, dict[int, int]()
    sizes, beside = [0] * count, [set[int]() for _ in range(count)]  # the free nodes beside every cluster
    free = list(map(len, peers))  # how many neighbours of every node are free

    def take(node: int, cluster: int) -> None:
        of[node] = cluster
        sizes[cluster] += 1
        for others in beside:
            others.discard(node)
        for peer in peers[node]:
            free[peer] -= 1
            if peer not in of:
                beside[cluster].add(peer)

    for cluster, seed in enumerate(_far_apart(peers, count)):
        take(seed, cluster)
    while len(of) < graph.nodes:
        able = [cluster for cluster in range(count) if beside[cluster]]
        if not able:
            return None
        cluster = min(able, key=lambda one: (sizes[one], one))
        take(min(beside[cluster], key=lambda node: (free[node], node)), cluster)
    return Clusters(tuple(of[node] for node in range(graph.nodes)))


def _far_apart(peers: Sequence[Collection[int]], count: int) -> list[int]:
    """Nodes far from each other: each is the one farthest from those before it, first those that cannot be reached."""
    chosen: list[int] = []
    distance = [len(peers)] * len(peers)  # from the nearest chosen node
    while len(chosen) < count:
        seed = max(range(len(peers)), key=lambda node: (distance[node], -node))
        chosen.append(seed)
        distance[seed] = 0
        frontier = deque([seed])
        while frontier:
            node = frontier.popleft()
            for peer in peers[node]:
                if distance[peer] > distance[node] + 1:
                    distance[peer] = distance[node] + 1
                    frontier.append(peer)
    return chosen
