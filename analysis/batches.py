"""What happens most often, in batches.

A run is told event by event, and a call of Python costs more than what most listeners do with an event. So those who
need not know at once say what they do with many events, in one loop; a single one is a batch of one. Whoever tells them
keeps the order: before anything else that concerns them, the batch so far is settled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from analysis.listener import Listener

REQUESTED, ENTERED, EXITED = "request", "enter", "exit"
SENT, RECEIVED = "send", "recv"
NOTED = (REQUESTED, ENTERED, EXITED, SENT, RECEIVED)

Step = tuple[str, int, int, int]
"""A step of an application: REQUESTED, ENTERED or EXITED, then t, node and units."""
Move = tuple[str, int, int, int, int, str, int]
"""A message leaves or arrives: SENT or RECEIVED, then t, node, peer, id, type and units."""


class Noting(Listener):
    """What a driver tells everything to: it may note what happens most, and tells `others`, if any, of each event."""

    note_step: Callable[[Step], None]
    note_move: Callable[[Move], None]
    others: Listener | None
    each_message: bool
    """Whether the others want to know of every single message."""


class StepListener(Listener):
    """Takes requests, entries and exits in batches."""

    def take_steps(self, steps: Iterable[Step]) -> None:
        """Steps of applications, in order."""
        raise NotImplementedError

    def request(self, t: int, node: int, units: int, priority: int) -> None:
        self.take_steps(((REQUESTED, t, node, units),))

    def enter(self, t: int, node: int, units: int) -> None:
        self.take_steps(((ENTERED, t, node, units),))

    def exit(self, t: int, node: int, units: int) -> None:
        self.take_steps(((EXITED, t, node, units),))


class MoveListener(Listener):
    """Takes messages that carry units in batches; those that carry none do not concern it."""

    def take_moves(self, moves: Iterable[Move]) -> None:
        """Messages that leave and arrive, in order."""
        raise NotImplementedError

    def send(self, t: int, node: int, peer: int, id: int, type: str, units: int, words: int, fields: Any) -> None:
        if units:
            self.take_moves(((SENT, t, node, peer, id, type, units),))

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int) -> None:
        if units:
            self.take_moves(((RECEIVED, t, node, peer, id, type, units),))
