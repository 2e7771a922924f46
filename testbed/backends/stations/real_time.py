"""Real time for one station: the event queue of the simulator, but on an asyncio loop and the run's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heappop
from typing import Any

from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.lateness import Lateness
from testbed.event_queue import EventQueue


class RealTime(EventQueue):
    """Runs each event when its time has come. `now` stays the same while an event runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: RunClock) -> None:
        super().__init__()
        self._loop = loop
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0
        self._is_running = False
        self._is_over = False
        self.lateness = Lateness()
        """Of the events that were planned for the future, and of what else happens at its time."""
        self.read_clock()

    def read_clock(self) -> None:
        """Set `now` to the time of the run's clock. It never goes back, and is not negative before the run begins."""
        self.now = max(self.now, self._clock.ticks())

    def at(self, t: int, happen: Callable[..., None], *args: Any) -> None:
        """Plan an event. One that is due already, such as those of a run that a station joins late, is never late."""
        if t > self.now:
            super().at(t, self._run_planned, t, happen, args)
        else:
            super().at(t, happen, *args)
        if not self._is_running:
            self._arm()

    def end(self) -> None:
        """Run no more events, not even those that are planned."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        """Have the loop call `_run_due` when the first event is due."""
        if self._is_over or not self.heap:
            return
        first = self.heap[0][0]
        if self._timer is not None:
            if self._timer_at <= first:
                return
            self._timer.cancel()
        self._timer_at = first
        self._timer = self._loop.call_at(self._clock.monotonic_s(first), self._run_due)

    def _run_planned(self, t: int, happen: Callable[..., None], args: tuple[Any, ...]) -> None:
        """Run an event that was due at t, and note how late it is."""
        self.lateness.note(self._clock.ns_since(t))
        happen(*args)

    def _run_due(self) -> None:
        self._timer = None
        self._is_running = True
        try:
            self.read_clock()
            while not self._is_over and self.heap and self.heap[0][0] <= self.now:
                _t, _ticket, happen, args = heappop(self.heap)
                happen(*args)
                self.read_clock()
        finally:
            self._is_running = False
        self._arm()
