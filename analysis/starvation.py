"""Starvation: every request is served, unless the world is to blame."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

from agents.contract import TICKS
from analysis.batched import ENTERED, REQUESTED, Step, StepListener
from analysis.check import PERMISSIONS
from analysis.conservation import Amount
from analysis.counted import counted
from analysis.events import Start
from analysis.neighbourhoods import Whereabouts
from analysis.world import WorldCheck


class Unserved(NamedTuple):
    """A request that is pending at the end."""

    node: int
    since: int
    alive: bool
    component: int
    holds: Amount
    """What its component holds."""
    parts: int

    def is_beside(self, other: Unserved) -> bool:
        """Whether it is of another node in a component that cannot be told from the other's."""
        return self.node != other.node and self[3:] == other[3:]


class Starvation(StepListener, WorldCheck):
    """Every request is served by the end, unless its node crashed or the world keeps it from every unit.

    Only the world excuses: a component lacks units because a partition separates it from them, or because a fault or a
    crash took them. After the algorithm has dropped a unit, lacking units is no excuse. Nothing excuses a request that
    had waited for longer than the scenario's `patience` before, while nothing kept it from being served.

    An algorithm that addresses any node may depend on a node that it cannot reach, wherever the units are. So may an
    algorithm that assumes a connected network, over radio links: they do not fall before both ends agree. For these
    algorithms, a partition at the end is an excuse: with clusters, one that separates the node's own cluster. Where
    permissions are shared, units excuse nothing, and a crash of another node excuses only requests that cannot do
    without it: their nodes wait for it, or for a node that is itself blocked by it. That is what `awaits` says, and is
    not believed of a node that has asked and entered while the other one was down.

    In a neighbourhood, a request is also excused if the token is lost after a fault, a crash or a departure without
    notice, or if as many nodes as there are units left it without notice while they were inside or waited: what they
    took along is lost. A token that is lost on its way to a node that left with notice is for the algorithm to mend.

    Also, a request that has been pending for longer than the scenario's `patience` when requests stop has waited too
    long: without load even a starved node is served at last. Where an algorithm promises no bound, it is only said.
    """

    name = "starvation"
    needs_kind = "request"
    needs_stop = True

    def __init__(self) -> None:
        super().__init__()
        self.waiting: dict[int, int] = {}
        self.demanded: dict[int, int] = {}  # the units of a node's last request
        self.overdue: dict[int, int] = {}  # of requests that had waited too long when requests stopped: since when
        self.closed_at = self.allowed = 0
        self.slighted: dict[int, int] = {}  # nodes that had waited too long when a calm time ended: how long
        self.promises_bound = True
        self.excuses: dict[str, int] = {}
        self.accounted: set[int] = set()
        self.unserved: list[Unserved] = []
        self.are_apart = False  # whether a token may carry several units, or none
        self.needs_all = self.shares_permissions = False
        self.awaited: dict[int, tuple[list[int], int]] = {}  # at the end: which nodes a node awaits, how many it spares
        self.asked_at: dict[int, int] = {}  # when a node made its last request
        self.crashed_at: dict[int, int] = {}  # when a node crashed last
        self.restarted_at: dict[int, int] = {}
        self.lost_between: dict[frozenset[int], int] = {}  # when a crash last took a message between two nodes
        self.entered_without: dict[int, tuple[int, frozenset[int]]] = {}
        """By node, of its last entry while nodes were down: when it had asked, and which nodes were down."""
        self.whereabouts = Whereabouts(Start())
        self.taken: list[set[int]] = []  # by neighbourhood: nodes that left inside or waiting, without notice
        self.inside: set[int] = set()
        self.robbed: set[int | None] = set()  # neighbourhoods in which a fault may have taken the token

    def begin(self, start: Start) -> None:
        super().begin(start)
        self.whereabouts = Whereabouts(start)
        self.taken = [set() for _ in start.places]
        self.shares_permissions = start.shares == PERMISSIONS
        self.promises_bound = start.promises_bound
        self.are_apart = list(start.units) != list(start.tokens)
        self.needs_all = start.needs != "links" or (start.over_radio and start.assumes_connected)

    def calm_ends(self, t: int) -> None:
        if self.calm_since is not None and self.patience:
            for node, since in self.waiting.items():
                waited = t - max(since, self.calm_since)
                if waited > self.patience:
                    self.slighted[node] = waited

    def take_steps(self, steps: Iterable[Step]) -> None:
        waiting, asked_at, demanded, slighted = self.waiting, self.asked_at, self.demanded, self.slighted
        down = self.down if self.shares_permissions else ()
        if self.whereabouts.places:
            steps = list(steps)
        for kind, t, node, units, _, _ in steps:
            if kind is REQUESTED:
                waiting[node] = asked_at[node] = t
                demanded[node] = units
            elif kind is ENTERED:
                began = waiting.pop(node, t)
                if slighted:
                    slighted.pop(node, None)
                if down:
                    self.entered_without[node] = (began, frozenset(down))
        if self.whereabouts.places:
            for kind, _, node, *_ in steps:
                (self.inside.add if kind is ENTERED else self.inside.discard)(node)

    def join(
        self, t: int, node: int, group: int, visit: int, members: list[list[int]], units: int, tokens: int, fields: Any
    ) -> None:
        self.whereabouts.move(node, group)
        self.taken[group].discard(node)  # its old visit is known to be over

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        """A node that left without notice may have taken a unit along, or the token."""
        uses_unit = self.waiting.pop(node, None) is not None or node in self.inside
        self.inside.discard(node)
        if not ready and uses_unit:
            self.taken[group].add(node)
        if not ready:
            self.robbed.add(group)
        self.whereabouts.move(node, None)
        super().left(t, node, group, ready, abandoned, units, tokens)

    def evict(self, t: int, node: int) -> None:
        self.waiting.pop(node, None)  # it may be inside by the account of the algorithm until it has left

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self.crashed_at[node] = t
        super().crash(t, node, units, tokens)
        is_waiting = self.waiting.pop(node, None) is not None
        if is_waiting and not self._offend_slighted(t, node):
            self._excuse("node crashed")
        if (group := self.whereabouts.of(node)) is not None:
            if is_waiting or node in self.inside:
                self.taken[group].add(node)
            self.robbed.add(group)
            self.inside.discard(node)
            self.whereabouts.move(node, None)

    def restart(self, t: int, node: int, incarnation: int) -> None:
        super().restart(t, node, incarnation)
        self.restarted_at[node] = t

    def awaits(self, t: int, node: int, peers: list[int], spares: int) -> None:
        self.awaited[node] = (peers, spares)

    def close(self, t: int, node: None, patience: int) -> None:
        """Note the requests that have waited for too long while the load went on, unless a fault may be to blame."""
        calm_since = self.calm_since
        if calm_since is not None:
            overdue = {node: since for node, since in self.waiting.items() if t - max(since, calm_since) > patience}
            self.overdue, self.closed_at, self.allowed = overdue, t, patience

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        super().lost(t, node, peer, id, type, units, tokens, why)
        if tokens and why != "left":
            self.robbed.add(self.whereabouts.of(node))
        if why == "crash":
            self.lost_between[frozenset((node, peer))] = t

    def pending(
        self,
        t: int,
        node: int,
        since: int,
        alive: bool,
        component: int,
        component_units: int,
        component_tokens: int,
        parts: int,
    ) -> None:
        self.accounted.add(node)
        self.unserved.append(Unserved(node, since, alive, component, Amount(component_units, component_tokens), parts))

    def _offend_slighted(self, t: int, node: int) -> bool:
        """Whether a request had waited too long before anything kept it from being served, which is an offence."""
        if node not in self.slighted or not self.promises_bound:
            return False
        waited = f"node {node} had waited for {self.slighted[node] / TICKS:g} while nothing kept it from entering"
        self.offend(t, node, f"{waited}, longer than the patience of {self.patience / TICKS:g}")
        return True

    def _judge(self, t: int, one: Unserved) -> bool:
        """Whether a request that was not served is excused; if not, that is an offence."""
        if self._offend_slighted(t, one.node):
            return False
        excuse = self._excuse_of(one)
        if excuse is None:
            what = f"node {one.node} still waits since t={one.since / TICKS:g}"
            why = f"its component of {one.component} holds {counted(one.holds.units, 'unit')}"
            if self.dropped:
                why += f", and one was {self.dropped_at}"
            if self.shares_permissions:
                why = f"for the permission of {self.awaited.get(one.node, ([], 0))[0]}"
            self.offend(t, one.node, f"{what}; {why}")
        elif one.alive or one.node in self.waiting:
            self._excuse(excuse)
        return excuse is not None

    def _excuse_of(self, one: Unserved) -> str | None:
        if not one.alive:
            return "node crashed"
        if (group := self.whereabouts.of(one.node)) is not None:
            return self._excuse_in(group, one)
        if not self.shares_permissions and not self.dropped:
            return self._excuse_by_units(one)
        if one.node in self.blocked:
            return "waits for a node that crashed"
        return self._excuse_by_partition(one)

    def _excuse_by_partition(self, one: Unserved) -> str | None:
        """A partition, for an algorithm that needs all nodes."""
        return "network partitioned" if self.needs_all and one.parts > 1 else None

    def _excuse_by_units(self, one: Unserved) -> str | None:
        """Where the algorithm has dropped no unit: those that its component lacks are elsewhere, or were taken."""
        if one.holds.tokens == 0:
            return "component holds no unit"
        if self._asks_too_much(one):
            return "component holds too few units"
        if self.are_apart and any(self._asks_too_much(other) for other in self.unserved if other.is_beside(one)):
            return "behind a demand that cannot be served"
        return self._excuse_by_partition(one)

    def _excuse_in(self, group: int, one: Unserved) -> str | None:
        """What excuses a request in a neighbourhood: what nodes took along that left without notice or crashed."""
        if one.holds.tokens == 0 and group in self.robbed and not self.dropped:
            return "neighbourhood has lost its token"
        if len(self.taken[group]) >= self.whereabouts.places[group]:
            return "units taken along by nodes that left without notice"
        return "network partitioned" if one.parts > 1 else None

    def _asks_too_much(self, one: Unserved) -> bool:
        return one.alive and one.holds.units < self.demanded.get(one.node, 0)

    @cached_property
    def blocked(self) -> set[int]:
        """At the end: the nodes that wait for more crashed or blocked nodes than they can spare."""
        blocked: set[int] = set()
        grew = True
        while grew:
            more = {
                node
                for node, (peers, spares) in self.awaited.items()
                if sum(peer in blocked or self._has_forgotten(peer, node) for peer in peers) > spares
            }
            grew, blocked = more > blocked, more
        return blocked

    def _has_forgotten(self, peer: int, node: int) -> bool:
        """Whether a crash took what a node waits for: its peer is down, has come back since, or a message was lost.

        A node that waits to enter began with its request. Any other node waits for a permission to come back that it
        gave for a request: if the peer has not asked since its crash, it gave it before.
        """
        asked, without = self.entered_without.get(node, (-1, frozenset()))
        if peer in without and asked > self.crashed_at[peer]:
            return False  # it asked and entered while that node was down, and so can do without it
        if peer in self.down:
            return True
        began = self.waiting.get(node, self.asked_at.get(peer, -1))
        times = (self.crashed_at.get(peer), self.restarted_at.get(peer), self.lost_between.get(frozenset((node, peer))))
        return any(time is not None and time >= began for time in times)

    def end(self, t: int, units: list[int], tokens: list[int]) -> None:
        for one in self.unserved:
            if self._judge(t, one):
                self.overdue.pop(one.node, None)
        if self.promises_bound:
            for node, since in sorted(self.overdue.items()):
                waits = f"node {node} has waited since t={since / TICKS:g}"
                self.offend(self.closed_at, node, f"{waits}, longer than the patience of {self.allowed / TICKS:g}")
        for node in sorted(set(self.waiting) - self.accounted):
            self.offend(
                t, node, f"node {node} still waits since t={self.waiting[node] / TICKS:g} and is not accounted for"
            )

    def _excuse(self, why: str) -> None:
        self.excuses[why] = self.excuses.get(why, 0) + 1

    def remark(self) -> str:
        remarks = []
        if self.overdue and not self.promises_bound:
            waited = f"{len(self.overdue)} had waited longer than the patience when requests stopped"
            remarks.append(f"no bound is promised, and {waited}")
        if self.excuses:
            remarks.append("excused: " + ", ".join(f"{count} ({why})" for why, count in sorted(self.excuses.items())))
        return "; ".join(remarks) or "every request served"
