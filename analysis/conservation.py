"""Conservation: units and tokens are neither made nor lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from analysis.batched import SENT, Move, MoveListener
from analysis.check import PERMISSIONS, Check
from analysis.events import Start

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
