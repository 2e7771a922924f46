"""Nodes share no memory, also where all of them run in one process.

A list that an algorithm declares in its class is one list for all nodes of the simulator, and another one on every
station: an algorithm that keeps state there works in `sim` only.
"""

from __future__ import annotations

from enum import Enum
from types import FunctionType
from typing import Any

from agents.contract import Agent
from testbed.runtime.breach import AgentError

_CONSTANT = (int, float, str, bytes, frozenset, type, Enum, type(None))
_CODE = (FunctionType, property, classmethod, staticmethod)


class SharedMemory:
    """What the classes of an algorithm hold that could change, besides what every algorithm declares."""

    def __init__(self, algorithm: type[Agent]) -> None:
        self._classes = [kind for kind in algorithm.__mro__ if issubclass(kind, Agent) and kind is not Agent]
        self._before = self._contents()

    def _contents(self) -> dict[tuple[str, str], str]:
        return {
            (kind.__name__, name): _text(value)
            for kind in self._classes
            for name, value in vars(kind).items()
            if not isinstance(value, _CODE) and not name.startswith("__") and not hasattr(Agent, name)
        }

    def check(self, t: int) -> None:
        """`AgentError` if anything in it has changed."""
        after = self._contents()
        changed = [key for key in after if after[key] != self._before.get(key)]
        if changed:
            where = ".".join(changed[0])
            raise AgentError(f"{where} has changed during the run: nodes share no memory, so state is in `self`", t=t)


def _text(value: Any) -> str:
    """Contents to compare. A constant is the same object as long as it is the same."""
    return str(id(value)) if isinstance(value, _CONSTANT) else repr(value)
