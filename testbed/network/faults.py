"""Faults of a scenario, carried out in whatever world it runs: crash, restart, cut, heal, lose."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.durations import to_ticks
from testbed.network.graph import Link, link_of
from testbed.network.interfaces import Ground
from testbed.scenario.schema import Fault


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

    def __init__(self, faults: list[Fault], ground: Ground) -> None:
        self._faults = faults
        self._ground = ground
        self._cuts: list[Cut] = []
        self._crashed: dict[int, Cut] = {}

    def begin(self) -> None:
        """Plan every fault."""
        for fault in self._faults:
            self._ground.at(to_ticks(fault.at), self._happen, fault)

    def _happen(self, fault: Fault) -> None:
        node = fault.node
        if fault.holder and fault.kind != "lose":
            holders = self._ground.holders()
            if not holders:
                self._wait_for_holder(fault)
                return
            node = holders[0]
        detail = fault.model_dump(exclude_defaults=True, exclude={"kind", "at"})
        self._ground.listener.fault(self._ground.now, node, fault.kind, detail)
        getattr(self, f"_{fault.kind}")(fault, node)

    def _wait_for_holder(self, fault: Fault) -> None:
        """Every unit is in transit: try again when the next one has arrived. If there is none, there is no holder."""
        arrivals = [moving.arrives for moving in self._ground.moving_units()]
        if arrivals:
            self._ground.at(min(arrivals), self._happen, fault)

    def _crash(self, fault: Fault, node: int) -> None:
        if not self._ground.is_alive(node):
            return
        self._ground.crash(node)
        self._crashed[node] = self._sever(Cut(frozenset((node,)), None, []))
        self._ground.look_at_parts()

    def _restart(self, fault: Fault, node: int) -> None:
        if node not in self._crashed:
            return
        self._ground.restart(node)
        self._ground.look_at_parts()
        self._mend(self._crashed.pop(node))

    def _cut(self, fault: Fault, node: int | None) -> None:
        inside = frozenset(fault.group) if fault.group is not None else frozenset((node,)) if node is not None else None
        assert inside is not None, "the scenario names what to cut"
        cut = self._sever(Cut(inside, fault.peer, []))
        self._cuts.append(cut)
        for link in cut.severed:
            self._ground.links.down(*link)

    def _heal(self, fault: Fault, node: int | None) -> None:
        inside = frozenset(fault.group) if fault.group is not None else frozenset((node,)) if node is not None else None
        for cut in list(self._cuts):
            if inside is None or (cut.inside, cut.other) == (inside, fault.peer):
                self._cuts.remove(cut)
                self._mend(cut)

    def _lose(self, fault: Fault, node: int | None) -> None:
        self._ground.lose(node, fault.message)

    def _sever(self, cut: Cut) -> Cut:
        """Take the links that a cut crosses out of the plan, and let none form there."""
        graph = self._ground.graph
        cut.severed = [link for link in graph.links() if cut.forbids(*link)]
        for link in cut.severed:
            graph.remove(*link)
        self._ground.changes.forbidden.append(cut.forbids)
        return cut

    def _mend(self, cut: Cut) -> None:
        """Put the links of a cut back, but for those that another fault still forbids."""
        ground = self._ground
        ground.changes.forbidden.remove(cut.forbids)
        for a, b in ground.changes.restorable(cut.severed, cut.forbids):
            if link_of(a, b) in ground.graph:
                continue
            if ground.changes.may_form(a, b):
                ground.graph.add(a, b)
                ground.links.up(a, b)
            else:
                self._hand_over((a, b))

    def _hand_over(self, link: Link) -> None:
        """A link still forbidden by another cut comes back with that one."""
        for cut in (*self._cuts, *self._crashed.values()):
            if cut.forbids(*link):
                cut.severed.append(link)
                return
