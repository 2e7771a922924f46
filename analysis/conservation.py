"""Conservation: units and tokens are neither made nor lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from analysis.batched import SENT, Move, MoveListener
from analysis.check import PERMISSIONS, Check
from analysis.counted import counted
from analysis.events import Start
from analysis.meanings import MEANINGS
from analysis.neighbourhoods import Whereabouts

INJECTED = ("fault", "crash", "left")
"""Reasons for a lost message that are no offence: the scenario asked for it, or its receiver has left."""


class Amount(NamedTuple):
    """Units, and tokens where these are something else: what nodes hold and messages carry."""

    units: int
    tokens: int

    def plus(self, other: Amount) -> Amount:
        """The sum of two."""
        return Amount(self.units + other.units, self.tokens + other.tokens)

    def __str__(self) -> str:
        """In words; where both are the same number, one is enough."""
        units = counted(self.units, "unit")
        return units if self.units == self.tokens else f"{units} and {counted(self.tokens, 'token')}"


NOTHING = Amount(0, 0)


class Conservation(MoveListener, Check):
    """Units and tokens are neither made nor lost: all are held by a node or in one message in transit.

    After every step of a node, what it says it holds is what it held, plus what it received, less what it sent.

    In a neighbourhood the token may also lie at the place, and may be made anew if it is lost: then no node and no
    place may have one, and a token that is still in transit from the same node must never arrive.
    """

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
        self.kept: list[int] = []  # units whose token lies at the place, by neighbourhood
        self.whereabouts = Whereabouts(Start())
        self.sent_in: dict[tuple[int, int, int], int | None] = {}  # the neighbourhoods of tokens in transit
        self.replaced: set[tuple[int, int, int]] = set()  # tokens in transit that were made anew
        self.made_anew = 0
        self.taken_along = 0  # tokens of nodes that left with them, or before they arrived

    def begin(self, start: Start) -> None:
        if start.shares == PERMISSIONS:
            self.not_applicable = MEANINGS[self.name].permissions
            return
        self.held_units, self.held_tokens = list(start.units), list(start.tokens)
        self.kept, self.whereabouts = list(start.kept), Whereabouts(start)
        at_places = Amount(sum(self.kept), sum(map(bool, self.kept)))
        self.total = Amount(sum(start.units), sum(start.tokens)).plus(at_places)
        if self.total.units != start.capacity:
            self.offend(0, None, f"{counted(self.total.units, 'unit')} at the start, not {start.capacity}")

    def take_moves(self, moves: Iterable[Move]) -> None:
        held_units, held_tokens, in_transit = self.held_units, self.held_tokens, self.in_transit
        places = self.whereabouts.places
        for kind, t, node, peer, id, type, units, tokens in moves:
            if kind is SENT:
                if units > held_units[node] or tokens > held_tokens[node]:
                    amount, holds = Amount(units, tokens), self._holds(node)
                    self.offend(t, node, f"node {node} sends {amount} to {peer} and holds {holds} ({type} {id})")
                held_units[node] -= units
                held_tokens[node] -= tokens
                in_transit[node, peer, id] = (units, tokens)
                if places:
                    self.sent_in[node, peer, id] = self.whereabouts.of(node)
            else:
                if (peer, node, id) in self.replaced:
                    self.offend(
                        t, node, f"node {node} receives a token of node {peer} that was made anew ({type} {id})"
                    )
                carried = in_transit.pop((peer, node, id), NOTHING)
                self.sent_in.pop((peer, node, id), None)
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

    def differences(self, held: Mapping[int, tuple[int, int]]) -> list[tuple[int, Amount, Amount]]:
        """The nodes that say they hold another amount than by their messages: both amounts."""
        if self.not_applicable:
            return []
        units, tokens = self.held_units, self.held_tokens
        return [
            (node, self._holds(node), Amount(*says))
            for node, says in held.items()
            if (units[node], tokens[node]) != says
        ]

    def miscount(
        self, t: int, node: int, units: int, tokens: int, said_units: int, said_tokens: int, event: str
    ) -> None:
        """A node has made or lost units in a step, unless it has just sent more than it held, which was reported."""
        had, says = Amount(units, tokens), Amount(said_units, said_tokens)
        if min(had) >= 0:
            less = says.units < had.units or says.tokens < had.tokens
            amount = Amount(abs(had.units - says.units), abs(had.tokens - says.tokens))
            self.offend(t, node, f"node {node} {'loses' if less else 'makes'} {amount} in {event}: it now holds {says}")
        self.held_units[node], self.held_tokens[node] = says

    def _differ(self, t: int, what: str, id: int, sender: int, carried: Amount) -> None:
        self.offend(t, sender, f"{what} of message {id} of node {sender}, which carries {carried}")

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        amount = Amount(units, tokens)
        if amount != NOTHING and (node, peer, id) not in self.replaced:
            carried = self.in_transit.pop((node, peer, id), NOTHING)
            self.sent_in.pop((node, peer, id), None)
            if carried == NOTHING and why == "crash" and peer in self.crashed:
                return  # it had arrived, and was counted as lost when its receiver crashed
            if carried != amount:
                self.offend(t, node, f"message {id} of node {node} is lost but was not in transit with {amount}")
            self.taken_along += tokens if why == "left" else 0
            if why not in INJECTED:
                self.offend(t, node, f"node {node} loses {amount} to {peer}: {why} ({type} {id})")
            self.lost_amount = self.lost_amount.plus(amount)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        if self.not_applicable:
            return
        amount = Amount(units, tokens)
        if amount != self._holds(node):
            self.offend(t, node, f"node {node} crashes with {amount}; by its messages it holds {self._holds(node)}")
        self.held_units[node] = self.held_tokens[node] = 0
        self.lost_amount = self.lost_amount.plus(amount)
        self.crashed.add(node)
        self.whereabouts.move(node, None)

    # -- in neighbourhoods -------------------------------------------------------------------------------------------

    def join(
        self, t: int, node: int, group: int, visit: int, members: list[list[int]], units: int, tokens: int, fields: Any
    ) -> None:
        self.whereabouts.move(node, group)
        if units != (self.kept[group] if units else 0):
            what = f"node {node} takes {counted(units, 'unit')} from place {group}"
            self.offend(t, node, f"{what}, which has {self.kept[group]}")
        self._take_up(node, group, units, tokens)

    def deposit(self, t: int, node: int, group: int, units: int, tokens: int, fields: Any) -> None:
        if self.kept[group] or Amount(units, tokens) != self._holds(node):
            has = f"holds {self._holds(node)}, and {self.kept[group]} lie there"
            self.offend(t, node, f"node {node} puts {Amount(units, tokens)} down at place {group}; it {has}")
        self._take_up(node, group, -units, -tokens)

    def refused(self, t: int, node: int, group: int, units: int, tokens: int, fields: Any) -> None:
        self._take_up(node, group, units, tokens)

    def _take_up(self, node: int, group: int, units: int, tokens: int) -> None:
        self.held_units[node] += units
        self.held_tokens[node] += tokens
        self.kept[group] -= units

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        amount = Amount(units, tokens)
        if amount != self._holds(node) or (ready and amount != NOTHING):
            how = "ready to leave" if ready else "leaving"
            self.offend(t, node, f"node {node}, {how}, has {amount}; by its messages it holds {self._holds(node)}")
        self.held_units[node] = self.held_tokens[node] = 0
        self.lost_amount = self.lost_amount.plus(amount)
        self.taken_along += tokens
        self.whereabouts.move(node, None)

    def regenerate(self, t: int, node: int, group: int, units: int, tokens: int) -> None:
        """The token of a neighbourhood is made anew: there must be no other."""
        of = self.whereabouts.of
        holders = [other for other, held in enumerate(self.held_tokens) if held and of(other) == group]
        moving = [key for key in self.in_transit if self.sent_in.get(key) == group]
        elsewhere = [key for key in moving if key[0] != node]
        if holders or elsewhere or self.kept[group]:
            where = f"nodes {holders} hold one" if holders else f"{elsewhere} is in transit"
            where = "one lies at its place" if self.kept[group] else where
            self.offend(t, node, f"node {node} makes the token of neighbourhood {group} anew, and {where}")
        for key in moving:
            if key[0] == node:
                self.lost_amount = self.lost_amount.plus(Amount(*self.in_transit.pop(key)))
                del self.sent_in[key]
                self.replaced.add(key)
        if units != self.whereabouts.places[group]:
            self.offend(
                t, node, f"node {node} makes a token of {counted(units, 'unit')} anew for neighbourhood {group}"
            )
        self.held_units[node] += units
        self.held_tokens[node] += tokens
        self.lost_amount = self.lost_amount.plus(Amount(-units, -tokens))
        self.made_anew += tokens

    def end(self, t: int, units: list[int], tokens: list[int]) -> None:
        if self.not_applicable:
            return
        for node, (says, _) in enumerate(zip(map(Amount, units, tokens), self.held_units, strict=True)):
            if says != (holds := self._holds(node)):
                self.offend(t, node, f"node {node} says it holds {says}; by its messages it holds {holds}")

    def remark(self) -> str:
        total, lost = self.total, self.lost_amount
        moving = Amount(*map(sum, zip(NOTHING, *self.in_transit.values(), strict=True)))
        are_apart = any(one.units != one.tokens for one in (total, lost, moving))
        in_words = str if are_apart else lambda amount: str(amount.units)
        kept = f"{total.units - lost.units} of {counted(total.units, 'unit')} kept"
        if are_apart:
            kept += f", {total.tokens - lost.tokens} of {counted(total.tokens, 'token')}"
        kept += f", {in_words(moving)} of them on the way at the end" if moving != NOTHING else ""
        kept += f", {self.made_anew} lost and made anew" if self.made_anew else ""
        how = "to injected faults" if not self.taken_along else "to faults and to nodes that left"
        return kept + (f", {in_words(lost)} lost {how}" if lost != NOTHING else "")
