"""Algorithms that run in neighbourhoods: a correct one, KLME, and wrong ones made of it.

This file runs by itself as the `file` of a scenario's algorithm, so it imports nothing but `agents`.
"""

from __future__ import annotations

from dataclasses import replace

from agents.contract import CRITICAL, REMAINDER, Agent, Demand
from agents.groups import Member
from agents.klme import KLME
from agents.klme_messages import PerGrant, Token


class Places(KLME):
    """Correct: KLME."""

    summary = "k-local mutual exclusion"


class OneTooManyHere(KLME):
    """The leader has one unit more to give than its neighbourhood has."""

    @property
    def free(self) -> int:
        """One more."""
        return self.capacity_here + 1 - len(self.alloc)


class EntersOnArrival(KLME):
    """Enters on a permission of the neighbourhood that it has left: only the leader asks anybody."""

    def on_request(self, demand: Demand) -> None:
        """No node here is asked."""
        if self.holds_token or self.group is None:
            super().on_request(demand)
        else:
            self.status = CRITICAL
            self.enter()

    def on_release(self) -> None:
        """No node here is told."""
        self.note_own()
        super().on_release()

    def on_leaving(self, group: int) -> None:
        """As if all were in order."""
        self.note_own()
        super().on_leaving(group)

    def note_own(self) -> None:
        """A node that has become the leader while it was inside has no entry in the token's list."""
        own = (self.node, self.number)
        if self.holds_token and self.status is CRITICAL and own not in self.alloc:
            self.alloc.append(own)


class TakesTokenAlong(KLME):
    """A leader that leaves keeps the token."""

    def hand_over(self) -> None:
        """It goes as it is."""
        if self.group is not None:
            self.ready_to_leave(self.group)


class MakesTokens(KLME):
    """A leader makes the token anew although it is not lost, each time that it has sent it."""

    def transfer(self, target: Member) -> None:
        """One for the way, one for home."""
        units = self.capacity_here
        super().transfer(target)
        self.regenerate(units)


class HoardsHere(KLME):
    """An idle leader does not pass the token on: others enter only while it is inside itself."""

    def serve(self) -> None:
        """What is mine is mine."""
        if self.status is not REMAINDER or self.leaving:
            super().serve()


class TokenOfMore(KLME):
    """A token that is passed on says that more units are free than there are."""

    def send(self, peer: int, message: object) -> None:
        """One more."""
        if isinstance(message, Token):
            message = replace(message, free=message.free + 1)
        super().send(peer, message)  # type: ignore[arg-type]


class DropsGrants(KLME):
    """Takes no permission, so that only leaders enter."""

    def on_per_grant(self, peer: int, message: PerGrant) -> None:
        """No, thank you."""


ALGORITHMS: dict[str, type[Agent]] = {
    "places": Places,
    "one-too-many-here": OneTooManyHere,
    "enters-on-arrival": EntersOnArrival,
    "takes-token-along": TakesTokenAlong,
    "makes-tokens": MakesTokens,
    "hoards-here": HoardsHere,
    "token-of-more": TokenOfMore,
    "drops-grants": DropsGrants,
}
