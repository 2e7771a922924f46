"""How often nodes change their heights, in algorithms that direct links by heights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.message import Message
from analysis.events import LEVELS, Start, supports
from analysis.listener import Listener

HEIGHT_LENGTH = 3
"""A height is two integers and the node's own number."""


class HeightMetrics(Listener):
    """Counts how often nodes announce a height other than in their message before.

    A node's height is the field `height` of its messages, which ends with the node's own number. A log holds only the
    values of fields, so there it is the first one, of a type of messages that all begin with such a triple. A node that
    changes its height twice and says so once has changed it once, and its first message, or the first after a restart,
    changes nothing. What nodes send that can reach no unit does not count. Only where every message is seen.
    """

    def __init__(self) -> None:
        self._trace = LEVELS[0]
        self.sees_messages = True
        """Whether each message is passed on; on line in virtual time, only if another listener wants them."""
        self._warmup = 0
        self._cut_off: frozenset[int] = frozenset()
        self._heights: dict[int, Sequence[int]] = {}  # what every node announced last
        self._changes: dict[str, int] = {}  # by type of messages
        self._without: set[str] = set()  # the types that have no height

    def start(self, t: int, node: None, *fields: Any) -> None:
        start = Start(*fields)
        self._trace, self._warmup = start.trace, start.warmup

    def send(
        self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, words: int, added_words: int,
        fields: Any,
    ) -> None:  # fmt: skip
        height = _height_in(fields, node)
        if height is None:
            self._without.add(type)
            return
        before = self._heights.get(node, height)
        is_change = height != before and t >= self._warmup and node not in self._cut_off
        self._changes[type] = self._changes.get(type, 0) + is_change
        self._heights[node] = height

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self._heights.pop(node, None)

    def partition(self, t: int, node: None, parts: int, cut_off: list[int]) -> None:
        self._cut_off = frozenset(cut_off)

    def result(self, entries: int | None) -> dict[str, Any]:
        """The metric, given how many entries there were; None where messages have no heights or are not seen."""
        changes = [count for type, count in self._changes.items() if type not in self._without]
        knows = self.sees_messages and supports(self._trace, "send") and changes
        return {"height_changes_per_cs": sum(changes) / entries if knows and entries else None}


def _height_in(fields: Any, node: int) -> Sequence[int] | None:
    """The height of the sender in the fields of its message, on line or as a log holds them."""
    if isinstance(fields, Message):
        height = getattr(fields, "height", None)
        return None if height is None else list(height)
    first = fields[0] if fields else None
    return first if isinstance(first, list) and len(first) == HEIGHT_LENGTH and first[-1] == node else None
