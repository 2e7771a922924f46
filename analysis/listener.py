"""Listeners: whatever follows a run event by event, on line or from its log."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from analysis.events import KINDS


class Listener:
    """Takes the events of one repetition, one method a kind, in the order they happen.

    Events of every kind are passed as `listener.<kind>(t, node, *fields)`. This base class takes them all and does
    nothing, so a subclass defines what it needs.
    """

    def start(
        self,
        t: int,
        node: None,
        version: int,
        trace: str,
        needs: str,
        capacity: int,
        warmup: int,
        units: list[int],
        links: list[list[int]],
    ) -> None:
        """The run begins."""

    def stop(self, t: int, node: None, reason: str, units: list[int]) -> None:
        """The run ends."""

    def pending(self, t: int, node: int, since: int, alive: bool, component: int, component_units: int) -> None:
        """A request is still open at the end."""

    def frames(self, t: int, node: None, type: str, count: int, bytes: int) -> None:
        """So many frames of a type went over the air since the warmup, for the link layer's own purposes or others'."""

    def lateness(self, t: int, node: None, medium_ms: dict[str, float]) -> None:
        """How much later than it was due the medium passed datagrams on, where time is real."""

    def partition(self, t: int, node: None, parts: int, cut_off: list[int]) -> None:
        """The network has so many parts, and these nodes can reach no unit. It begins as one, with nobody cut off."""

    def crash(self, t: int, node: int, units: int) -> None:
        """A node fails and takes what it holds with it."""

    def restart(self, t: int, node: int, incarnation: int) -> None:
        """A failed node comes back, empty."""

    def fault(self, t: int, node: int | None, fault: str, detail: Any) -> None:
        """A fault of the scenario is carried out."""

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, why: str) -> None:
        """A message will never arrive."""

    def request(self, t: int, node: int, units: int, priority: int) -> None:
        """The application asks for its critical section."""

    def enter(self, t: int, node: int, units: int) -> None:
        """The application enters its critical section."""

    def exit(self, t: int, node: int, units: int) -> None:
        """The application leaves its critical section."""

    def evict(self, t: int, node: int) -> None:
        """The application is taken out of its critical section and waits again."""

    def link_up(self, t: int, node: int, peer: int) -> None:
        """A node learns of a new link."""

    def link_down(self, t: int, node: int, peer: int, lag: int) -> None:
        """A node learns that a link is gone."""

    def send(self, t: int, node: int, peer: int, id: int, type: str, units: int, words: int, fields: Any) -> None:
        """A message leaves."""

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int) -> None:
        """A message arrives."""

    def relay(self, t: int, node: int, source: int, target: int, id: int, type: str, words: int) -> None:
        """A node on the way from source to target passes a message on."""

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int) -> None:
        """A message comes back to its sender (kind `return`)."""

    def timer(self, t: int, node: int, name: str) -> None:
        """A timer of an agent runs out."""

    # Told on line only, in place of every single message, to listeners that can do without (see `Live`).

    def sent(self, type: str, count: int, words: int) -> None:
        """So many messages of a type were sent since the warmup."""

    def sent_cut_off(self, count: int) -> None:
        """So many messages were sent since the warmup by nodes that could reach no unit; `sent` leaves them out."""

    def disorder(self, t: int, node: int, peer: int, id: int, type: str, last: int) -> None:
        """A message arrives although a later one, `last`, came before it."""


def method_name(kind: str) -> str:
    """The listener's method for a kind; `return` is a word of Python's own."""
    return "returned" if kind == "return" else kind


def heeds(listener: Listener, name: str) -> bool:
    """Whether a listener does anything with a kind of event, by a method of its class or one set on itself.

    Not asked of `vars(listener)`: in CPython 3.11 whoever's `__dict__` was read once is slow ever after.
    """
    return getattr(getattr(listener, name), "__func__", None) is not getattr(Listener, name)


def defines(kind: type[Listener], name: str) -> bool:
    """Whether a class of listeners has a method of its own for a kind of event."""
    return getattr(kind, name) is not getattr(Listener, name)


class Fan(Listener):
    """Passes every event to those of its listeners that heed its kind, in order.

    A subclass may define methods of its own: events of those kinds it deals with itself.
    """

    def __init__(self, *listeners: Listener) -> None:
        for name in map(method_name, KINDS):
            if not defines(type(self), name):
                self._pass_on(name, listeners)

    def _pass_on(self, name: str, listeners: Sequence[Listener], first: Callable[[], None] | None = None) -> None:
        """Let a method call that of all listeners who define it, after `first` if there is that."""
        concerned = [getattr(one, name) for one in listeners if heeds(one, name)]
        alone = len(concerned) == 1 and first is None
        setattr(self, name, concerned[0] if alone else _to_all(name, concerned, first))


def _to_all(name: str, concerned: list[Callable[..., None]], first: Callable[[], None] | None) -> Callable[..., None]:
    """One function that calls them all, compiled for the event's arguments: passing them as *args costs double."""
    arguments = list(inspect.signature(getattr(Listener, name)).parameters)[1:]
    call = f"({', '.join(arguments)})"
    lines = [f"    listen_{index}{call}" for index in range(len(concerned))] or ["    pass"]
    scope: dict[str, Any] = {f"listen_{index}": listen for index, listen in enumerate(concerned)}
    if first is not None:
        lines.insert(0, "    first()")
        scope["first"] = first
    exec("\n".join([f"def {name}{call}:", *lines]), scope)
    compiled: Callable[..., None] = scope[name]
    return compiled
