"""The checks: what must hold in every run, checked event by event, on line and from a log alike."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from agents.contract import TICKS
from analysis.batched import ENTERED, REQUESTED, SENT, Move, MoveListener, Step, StepListener
from analysis.check import Check
from analysis.events import SESSION, Start

PERMISSIONS = "permissions"
"""What an algorithm shares whose nodes hold nothing."""
INJECTED = ("fault", "crash")
"""Reasons for a lost message that are no offence: the scenario asked for it."""


class Amount(NamedTuple):
    """Units, and tokens where these are something else: what nodes hold and messages carry."""

    units: int
    tokens: int

    def plus(self, other: Amount) -> Amount:
        """The sum of two."""
        return Amount(self.units + other.units, self.tokens + other.tokens)

    def __str__(self) -> str:
        """In words; where both are the same number, one is enough."""
        return f"{self.units} units" if self.units == self.tokens else f"{self.units} units and {self.tokens} tokens"


NOTHING = Amount(0, 0)


class Safety(StepListener, Check):
    """At most `capacity` units in use at any instant, in a cluster its share of them, and only by nodes that requested.

    Clusters share the units equally.
    """

    name = "safety"
    needs_kind = "enter"

    def __init__(self) -> None:
        super().__init__()
        self.capacity = 0
        self.clusters: Sequence[int] = ()  # the cluster of every node, if there are clusters
        self.share = 0  # the units of one cluster
        self.waiting: set[int] = set()
        self.inside: dict[int, int] = {}
        self.in_use = self.peak = 0

    def begin(self, start: Start) -> None:
        self.capacity = start.capacity
        self.clusters = start.clusters
        self.share = start.capacity // max(1, len(set(start.clusters)))

    def take_steps(self, steps: Iterable[Step]) -> None:
        waiting, inside, capacity, clusters = self.waiting, self.inside, self.capacity, self.clusters
        in_use, peak = self.in_use, self.peak
        for kind, t, node, units, _, _ in steps:
            if kind is REQUESTED:
                if node in waiting or node in inside:
                    self.offend(t, f"node {node} requests while it waits or is in its critical section")
                waiting.add(node)
            elif kind is ENTERED:
                try:
                    waiting.remove(node)
                except KeyError:
                    self.offend(t, f"node {node} enters without a request")
                inside[node] = units
                in_use += units
                if in_use > peak:
                    peak = in_use
                if in_use > capacity:
                    others = [other for other in sorted(inside) if other != node]
                    self.offend(t, f"node {node} enters with {others} inside: {in_use} units of {capacity} in use")
                elif clusters:
                    self._check_cluster(t, node)
            elif node in inside:
                in_use -= inside.pop(node)
            else:
                self.offend(t, f"node {node} exits without being inside")
        self.in_use, self.peak = in_use, peak

    def _check_cluster(self, t: int, node: int) -> None:
        """A node has entered: the nodes of its cluster that are inside must not use more than the cluster's share."""
        clusters, share = self.clusters, self.share
        fellows = [other for other in sorted(self.inside) if clusters[other] == clusters[node]]
        in_use = sum(self.inside[other] for other in fellows)
        if in_use > share:
            others = [other for other in fellows if other != node]
            what = f"node {node} enters with {others} of its cluster inside"
            self.offend(t, f"{what}: {in_use} units of {share} in use in cluster {clusters[node]}")

    def evict(self, t: int, node: int) -> None:
        if node not in self.inside:
            self.offend(t, f"node {node} is evicted without being inside")
        self.in_use -= self.inside.pop(node, 0)
        self.waiting.add(node)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self.waiting.discard(node)
        self.in_use -= self.inside.pop(node, 0)

    def remark(self) -> str:
        in_use = f"at most {self.peak} of {self.capacity} in use"
        if not self.clusters:
            return in_use
        sizes = Counter(self.clusters)
        return f"{in_use}; clusters of {', '.join(str(sizes[cluster]) for cluster in sorted(sizes))} nodes"


class Conservation(MoveListener, Check):
    """Units and tokens are neither made nor lost: all are held by a node or in one message in transit."""

    name = "conservation"
    needs_kind = "send"
    needs_stop = True

    def __init__(self) -> None:
        super().__init__()
        self.held_units: list[int] = []  # by every node
        self.held_tokens: list[int] = []
        self.in_transit: dict[tuple[int, int, int], tuple[int, int]] = {}  # (sender, receiver, id) -> units, tokens
        self.total = self.lost_amount = NOTHING
        self.crashed: set[int] = set()

    def begin(self, start: Start) -> None:
        if start.shares == PERMISSIONS:
            self.not_applicable = "permissions are not conserved"
            return
        self.held_units, self.held_tokens = list(start.units), list(start.tokens)
        self.total = Amount(sum(start.units), sum(start.tokens))
        if self.total.units != start.capacity:
            self.offend(0, f"{self.total.units} units at the start, not {start.capacity}")

    def take_moves(self, moves: Iterable[Move]) -> None:
        held_units, held_tokens, in_transit = self.held_units, self.held_tokens, self.in_transit
        for kind, t, node, peer, id, type, units, tokens in moves:
            if kind is SENT:
                if units > held_units[node] or tokens > held_tokens[node]:
                    amount, holds = Amount(units, tokens), self._holds(node)
                    self.offend(t, f"node {node} sends {amount} to {peer} and holds {holds} ({type} {id})")
                held_units[node] -= units
                held_tokens[node] -= tokens
                in_transit[node, peer, id] = (units, tokens)
            else:
                carried = in_transit.pop((peer, node, id), NOTHING)
                if carried != (units, tokens):
                    self._differ(t, f"node {node} receives {Amount(units, tokens)}", id, peer, Amount(*carried))
                held_units[node] += units
                held_tokens[node] += tokens

    def _holds(self, node: int) -> Amount:
        return Amount(self.held_units[node], self.held_tokens[node])

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        amount = Amount(units, tokens)
        if amount != NOTHING:
            carried = self.in_transit.pop((node, peer, id), NOTHING)
            if carried != amount:
                self._differ(t, f"node {node} gets back {amount}", id, node, Amount(*carried))
            self.held_units[node] += units
            self.held_tokens[node] += tokens

    def _differ(self, t: int, what: str, id: int, sender: int, carried: Amount) -> None:
        self.offend(t, f"{what} of message {id} of node {sender}, which carries {carried}")

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        amount = Amount(units, tokens)
        if amount != NOTHING:
            carried = self.in_transit.pop((node, peer, id), NOTHING)
            if carried == NOTHING and why == "crash" and peer in self.crashed:
                return  # it had arrived, and was counted as lost when its receiver crashed
            if carried != amount:
                self.offend(t, f"message {id} of node {node} is lost but was not in transit with {amount}")
            if why not in INJECTED:
                self.offend(t, f"node {node} loses {amount} to {peer}: {why} ({type} {id})")
            self.lost_amount = self.lost_amount.plus(amount)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        if self.not_applicable:
            return
        amount = Amount(units, tokens)
        if amount != self._holds(node):
            self.offend(t, f"node {node} crashes with {amount}; by its messages it holds {self._holds(node)}")
        self.held_units[node] = self.held_tokens[node] = 0
        self.lost_amount = self.lost_amount.plus(amount)
        self.crashed.add(node)

    def end(self, t: int, units: list[int], tokens: list[int]) -> None:
        if self.not_applicable:
            return
        for node, (says, _) in enumerate(zip(map(Amount, units, tokens), self.held_units, strict=True)):
            if says != (holds := self._holds(node)):
                self.offend(t, f"node {node} says it holds {says}; by its messages it holds {holds}")

    def remark(self) -> str:
        total, lost = self.total, self.lost_amount
        moving = Amount(*map(sum, zip(NOTHING, *self.in_transit.values(), strict=True)))
        are_apart = any(one.units != one.tokens for one in (total, lost, moving))
        in_words = str if are_apart else lambda amount: str(amount.units)
        kept = f"{total.units - lost.units} of {total.units} units kept"
        if are_apart:
            kept += f", {total.tokens - lost.tokens} of {total.tokens} tokens"
        kept += f", {in_words(moving)} of them on the way at the end" if moving != NOTHING else ""
        return kept + (f", {in_words(lost)} lost to injected faults" if lost != NOTHING else "")


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


class Starvation(StepListener, Check):
    """Every request is served by the end, unless its node crashed or its component holds no unit.

    An algorithm that addresses any node may depend on a node that it cannot reach, wherever the units are. So may an
    algorithm that assumes a connected network, over radio links: they do not fall before both ends agree. For these
    algorithms, a partition at the end is an excuse: with clusters, one that separates the node's own cluster. Where
    permissions are shared, units excuse nothing, and a crash of another node excuses only requests that cannot do
    without it: their nodes wait for it, or for a node that is itself blocked by it.

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
        self.closed_at = self.patience = 0
        self.parts = 1
        self.cut_off: list[int] = []
        self.calm_since = 0  # when the network was last partitioned, or a node crashed or came back
        self.has_lost_units = False
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
        self.down: set[int] = set()

    def begin(self, start: Start) -> None:
        self.shares_permissions = start.shares == PERMISSIONS
        self.promises_bound = start.promises_bound
        self.are_apart = list(start.units) != list(start.tokens)
        self.needs_all = start.needs == "any node" or (start.over_radio and start.assumes_connected)

    def partition(self, t: int, node: None, parts: int, cut_off: list[int]) -> None:
        self.parts, self.cut_off, self.calm_since = parts, cut_off, t

    def take_steps(self, steps: Iterable[Step]) -> None:
        waiting, asked_at, demanded = self.waiting, self.asked_at, self.demanded
        for kind, t, node, units, _, _ in steps:
            if kind is REQUESTED:
                waiting[node] = asked_at[node] = t
                demanded[node] = units
            elif kind is ENTERED:
                waiting.pop(node, None)

    def evict(self, t: int, node: int) -> None:
        self.waiting[node] = t

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self.crashed_at[node] = self.calm_since = t
        self.down.add(node)
        self.has_lost_units |= bool(units or tokens)
        if self.waiting.pop(node, None) is not None:
            self._excuse("node crashed")

    def restart(self, t: int, node: int, incarnation: int) -> None:
        self.down.discard(node)
        self.restarted_at[node] = self.calm_since = t

    def awaits(self, t: int, node: int, peers: list[int], spares: int) -> None:
        self.awaited[node] = (peers, spares)

    def close(self, t: int, node: None, patience: int) -> None:
        """Note the requests that have waited for too long while the load went on, unless a fault may be to blame."""
        if not self.is_disturbed:
            overdue = {
                node: since for node, since in self.waiting.items() if t - max(since, self.calm_since) > patience
            }
            self.overdue, self.closed_at, self.patience = overdue, t, patience

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        self.has_lost_units |= bool(units or tokens)
        if why == "crash":
            self.lost_between[frozenset((node, peer))] = t

    @property
    def is_disturbed(self) -> bool:
        """Whether nodes are down or cut off from each other or from units, or units were lost."""
        return self.parts > 1 or bool(self.cut_off or self.down) or self.has_lost_units

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

    def _judge(self, t: int, one: Unserved) -> bool:
        """Whether a request that was not served is excused; if not, that is an offence."""
        excuse = self._excuse_of(one)
        if excuse is None:
            what = f"node {one.node} still waits since t={one.since / TICKS:g}"
            why = f"its component of {one.component} holds {one.holds.units} units"
            if self.shares_permissions:
                why = f"for the permission of {self.awaited.get(one.node, ([], 0))[0]}"
            self.offend(t, f"{what}; {why}")
        elif one.alive or one.node in self.waiting:
            self._excuse(excuse)
        return excuse is not None

    def _excuse_of(self, one: Unserved) -> str | None:
        if not one.alive:
            return "node crashed"
        if not self.shares_permissions and one.holds.tokens == 0:
            return "component holds no unit"
        if not self.shares_permissions and self._asks_too_much(one):
            return "component holds too few units"
        if self.are_apart and any(self._asks_too_much(other) for other in self.unserved if other.is_beside(one)):
            return "behind a demand that cannot be served"
        if one.node in self.blocked:
            return "waits for a node that crashed"
        return "network partitioned" if self.needs_all and one.parts > 1 else None

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
                self.offend(self.closed_at, f"{waits}, longer than the patience of {self.patience / TICKS:g}")
        for node in sorted(set(self.waiting) - self.accounted):
            self.offend(t, f"node {node} still waits since t={self.waiting[node] / TICKS:g} and is not accounted for")

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


class Order(Check):
    """Messages between two nodes arrive once each, in the order they were sent, over a link that stays up."""

    name = "order"
    needs_kind = "recv"

    def __init__(self) -> None:
        super().__init__()
        self.over_links = True
        self.flying: dict[tuple[int, int], deque[int]] = {}  # (sender, receiver) -> ids in transit
        self.fallen: dict[tuple[int, int], tuple[int, deque[int]]] = {}  # links that fell with ids in transit, and when

    def begin(self, start: Start) -> None:
        self.over_links = start.needs == "links" and not start.over_radio
        for a, b in start.links:
            self.flying[a, b] = deque()
            self.flying[b, a] = deque()

    def link_up(self, t: int, node: int, peer: int) -> None:
        self._settle(node, peer)
        self.flying.setdefault((node, peer), deque())

    def end(self, t: int, units: list[int], tokens: list[int]) -> None:
        for ends in list(self.fallen):
            self._settle(*ends)

    def _settle(self, node: int, peer: int) -> None:
        t, ids = self.fallen.pop((node, peer), (0, ()))
        if ids:
            self.offend(t, f"the link from {node} to {peer} goes down with messages {list(ids)} in transit")

    def link_down(self, t: int, node: int, peer: int, lag: int) -> None:
        if not self.over_links:
            return
        ids = self.flying.pop((node, peer), None)
        if ids:  # they must be returned before the link forms again
            self.fallen[node, peer] = (t, ids)

    def send(
        self,
        t: int,
        node: int,
        peer: int,
        id: int,
        type: str,
        units: int,
        tokens: int,
        words: int,
        added_words: int,
        fields: Any,
    ) -> None:
        ids = self.flying.get((node, peer))
        if ids is None:
            if self.over_links:
                self.offend(t, f"node {node} sends {type} {id} to {peer} without a link")
            ids = self.flying[node, peer] = deque()
        ids.append(id)

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        ids = self.flying.get((peer, node))
        while ids and ids[0] // SESSION < id // SESSION:
            ids.popleft()  # of a session that is over; if they carried units, the conservation check fails
        if ids and ids[0] == id:
            ids.popleft()
        elif ids and id in ids:
            self.offend(t, f"node {node} receives {type} {id} from {peer} before {ids[0]}")
            ids.remove(id)
        else:
            self.offend(t, f"node {node} receives {type} {id} from {peer}, which is not in transit")

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        self._drop(t, node, peer, id)

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        if why != "crash" or id in self.flying.get((node, peer), ()):  # else its receiver had it, and crashed
            self._drop(t, node, peer, id)

    def _drop(self, t: int, node: int, peer: int, id: int) -> None:
        for ids in (self.flying.get((node, peer)), self.fallen.get((node, peer), (0, None))[1]):
            if ids and id in ids:
                ids.remove(id)
                return
        self.offend(t, f"message {id} of node {node} to {peer} is lost or returned but was not in transit")


class OrderOnLine(Check):
    """The same on line, where the driver itself checks the order of messages and reports those out of order."""

    name = Order.name
    needs_kind = Order.needs_kind

    def disorder(self, t: int, node: int, peer: int, id: int, type: str, last: int) -> None:
        self.offend(t, f"node {node} receives {type} {id} from {peer} after {last}")

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        if why == "no link":
            self.offend(t, f"node {node} sends {type} {id} to {peer} without a link")


CHECKS: tuple[type[Check], ...] = (Safety, Conservation, Starvation, Order)
BATCHED_CHECKS: tuple[type[Check], ...] = (Safety, Conservation, Starvation, OrderOnLine)
