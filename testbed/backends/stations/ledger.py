"""The state of a run according to the logs: the units of every node, the nodes that wait, and the partitions.

It has a time of its own, that of the last event it was given, so partitions are exact although logs are read a little
later than they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from analysis.listener import Listener
from testbed.network.graph import Graph
from testbed.network.interfaces import MovingUnits
from testbed.network.partitions import Partitions
from testbed.network.reachability import Reachability


class Holdings(Listener):
    """Follows units, tokens, requests and entries through the events of all nodes."""

    def __init__(self, held: list[tuple[int, int]]) -> None:
        self.held = list(held)  # the units and tokens of every node
        self.moving: dict[tuple[int, int, int], tuple[str, int, int]] = {}  # source, target, id -> type, units, tokens
        self.orphans: set[tuple[int, int, int]] = set()  # those of `moving` whose sender has crashed
        self.waiting: dict[int, int] = {}  # node -> time of its request
        self.inside: set[int] = set()
        self.groups: dict[int, int | None] = {}  # the neighbourhood of a node, where there are such
        self.entries = 0

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self.waiting[node] = t

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self.waiting.pop(node, None)
        self.inside.add(node)
        self.entries += 1

    def exit(self, t: int, node: int, units: int) -> None:
        self.inside.discard(node)

    def evict(self, t: int, node: int) -> None:
        self.inside.discard(node)

    def join(
        self, t: int, node: int, group: int, visit: int, members: list[list[int]], units: int, tokens: int, fields: Any
    ) -> None:
        self.groups[node] = group
        self._add(node, units, tokens)

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        self.groups[node] = None
        self.waiting.pop(node, None)
        self.held[node] = (0, 0)

    def deposit(self, t: int, node: int, group: int, units: int, tokens: int, fields: Any) -> None:
        self._add(node, -units, -tokens)

    def refused(self, t: int, node: int, group: int, units: int, tokens: int, fields: Any) -> None:
        self._add(node, units, tokens)

    def regenerate(self, t: int, node: int, group: int, units: int, tokens: int) -> None:
        self._add(node, units, tokens)

    def send(
        self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, words: int, added_words: int,
        fields: object,
    ) -> None:  # fmt: skip
        if units or tokens:
            self._add(node, -units, -tokens)
            self.moving[node, peer, id] = (type, units, tokens)

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        if units or tokens:
            self.moving.pop((peer, node, id), None)
            self._add(node, units, tokens)

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        if units or tokens:
            self.moving.pop((node, peer, id), None)
            self._add(node, units, tokens)

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        self.moving.pop((node, peer, id), None)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self.held[node] = (0, 0)
        self.orphans.update(key for key in self.moving if key[0] == node)
        self.waiting.pop(node, None)
        self.inside.discard(node)
        self.groups.pop(node, None)

    def _add(self, node: int, units: int, tokens: int) -> None:
        held = self.held[node]
        self.held[node] = (held[0] + units, held[1] + tokens)


class Ledger:
    """The state of the whole network, as it was at the time of the last event."""

    def __init__(
        self,
        graph: Graph,
        held: list[tuple[int, int]],
        absent: set[int],
        listener: Listener,
        *,
        has_units: bool = True,
        section_of: Callable[[int], int | None] | None = None,
    ) -> None:
        """`section_of`: the cluster of a node; by default its neighbourhood, as events tell it."""
        self.now = 0
        self.listener = listener
        self.links = Reachability(graph)
        self.holdings = Holdings(held)
        self.alive = set(range(len(held)))
        self.absent = absent
        self.cut_off: frozenset[int] = frozenset()
        self.partitions = Partitions(self, has_units=has_units, section_of=section_of or self.holdings.groups.get)
        self.links.on_partition_change = self.partitions.update

    def is_present(self, node: int) -> bool:
        """Whether a node runs, has appeared, and has not left."""
        return node in self.alive and node not in self.absent

    def holders(self) -> list[int]:
        """The nodes that hold tokens, in ascending order."""
        return [node for node, (_, tokens) in enumerate(self.holdings.held) if tokens]

    def moving_units(self) -> list[MovingUnits]:
        """The units in transit."""
        moving = self.holdings.moving.items()
        return [
            MovingUnits(source, target, self.now, source, target, *amount)
            for (source, target, _), (_, *amount) in moving
        ]

    def held_by(self, node: int) -> tuple[int, int]:
        """How many units and how many tokens a node holds; none if it does not run."""
        return self.holdings.held[node] if node in self.alive else (0, 0)

    def lost_to_crashes(self) -> list[tuple[int, int, int, str, int, int]]:
        """Source, target, id, type, units and tokens of messages whose senders crashed and that were not received."""
        holdings = self.holdings
        return [(*key, *holdings.moving[key]) for key in sorted(holdings.orphans & set(holdings.moving))]

    def set_cut_off(self, nodes: frozenset[int]) -> None:
        """These nodes can reach no unit now."""
        self.cut_off = nodes

    def unit_arrived(self) -> None:
        """A message with units was received: a unit may be in another component than before."""
        if len(self.links.components.members) > 1:
            self.partitions.update()

    def is_hopeless(self) -> bool:
        """Whether all waiting nodes are cut off from every unit, and no unit is in transit."""
        holdings = self.holdings
        moving = set(holdings.moving) - holdings.orphans
        out_of_reach = self.cut_off | self.absent
        return bool(holdings.waiting) and set(holdings.waiting) <= out_of_reach and not holdings.inside and not moving
