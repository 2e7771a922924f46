"""Partitions: how many components the network has, and which nodes are cut off from every unit.

In a component without a unit no node can enter, and link-reversal algorithms raise heights there without end. The
messages of such nodes say nothing of what a critical section costs, so they are counted apart.

With clusters or neighbourhoods, each section of the nodes has components and units of its own: a node can do nothing
with the units of another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from testbed.network.interfaces import MovingUnits, PartitionSource

Part = tuple[int, int | None]
"""A component of a section: the component's label, and the number of the cluster or neighbourhood."""


class Reach(NamedTuple):
    """What a node can reach, of its own cluster or neighbourhood."""

    nodes: int
    """How many nodes, itself included."""
    units: int
    """How many units these nodes hold or have in transit between them."""
    tokens: int
    """How many tokens."""
    parts: int
    """How many components there are, of nodes that run and are present."""


class Partitions:
    """Reports to a backend and its listener that the components have changed, when the backend calls `update`."""

    def __init__(
        self, source: PartitionSource, *, has_units: bool, section_of: Callable[[int], int | None] = lambda node: 0
    ) -> None:
        """`has_units`: whether nodes hold units; without any, no node is cut off from them.

        `section_of`: the cluster or neighbourhood of a node; None for a node that is in none, and counts for nothing.
        """
        self._source = source
        self._has_units = has_units
        self._section_of = section_of
        self._reported: tuple[int, frozenset[int]] = (1, frozenset())

    def update(self) -> None:
        """Find the components of the nodes that run and are present, and those without a unit."""
        source, present = self._source, self._present()
        supplied = self._supplied() if self._has_units else set(present)
        cut_off = frozenset(node for part, nodes in present.items() if part not in supplied for node in nodes)
        parts = max(_by_section(present).values(), default=self._least())
        if (parts, cut_off) != self._reported:
            self._reported = (parts, cut_off)
            source.listener.partition(source.now, None, parts, sorted(cut_off))
            source.set_cut_off(cut_off)

    def _least(self) -> int:
        """The number of components where no node is in any section: none only if no node is present at all."""
        nodes = self._source.links.components.label
        return int(any(map(self._source.is_present, nodes)))

    def reach(self, node: int) -> Reach:
        """What a node can reach."""
        source, (_, section) = self._source, self._part(node)
        fellows = {one for one in source.links.components.of(node) if self._section_of(one) == section}
        moving = [one for one in source.moving_units() if self._part_of(one) == self._part(node)]
        amounts = [*map(source.held_by, fellows), *((one.units, one.tokens) for one in moving)]
        units, tokens = sum(units for units, _ in amounts), sum(tokens for _, tokens in amounts)
        return Reach(len(fellows), units, tokens, _by_section(self._present())[section])

    def _part(self, node: int) -> Part:
        return self._source.links.components.label[node], self._section_of(node)

    def _part_of(self, moving: MovingUnits) -> Part | None:
        """Where a unit in transit is; None if it is between two components, or for a node that does not run."""
        label = self._source.links.components.label
        if label[moving.source] != label[moving.target] or not self._source.is_present(moving.receiver):
            return None
        return label[moving.source], self._part(moving.sender)[1]

    def _present(self) -> dict[Part, list[int]]:
        """The nodes that run and are present, by component and section."""
        present: dict[Part, list[int]] = {}
        for members in self._source.links.components.members.values():
            for node in members:
                if self._source.is_present(node) and self._section_of(node) is not None:
                    present.setdefault(self._part(node), []).append(node)
        return present

    def _supplied(self) -> set[Part | None]:
        """The components in which a token is held or in transit."""
        holders = {self._part(node) for node in self._source.holders()}
        return holders | {self._part_of(moving) for moving in self._source.moving_units() if moving.tokens}


def _by_section(present: dict[Part, list[int]]) -> Counter[int | None]:
    """How many components every cluster or neighbourhood has."""
    return Counter(section for _, section in present)
