"""Listeners: objects that receive the events of a run, on line or from its log."""

from __future__ import annotations

from typing import Any


class Listener:
    """Receives the events of one repetition, one method a kind, in the order they happen.

    Events of every kind are passed as `listener.<kind>(t, node, *fields)`. This base class does nothing with any of
    them, so a subclass defines methods for the kinds that it needs.
    """

    def start(self, t: int, node: None, *fields: Any) -> None:
        """The run begins; the fields are those of `analysis.events.Start`."""

    def stop(self, t: int, node: None, reason: str, units: list[int], tokens: list[int]) -> None:
        """The run ends."""

    def close(self, t: int, node: None, patience: int) -> None:
        """No more requests are made; one that has been pending for more than `patience` ticks has waited too long."""

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
        """A request is still pending at the end."""

    def awaits(self, t: int, node: int, peers: list[int], spares: int) -> None:
        """At the end a node waits for these nodes and can do without so many of them; comes before all `pending`."""

    def frames(self, t: int, node: None, type: str, count: int, bytes: int) -> None:
        """So many frames of a type went over the air since the warmup, those with messages and all others."""

    def lateness(
        self,
        t: int,
        node: None,
        medium_ms: dict[str, float] | None,
        station_ms: dict[str, float] | None,
        bound_ms: float,
    ) -> None:
        """How much later than due the medium passed datagrams on and the latest station acted, where time is real."""

    def breach(self, t: int, node: int | None, algorithm: str, event: str, output: str, why: str) -> None:
        """The algorithm broke the contract, which ends the repetition."""

    def miscount(
        self, t: int, node: int, units: int, tokens: int, said_units: int, said_tokens: int, event: str
    ) -> None:
        """After an event, a node says that it holds another amount than by its messages."""

    def partition(self, t: int, node: None, parts: int, cut_off: list[int]) -> None:
        """The network has so many components, and these nodes can reach no unit. At the start: one, and no node."""

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        """A node crashes; the units and tokens that it holds are lost."""

    def restart(self, t: int, node: int, incarnation: int) -> None:
        """A crashed node comes back with an empty state."""

    def fault(self, t: int, node: int | None, fault: str, detail: Any) -> None:
        """A fault of the scenario is carried out."""

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        """A message will never arrive."""

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        """The application asks for its critical section."""

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        """The application enters its critical section."""

    def exit(self, t: int, node: int, units: int) -> None:
        """The application leaves its critical section."""

    def evict(self, t: int, node: int) -> None:
        """The application is taken out of its critical section, because its node leaves; it asks again on arrival."""

    def join(
        self, t: int, node: int, group: int, visit: int, members: list[list[int]], units: int, tokens: int, fields: Any
    ) -> None:
        """A node is in a neighbourhood, with these others, and takes what lay at the place."""

    def leaving(self, t: int, node: int, group: int) -> None:
        """A node is about to leave its neighbourhood."""

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        """A node has left its neighbourhood; the units and tokens that it still had are lost."""

    def deposit(self, t: int, node: int, group: int, units: int, tokens: int, fields: Any) -> None:
        """The last node of a neighbourhood puts its token down."""

    def refused(self, t: int, node: int, group: int, units: int, tokens: int, fields: Any) -> None:
        """The token that a node put down comes back to it."""

    def regenerate(self, t: int, node: int, group: int, units: int, tokens: int) -> None:
        """A node makes a token anew that was lost."""

    def free(self, t: int, node: int, group: int, free: int, units: int) -> None:
        """A token leaves, with so many of its units free."""

    def broadcast(self, t: int, node: int, group: int, type: str, receivers: int, fields: Any) -> None:
        """The next messages of a node to so many receivers are one transmission."""

    def link_up(self, t: int, node: int, peer: int) -> None:
        """A node learns of a new link."""

    def link_down(self, t: int, node: int, peer: int, lag: int) -> None:
        """A node learns that a link is gone."""

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
        """A message leaves."""

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        """A message arrives."""

    def relay(
        self, t: int, node: int, source: int, target: int, id: int, type: str, words: int, added_words: int
    ) -> None:
        """A node between source and target passes a message on."""

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        """A message comes back to its sender (kind `return`)."""

    def timer(self, t: int, node: int, name: str) -> None:
        """A timer of an agent runs out."""

    # Only on line, instead of every single message (see `analysis.batched`).

    def sent(self, type: str, count: int, words: int, added_words: int, token_hops: int) -> None:
        """So many messages of a type were sent since the warmup, and so many of them carried tokens."""

    def sent_cut_off(self, count: int) -> None:
        """So many messages were sent since the warmup by nodes that could reach no unit; `sent` does not count them."""

    def disorder(self, t: int, node: int, peer: int, id: int, type: str, last: int) -> None:
        """A message arrives after `last`, which was sent later."""


def method_name(kind: str) -> str:
    """The listener's method for a kind; `return` is a keyword of Python."""
    return "returned" if kind == "return" else kind
