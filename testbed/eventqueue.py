"""Virtual time: what is to happen, in order."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

EVENTS_BETWEEN_REPORTS = 20_000


class Halt(Exception):
    """Ends the event loop from within an event; its text says why."""


class EventQueue:
    """A heap of (t, sequence, what happens, its arguments); ties happen in the order they were planned."""

    def __init__(self) -> None:
        self.now = 0
        self.heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._sequence = 0

    def at(self, t: int, happen: Callable[..., None], *args: Any) -> None:
        """Plan an event."""
        self._sequence += 1
        heapq.heappush(self.heap, (t, self._sequence, happen, args))

    def run(self, report: Callable[[], None]) -> str:
        """Let everything happen; returns why it ended."""
        heap, pop = self.heap, heapq.heappop
        try:
            while heap:
                for _ in range(EVENTS_BETWEEN_REPORTS):
                    if not heap:
                        break
                    self.now, _sequence, happen, args = pop(heap)
                    happen(*args)
                report()
        except Halt as halt:
            return str(halt)
        return "nothing left to happen"
