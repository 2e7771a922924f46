"""The events of a run in real time, merged from the logs of its stations while these are being written.

Listeners get an event later than it happens: when all logs have been read up to its time. What the orchestrator itself
does, such as a fault, is put on the same timeline and passed on in its turn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from analysis.dispatch import Fan
from analysis.events import KINDS
from analysis.listener import Listener, method_name
from testbed.backends.stations.ledger import Ledger
from testbed.backends.stations.timeline import FOR_EVER, LogTail, Timeline


class LogMerger:
    """Reads all logs, passes their events to the listener in the order of time, and keeps the ledger."""

    def __init__(self, ledger: Ledger, listener: Listener) -> None:
        self.ledger = ledger
        self._listener = listener
        self._both = Fan(ledger.holdings, listener)
        self._timeline = Timeline()
        self._tails: dict[int, LogTail] = {}  # by node, the log of its present incarnation

    def add_log(self, node: int, path: Path, now: int) -> None:
        """A new incarnation of a node writes a log, which holds nothing from before `now`."""
        tail = self._tails[node] = LogTail(path)
        tail.clock = now
        self._timeline.tails.append(tail)

    def set_clock(self, node: int, clock: int) -> bool:
        """A station reports its clock; returns False if its log is closed, because it has exited."""
        tail = self._tails[node]
        if tail.is_closed:
            return False
        tail.clock = clock
        return True

    def is_closed(self, node: int) -> bool:
        """Whether the log of a node's present incarnation is known to be complete."""
        return self._tails[node].is_closed

    def post(self, now: int, happen: Callable[[], None]) -> None:
        """Something happens now; `happen` is called when the logs have been read up to this time."""
        self._timeline.add(now, happen)

    def post_fault(self, now: int, node: int | None, fault: str, detail: Any) -> None:
        """A fault is carried out now."""
        self.post(now, partial(self._listener.fault, now, node, fault, detail))

    def post_close(self, now: int, patience: int) -> None:
        """No more requests are made from now on."""
        self.post(now, partial(self._listener.close, now, None, patience))

    def post_crash(self, now: int, node: int) -> None:
        """A station that a fault crashed has exited: its log is complete."""
        self._tails[node].close()
        self.post(now, partial(self._crash, now, node))

    def post_restart(self, now: int, node: int, incarnation: int) -> None:
        """A station starts again; `incarnation` is how often it has crashed."""
        self.post(now, partial(self._restart, now, node, incarnation))

    def merge(self, until: int) -> None:
        """Pass on what all logs hold, in order, as far as they are complete; `FOR_EVER` closes them first."""
        if until == FOR_EVER:
            for tail in self._timeline.tails:
                tail.close()
        ledger = self.ledger
        for t, what in self._timeline.take(until):
            ledger.now = t
            if not isinstance(what, dict):
                what()
                continue
            kind = what["kind"]
            fields = KINDS[kind][1]
            getattr(self._both, method_name(kind))(t, what["node"], *[what[name] for name in fields])
            if kind in ("recv", "return") and (what["units"] or what["tokens"]):
                ledger.unit_arrived()
            elif kind in ("join", "left"):
                ledger.partitions.update()

    def _crash(self, t: int, node: int) -> None:
        self.ledger.alive.discard(node)
        self._both.crash(t, node, *self.ledger.holdings.held[node])
        self.ledger.partitions.update()

    def _restart(self, t: int, node: int, incarnation: int) -> None:
        self.ledger.alive.add(node)
        self._both.restart(t, node, incarnation)
