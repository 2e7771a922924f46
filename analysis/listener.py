"""Listeners: whatever follows a run event by event, on line or from its log."""

from __future__ import annotations

from collections.abc import Callable
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

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int) -> None:
        """A message comes back to its sender (kind `return`)."""

    def timer(self, t: int, node: int, name: str) -> None:
        """A timer of an agent runs out."""


def method_name(kind: str) -> str:
    """The listener's method for a kind; `return` is a word of Python's own."""
    return "returned" if kind == "return" else kind


def heeds(listener: Listener, name: str) -> bool:
    """Whether a listener does anything with a kind of event."""
    return name in vars(listener) or getattr(type(listener), name) is not getattr(Listener, name)


class Fan(Listener):
    """Passes every event to those of its listeners that heed its kind, in order."""

    def __init__(self, *listeners: Listener) -> None:
        for kind in KINDS:
            name = method_name(kind)
            concerned = [getattr(one, name) for one in listeners if heeds(one, name)]
            if concerned:
                setattr(self, name, concerned[0] if len(concerned) == 1 else _to_all(concerned))


def _to_all(concerned: list[Callable[..., None]]) -> Callable[..., None]:
    def pass_on(*event: Any) -> None:
        for listen in concerned:
            listen(*event)

    return pass_on
