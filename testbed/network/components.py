"""Which nodes can reach which, kept up to date while links come and go."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from testbed.network.graph import side_without


class Components:
    """Labels every node by its component.

    A new link between two components relabels the smaller one. When a link goes, a search from both of its ends in
    turns finds out whether they are still connected; if not, the smaller side is relabelled. So a change costs as much
    as the smaller side has nodes, and in a well-connected network hardly anything.
    """

    def __init__(self, peers: Mapping[int, Collection[int]]) -> None:
        self._peers = peers  # the neighbours of every node; the caller changes them, then calls `join` or `part`
        self.label = {node: node for node in peers}
        self.members: dict[int, set[int]] = {node: {node} for node in peers}
        self._fresh = len(peers)  # the next label
        for node, others in peers.items():
            for other in others:
                self.join(node, other)

    def of(self, node: int) -> set[int]:
        """The nodes that can be reached from a node, itself included."""
        return self.members[self.label[node]]

    def join(self, a: int, b: int) -> bool:
        """A link has formed; returns whether two components became one."""
        kept, gone = self.label[a], self.label[b]
        if kept == gone:
            return False
        if len(self.members[kept]) < len(self.members[gone]):
            kept, gone = gone, kept
        moved = self.members.pop(gone)
        self.members[kept] |= moved
        self.label.update(dict.fromkeys(moved, kept))
        return True

    def part(self, a: int, b: int) -> bool:
        """A link has gone; returns whether one component became two."""
        side = side_without(self._peers, a, b)
        if side is None:
            return False
        self.members[self.label[a]] -= side
        self.members[self._fresh] = side
        self.label.update(dict.fromkeys(side, self._fresh))
        self._fresh += 1
        return True
