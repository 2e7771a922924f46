"""Faults of a scenario, carried out in any backend: crash, restart, cut, heal, lose, vanish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from testbed.network.interfaces import FaultTarget
from testbed.pairs import Link, link_of


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong at a time: to a node by number, or to the node that holds a token then."""

    at: int
    """In ticks."""
    kind: str
    node: int | None = None
    holder: bool = False
    peer: int | None = None
    """For cut and heal: only the link between `node` and this one."""
    group: tuple[int, ...] | None = None
    """For cut and heal: the links between these nodes and all others."""
    message: str | None = None
    """For lose: only a message of this type."""

    def detail(self) -> dict[str, Any]:
        """What the log says of it besides its time and kind: the keys that are set."""
        keys = {name: getattr(self, name) for name in ("node", "holder", "peer", "group", "message")}
        return {name: value for name, value in keys.items() if value is not None and value is not False}


@dataclass
class Cut:
    """Nodes or a link cut off, with the links that this took away."""

    inside: frozenset[int]
    other: int | None  # for a single link, its other end
    severed: list[Link]

    def forbids(self, a: int, b: int) -> bool:
        """Whether the cut runs between two nodes."""
        if self.other is not None:
            return {a, b} == {*self.inside, self.other}
        return (a in self.inside) != (b in self.inside)


class Faults:
    """Plans the scenario's faults and carries them out."""

    def __init__(self, faults: list[Fault], target: FaultTarget) -> None:
        self._faults = faults
        self._target = target
        self._cuts: list[Cut] = []
        self._crashed: dict[int, Cut] = {}

    def begin(self) -> None:
        """Plan every fault."""
        for fault in self._faults:
            self._target.at(fault.at, self._happen, fault)

    def _happen(self, fault: Fault) -> None:
        node = fault.node
        if fault.holder and fault.kind != "lose":
            holders = self._target.holders()
            if not holders:
                self._wait_for_holder(fault)
                return
            node = holders[0]
        self._target.listener.fault(self._target.now, node, fault.kind, fault.detail())
        getattr(self, f"_{fault.kind}")(fault, node)

    def _wait_for_holder(self, fault: Fault) -> None:
        """Every unit is in transit: try again when the next one has arrived. Without units, the fault never happens."""
        arrivals = [moving.arrives for moving in self._target.moving_units()]
        if arrivals:
            self._target.at(min(arrivals), self._happen, fault)

    def _crash(self, fault: Fault, node: int) -> None:
        if not self._target.is_alive(node):
            return
        self._target.crash(node)
        self._crashed[node] = self._sever(Cut(frozenset((node,)), None, []))
        self._target.update_partitions()

    def _restart(self, fault: Fault, node: int) -> None:
        if node not in self._crashed:
            return
        self._target.restart(node)
        self._target.update_partitions()
        self._mend(self._crashed.pop(node))

    def _cut(self, fault: Fault, node: int | None) -> None:
        inside = frozenset(fault.group) if fault.group is not None else frozenset((node,)) if node is not None else None
        assert inside is not None, "the scenario names what to cut"
        cut = self._sever(Cut(inside, fault.peer, []))
        self._cuts.append(cut)
        for link in cut.severed:
            self._target.changes.links.down(*link)

    def _heal(self, fault: Fault, node: int | None) -> None:
        inside = frozenset(fault.group) if fault.group is not None else frozenset((node,)) if node is not None else None
        for cut in list(self._cuts):
            if inside is None or (cut.inside, cut.other) == (inside, fault.peer):
                self._cuts.remove(cut)
                self._mend(cut)

    def _lose(self, fault: Fault, node: int | None) -> None:
        self._target.lose(node, fault.message)

    def _vanish(self, fault: Fault, node: int) -> None:
        if self._target.is_alive(node):
            self._target.vanish(node)

    def _sever(self, cut: Cut) -> Cut:
        """Remove the links that a cut crosses from the plan, and let none form across it."""
        graph = self._target.graph
        cut.severed = [link for link in graph.links() if cut.forbids(*link)]
        for link in cut.severed:
            graph.remove(*link)
        self._target.changes.forbidden.append(cut.forbids)
        return cut

    def _mend(self, cut: Cut) -> None:
        """Put the links of a cut back, except those that another fault still forbids."""
        target = self._target
        target.changes.forbidden.remove(cut.forbids)
        for a, b in target.changes.restorable(cut.severed, cut.forbids):
            if link_of(a, b) in target.graph:
                continue
            if target.changes.may_form(a, b):
                target.graph.add(a, b)
                target.changes.links.up(a, b)
            else:
                self._hand_over((a, b))

    def _hand_over(self, link: Link) -> None:
        """A link still forbidden by another cut comes back with that one."""
        for cut in (*self._cuts, *self._crashed.values()):
            if cut.forbids(*link):
                cut.severed.append(link)
                return
