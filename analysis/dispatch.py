"""Passing events to several listeners, compiled for speed.

An event goes only to the listeners that have a method for its kind, by one function per kind whose source is generated
once: forwarding `*args` would cost twice as much.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from analysis.events import KINDS
from analysis.listener import Listener, method_name


def heeds(listener: Listener, name: str) -> bool:
    """Whether a listener does anything with a kind of event, by a method of its class or one set on itself.

    Not looked up in `vars(listener)`: in CPython 3.11, reading an object's `__dict__` once makes its attributes slow.
    """
    return getattr(getattr(listener, name), "__func__", None) is not getattr(Listener, name)


def defines(kind: type[Listener], name: str) -> bool:
    """Whether a class of listeners has a method of its own for a kind of event."""
    return getattr(kind, name) is not getattr(Listener, name)


class Fan(Listener):
    """Passes every event to those of its listeners that heed its kind, in order.

    Events of a kind for which a subclass defines a method go to that method only.
    """

    def __init__(self, *listeners: Listener) -> None:
        for name in map(method_name, KINDS):
            if not defines(type(self), name):
                self._pass_on(name, listeners)

    def _pass_on(self, name: str, listeners: Sequence[Listener], first: Callable[[], None] | None = None) -> None:
        """Set a method that calls the method of every listener that defines it, and before that `first`, if given."""
        concerned = [getattr(one, name) for one in listeners if heeds(one, name)]
        alone = len(concerned) == 1 and first is None
        setattr(self, name, concerned[0] if alone else _to_all(name, concerned, first))


def _to_all(name: str, concerned: list[Callable[..., None]], first: Callable[[], None] | None) -> Callable[..., None]:
    """One function that calls them all, compiled for the event's arguments."""
    parameters = list(inspect.signature(getattr(Listener, name)).parameters.values())[1:]
    arguments = [f"*{one.name}" if one.kind is one.VAR_POSITIONAL else one.name for one in parameters]
    call = f"({', '.join(arguments)})"
    lines = [f"    listen_{index}{call}" for index in range(len(concerned))] or ["    pass"]
    scope: dict[str, Any] = {f"listen_{index}": listen for index, listen in enumerate(concerned)}
    if first is not None:
        lines.insert(0, "    first()")
        scope["first"] = first
    exec("\n".join([f"def {name}{call}:", *lines]), scope)
    compiled: Callable[..., None] = scope[name]
    return compiled
