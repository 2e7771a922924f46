"""One repetition, measured and judged: the metrics and all checks as a single listener."""

from __future__ import annotations

from typing import Any

from analysis.batches import (
    ENTERED,
    EXITED,
    NOTED,
    RECEIVED,
    REQUESTED,
    SENT,
    Move,
    MoveListener,
    Noting,
    Step,
    StepListener,
)
from analysis.checks import CHECKS, LIVE_CHECKS, Check
from analysis.events import KINDS, LEVELS
from analysis.listener import Fan, Listener, defines, heeds, method_name
from analysis.metrics import Metrics
from analysis.network import Network, frames_per_entry


class Audit(Fan):
    """Passes every event to the metrics and to the checks that care for its kind."""

    def __init__(self, checks: tuple[type[Check], ...] = CHECKS) -> None:
        self._metrics, self._network = Metrics(), Network()
        self._checks = [check() for check in checks]
        self.parts: tuple[Listener, ...] = (self._metrics, self._network, *self._checks)
        super().__init__(*self.parts)

    def metrics(self) -> dict[str, Any]:
        """What was measured."""
        metrics = {**self._metrics.result(), **self._network.result()}
        return {**metrics, **frames_per_entry(metrics)}

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """What every check says."""
        return {check.name: check.verdict().as_dict() for check in self._checks}

    def so_far(self) -> str:
        """A few words for who watches: how far it has come, and what has gone wrong."""
        broken = [check.name for check in self._checks if check.offences]
        return f"{self._metrics.entries} entries, {', '.join(broken) + ' FAILED' if broken else 'no offence'}"


class LiveAudit(Audit):
    """An audit for `Live` to tell: what happens most, it takes in batches."""

    def __init__(self) -> None:
        super().__init__(LIVE_CHECKS)
        self.steps: list[Step] = []
        self.moves: list[Move] = []
        self.takes_steps = [part for part in self.parts if isinstance(part, StepListener)]
        self.takes_moves = [part for part in self.parts if isinstance(part, MoveListener)]

    def settle(self) -> None:
        """Let everybody take what is in the batches."""
        for step_listener in self.takes_steps:
            step_listener.take_steps(self.steps)
        for move_listener in self.takes_moves:
            move_listener.take_moves(self.moves)
        self.steps.clear()
        self.moves.clear()

    def metrics(self) -> dict[str, Any]:
        """What was measured."""
        self.settle()
        return super().metrics()

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """What every check says."""
        self.settle()
        return super().verdicts()


class Told(Fan):
    """An audit, and others, of a run that is told event by event, messages included."""

    def __init__(self, audit: Audit, *others: Listener) -> None:
        super().__init__(audit, *others)
        self.audit = audit
        self._start_others = Fan(*others).start

    def start(self, t: int, node: None, version: int, trace: str, needs: str, capacity: int, warmup: int,
              units: list[int], links: list[list[int]]) -> None:  # fmt: skip
        self.audit.start(t, node, version, LEVELS[-1], needs, capacity, warmup, units, links)
        self._start_others(t, node, version, trace, needs, capacity, warmup, units, links)


class Live(Fan, Noting):
    """What a driver tells everything to: an audit and, if anybody else wants to know, others.

    A run is mostly messages, so the audit is not told of each. The driver counts them and tells the sums at the end
    (`sent`); it sees for itself that they arrive in order and tells of those that do not (`disorder`); and it tells of
    messages that carry units, which are few. Those and the steps of applications it may note (`note_step`, `note_move`)
    instead of telling the audit: they are taken in batches, before anything else that matters to those who take them,
    and whenever somebody asks to `settle`. The others, such as a recorder of every event, are told of everything as it
    happens, and of all messages: if they want to know, `each_message` is true. `others` is None if none of them cares
    for what is noted.
    """

    def __init__(self, audit: LiveAudit, *others: Listener) -> None:
        super().__init__(*audit.parts, *others)
        self.audit = audit
        self.others = Fan(*others) if any(heeds(one, name) for one in others for name in NOTED) else None
        self._start_others = Fan(*others).start
        self.settle, self.note_step, self.note_move = audit.settle, audit.steps.append, audit.moves.append
        self.each_message = any(heeds(one, name) for one in others for name in ("send", "recv"))
        for name in map(method_name, KINDS):
            if any(heeds(part, name) for part in (*audit.takes_steps, *audit.takes_moves)) and not defines(Live, name):
                self._pass_on(name, (*audit.parts, *others), first=audit.settle)
        for name in ("sent", "sent_cut_off", "disorder"):
            self._pass_on(name, audit.parts)
        self._pass_on("relay", others)

    def start(self, t: int, node: None, version: int, trace: str, needs: str, capacity: int, warmup: int,
              units: list[int], links: list[list[int]]) -> None:  # fmt: skip
        hears = LEVELS[-1]  # enough for everything that the audit checks
        self.audit.start(t, node, version, hears, needs, capacity, warmup, units, links)
        self._start_others(t, node, version, trace, needs, capacity, warmup, units, links)

    def request(self, t: int, node: int, units: int, priority: int) -> None:
        self.note_step((REQUESTED, t, node, units))
        if self.others is not None:
            self.others.request(t, node, units, priority)

    def enter(self, t: int, node: int, units: int) -> None:
        self.note_step((ENTERED, t, node, units))
        if self.others is not None:
            self.others.enter(t, node, units)

    def exit(self, t: int, node: int, units: int) -> None:
        self.note_step((EXITED, t, node, units))
        if self.others is not None:
            self.others.exit(t, node, units)

    def send(self, t: int, node: int, peer: int, id: int, type: str, units: int, words: int, fields: Any) -> None:
        if units:
            self.note_move((SENT, t, node, peer, id, type, units))
        if self.others is not None:
            self.others.send(t, node, peer, id, type, units, words, fields)

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int) -> None:
        if units:
            self.note_move((RECEIVED, t, node, peer, id, type, units))
        if self.others is not None:
            self.others.recv(t, node, peer, id, type, units)
