"""Who is in reach of whom, as topology, movement and faults have it; links over radio are found within that."""

from __future__ import annotations

from collections.abc import Callable

from testbed.network.components import Components
from testbed.network.graph import Graph


class Reach:
    """The pairs of nodes that can hear each other, and the parts that the network has fallen into."""

    def __init__(self, graph: Graph) -> None:
        self.peers: dict[int, set[int]] = {node: set(peers) for node, peers in enumerate(graph.peers)}
        self.components = Components(self.peers)
        self.on_parts: Callable[[], None] = lambda: None
        """Called when two components have become one, or one two."""

    def up(self, a: int, b: int) -> None:
        """Two nodes are in reach of each other."""
        self.peers[a].add(b)
        self.peers[b].add(a)
        if self.components.join(a, b):
            self.on_parts()

    def down(self, a: int, b: int) -> None:
        """Two nodes are out of reach of each other."""
        self.peers[a].discard(b)
        self.peers[b].discard(a)
        if self.components.part(a, b):
            self.on_parts()

    def silence(self, node: int) -> None:
        """Nobody hears a node any more."""
        for peer in list(self.peers[node]):
            self.down(node, peer)
