"""Which nodes are in reach of each other, by topology, movement and faults. Radio links can form only between them."""

from __future__ import annotations

from collections.abc import Callable

from testbed.network.components import Components
from testbed.network.graph import Graph


class Reachability:
    """The pairs of nodes that can hear each other, and the components that follow from that."""

    def __init__(self, graph: Graph) -> None:
        self.peers: dict[int, set[int]] = {node: set(peers) for node, peers in enumerate(graph.peers)}
        self.components = Components(self.peers)
        self.on_partition_change: Callable[[], None] = lambda: None
        """Called when two components have become one, or one has become two."""

    def up(self, a: int, b: int) -> None:
        """Two nodes are in reach of each other."""
        self.peers[a].add(b)
        self.peers[b].add(a)
        if self.components.join(a, b):
            self.on_partition_change()

    def down(self, a: int, b: int) -> None:
        """Two nodes are out of reach of each other."""
        self.peers[a].discard(b)
        self.peers[b].discard(a)
        if self.components.part(a, b):
            self.on_partition_change()

    def silence(self, node: int) -> None:
        """No node can receive from this one any more."""
        for peer in list(self.peers[node]):
            self.down(node, peer)
