"""One repetition, measured and judged: the metrics and all checks as a single listener."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.contract import TICKS
from analysis.batched import (
    ENTERED,
    EXITED,
    NOTED,
    RECEIVED,
    REQUESTED,
    SENT,
    STEP_LENGTH,
    BatchedListener,
    MoveListener,
    Note,
    NoteListener,
    StepListener,
)
from analysis.check import FAILED, INCONCLUSIVE, Check
from analysis.checks import BATCHED_CHECKS, CHECKS
from analysis.conservation import Conservation
from analysis.demands import DemandMetrics
from analysis.dispatch import Fan, defines, heeds
from analysis.events import KINDS, LEVELS, Start
from analysis.height_changes import HeightMetrics
from analysis.listener import Listener, method_name
from analysis.metrics import Metrics
from analysis.neighbourhoods import NeighbourhoodMetrics, transmissions_per_entry
from analysis.network import NetworkMetrics, frames_per_entry
from analysis.progress import Progress
from analysis.starvation import Starvation
from analysis.timing import late
from analysis.tokens import TokenMetrics

MAY_BE_LATE = (Starvation.name, Progress.name)
"""What may fail because the machine was too slow, and not the algorithm."""


class Audit(Fan):
    """Passes every event to the metrics and to the checks that need its kind. For logs; on line, see the subclasses."""

    def __init__(self, *others: Listener, checks: tuple[type[Check], ...] = CHECKS) -> None:
        self._metrics, self._demands, self._network = Metrics(), DemandMetrics(), NetworkMetrics()
        self._tokens, self._heights, self._places = TokenMetrics(), HeightMetrics(), NeighbourhoodMetrics()
        self._checks = [check() for check in checks]
        measures = (self._metrics, self._demands, self._tokens, self._heights, self._network, self._places)
        self._judges: tuple[Listener, ...] = (*measures, *self._checks)
        super().__init__(*self._judges, *others)

    def metrics(self) -> dict[str, Any]:
        """What was measured."""
        metrics = {**self._metrics.result(), **self._demands.result(), **self._tokens.result()}
        metrics |= self._heights.result(metrics["entries"])
        metrics |= self._network.result()
        places = self._places.result()
        saved = places.pop("messages_saved")
        return {**metrics, **frames_per_entry(metrics), **transmissions_per_entry(metrics, saved), **places}

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """What every check says."""
        verdicts = {check.name: check.verdict().as_dict() for check in self._checks}
        if late(verdicts):
            for name in MAY_BE_LATE:
                if name in verdicts and verdicts[name]["verdict"] == FAILED:
                    verdicts[name] = {**verdicts[name], "verdict": INCONCLUSIVE}
        return verdicts

    @property
    def has_begun(self) -> bool:
        """Whether it has received the start of a run."""
        return any(check.trace is not None for check in self._checks)

    def so_far(self) -> str:
        """For a progress line: how many entries there were, how many nodes wait, and which checks have failed when."""
        broken = [f"{check.name} FAILED{_since(check)}" for check in self._checks if check.offences]
        verdicts = ", ".join(broken) or "no offence"
        return f"{self._metrics.entries} entries, {self._metrics.waiting} waiting, {verdicts}"


def _since(check: Check) -> str:
    """Where the first offence can be seen, if it can."""
    return "" if check.first is None else f" at t={check.first['t'] / TICKS:g}"


class EventAudit(Audit):
    """An audit of a run while it goes on, and other listeners to it, such as its log: for backends in real time.

    It receives every event, messages included, whatever the scenario's trace level; so the checks and metrics are given
    the highest level.
    """

    def __init__(self, *others: Listener, checks: tuple[type[Check], ...] = CHECKS) -> None:
        super().__init__(*others, checks=checks)
        self._start_judges, self._start_others = Fan(*self._judges).start, Fan(*others).start

    def start(self, t: int, node: None, *fields: Any) -> None:
        self._start_judges(t, node, *Start(*fields)._replace(trace=LEVELS[-1]))
        self._start_others(t, node, *fields)


class BatchedAudit(EventAudit, BatchedListener):
    """Receives frequent events as notes: for backends in virtual time (`analysis.batched`).

    The driver counts messages itself and passes the sums at the end (`sent`); it checks their order itself and reports
    those out of order (`disorder`); and it notes messages that carry units, which are few. The other listeners, such as
    a log of every event, receive everything as it happens; if they want every message, `each_message` is true, and
    `others` is None if none of them needs what is noted.
    """

    def __init__(self, *others: Listener) -> None:
        super().__init__(*others, checks=BATCHED_CHECKS)
        (self._conservation,) = (one for one in self._checks if isinstance(one, Conservation))
        self._compared_at: dict[int, int] = {}  # when a node was last asked
        self._notes: list[Note] = []
        self._step_listeners = [one for one in self._judges if isinstance(one, StepListener)]
        self._move_listeners = [one for one in self._judges if isinstance(one, MoveListener)]
        self._note_listeners = [one for one in self._judges if isinstance(one, NoteListener)]
        self.note_step = self.note_move = self._notes.append
        self.each_message = any(heeds(one, name) for one in others for name in ("send", "recv"))
        self._heights.sees_messages = self.each_message
        singly = (*others, self._heights) if self.each_message else others
        self.others = Fan(*singly) if any(heeds(one, name) for one in others for name in NOTED) else None
        batched = (*self._step_listeners, *self._move_listeners, *self._note_listeners)
        for name in map(method_name, KINDS):
            if any(heeds(one, name) for one in batched) and not defines(BatchedAudit, name):
                self._pass_on(name, (*self._judges, *others), first=self.settle)
        for name in ("sent", "sent_cut_off", "disorder"):
            self._pass_on(name, self._judges)
        self._pass_on("relay", others)

    def settle(self) -> None:
        """Let checks and metrics take the notes in the batches."""
        notes = self._notes
        steps = [note for note in notes if len(note) == STEP_LENGTH]
        moves = [note for note in notes if len(note) != STEP_LENGTH]
        for step_listener in self._step_listeners:
            step_listener.take_steps(steps)
        for move_listener in self._move_listeners:
            move_listener.take_moves(moves)
        for note_listener in self._note_listeners:
            note_listener.take_notes(notes)
        notes.clear()

    def compare(self, t: int, held: Mapping[int, tuple[int, int]]) -> None:
        self.settle()
        for node, by_messages, says in self._conservation.differences(held):
            since = self._compared_at.get(node, 0)
            self.miscount(t, node, *by_messages, *says, f"a step after t={since / TICKS:g}")
        self._compared_at.update(dict.fromkeys(held, t))

    def metrics(self) -> dict[str, Any]:
        """What was measured."""
        self.settle()
        return super().metrics()

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """What every check says."""
        self.settle()
        return super().verdicts()

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self.note_step((REQUESTED, t, node, units, priority, deadline))
        if self.others is not None:
            self.others.request(t, node, units, priority, deadline)

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self.note_step((ENTERED, t, node, units, priority, deadline))
        if self.others is not None:
            self.others.enter(t, node, units, priority, deadline)

    def exit(self, t: int, node: int, units: int) -> None:
        self.note_step((EXITED, t, node, units, 0, None))
        if self.others is not None:
            self.others.exit(t, node, units)

    def send(
        self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, words: int, added_words: int,
        fields: Any,
    ) -> None:  # fmt: skip
        if units or tokens:
            self.note_move((SENT, t, node, peer, id, type, units, tokens))
        if self.others is not None:
            self.others.send(t, node, peer, id, type, units, tokens, words, added_words, fields)

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        if units or tokens:
            self.note_move((RECEIVED, t, node, peer, id, type, units, tokens))
        if self.others is not None:
            self.others.recv(t, node, peer, id, type, units, tokens)
