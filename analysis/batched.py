"""Batches, for speed: the few kinds of events that are most of a run, passed as lists of notes.

A run in virtual time is mostly messages, requests, entries and exits, and one Python call per event costs more than
what the checks and metrics do with it. So a driver appends notes of these kinds to lists (`BatchedListener.note_step`,
`note_move`), and checks and metrics take a whole list in one loop (`StepListener.take_steps`,
`MoveListener.take_moves`, or `NoteListener.take_notes` for both in one list). The order is kept: before any other event
that concerns them, and whenever the backend calls `settle`, the notes so far are taken. Where events are passed one by
one, each is a batch of one; tests hold both ways to the same metrics and verdicts (tests/analysis/test_batched.py).

Everything that exists for speed in `analysis` is here, in `analysis.dispatch` and in `analysis.audit.BatchedAudit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from analysis.listener import Listener

REQUESTED, ENTERED, EXITED = "request", "enter", "exit"
SENT, RECEIVED = "send", "recv"
NOTED = (REQUESTED, ENTERED, EXITED, SENT, RECEIVED)

Step = tuple[str, int, int, int, int, int | None]
"""A step of an application: REQUESTED, ENTERED or EXITED, then t, node, units, priority and deadline."""
Move = tuple[str, int, int, int, int, str, int, int]
"""A message leaves or arrives: SENT or RECEIVED, then t, node, peer, id, type, units and tokens."""
Note = tuple[Any, ...]
"""A `Step` or a `Move`."""
STEP_LENGTH = 6


class BatchedListener(Listener):
    """What a driver passes events to: frequent ones as notes, and also to `others`, one by one, if there are any."""

    note_step: Callable[[Step], None]
    note_move: Callable[[Move], None]
    others: Listener | None
    each_message: bool
    """Whether the others need every single message."""

    def settle(self) -> None:
        """Take the notes so far. A backend calls it regularly, so that they do not pile up."""

    def compare(self, t: int, held: Mapping[int, tuple[int, int]]) -> None:
        """The units and tokens that nodes say they hold now, to be compared with what they hold by their messages."""


class StepListener(Listener):
    """Takes requests, entries and exits in batches."""

    def take_steps(self, steps: Iterable[Step]) -> None:
        """Steps of applications, in order."""
        raise NotImplementedError

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self.take_steps(((REQUESTED, t, node, units, priority, deadline),))

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self.take_steps(((ENTERED, t, node, units, priority, deadline),))

    def exit(self, t: int, node: int, units: int) -> None:
        self.take_steps(((EXITED, t, node, units, 0, None),))


class MoveListener(Listener):
    """Takes messages that carry units or tokens in batches; it ignores those that carry none."""

    def take_moves(self, moves: Iterable[Move]) -> None:
        """Messages that leave and arrive, in order."""
        raise NotImplementedError

    def send(
        self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, words: int, added_words: int,
        fields: Any,
    ) -> None:  # fmt: skip
        if units or tokens:
            self.take_moves(((SENT, t, node, peer, id, type, units, tokens),))

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        if units or tokens:
            self.take_moves(((RECEIVED, t, node, peer, id, type, units, tokens),))


class NoteListener(Listener):
    """Takes requests, entries, exits, and messages that carry units or tokens, all in one batch."""

    def take_notes(self, notes: Iterable[Note]) -> None:
        """Steps of applications, and messages that leave and arrive, in order."""
        raise NotImplementedError

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self.take_notes(((REQUESTED, t, node, units, priority, deadline),))

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self.take_notes(((ENTERED, t, node, units, priority, deadline),))

    def exit(self, t: int, node: int, units: int) -> None:
        self.take_notes(((EXITED, t, node, units, 0, None),))

    def send(
        self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, words: int, added_words: int,
        fields: Any,
    ) -> None:  # fmt: skip
        if units or tokens:
            self.take_notes(((SENT, t, node, peer, id, type, units, tokens),))

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        if units or tokens:
            self.take_notes(((RECEIVED, t, node, peer, id, type, units, tokens),))
