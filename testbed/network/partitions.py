"""Partitions: how many components the network has, and which nodes are cut off from every unit.

In a component without a unit no node can enter, and link-reversal algorithms raise heights there without end. The
messages of such nodes say nothing of what a critical section costs, so they are counted apart.
"""

from __future__ import annotations

from testbed.network.interfaces import PartitionSource


class Partitions:
    """Reports to a backend and its listener that the components have changed, when the backend calls `update`."""

    def __init__(self, source: PartitionSource, *, has_units: bool) -> None:
        """`has_units`: whether nodes hold units; without any, no node is cut off from them."""
        self._source = source
        self._has_units = has_units
        self._reported: tuple[int, frozenset[int]] = (1, frozenset())

    def update(self) -> None:
        """Find the components of the nodes that run and are present, and those without a unit."""
        source, components = self._source, self._source.links.components
        present = [
            nodes
            for members in components.members.values()
            if (nodes := [node for node in members if source.is_present(node)])
        ]
        supplied = self._components_with_units() if self._has_units else set(components.members)
        cut_off = frozenset(node for nodes in present if components.label[nodes[0]] not in supplied for node in nodes)
        if (len(present), cut_off) != self._reported:
            self._reported = (len(present), cut_off)
            source.listener.partition(source.now, None, len(present), sorted(cut_off))
            source.set_cut_off(cut_off)

    def _components_with_units(self) -> set[int]:
        """The labels of the components in which a unit is held or in transit."""
        label = self._source.links.components.label
        holders = {label[node] for node in self._source.holders()}
        moving = self._source.moving_units()
        return holders | {label[one.source] for one in moving if label[one.source] == label[one.target]}
