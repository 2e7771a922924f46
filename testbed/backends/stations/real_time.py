"""Real time for one station: what the event queue is to the simulator, on an asyncio loop and the run's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heappop
from typing import Any

from testbed.event_queue import EventQueue
from testbed.backends.stations.clock import RunClock


class RealTime(EventQueue):
    """What is to happen, when its time has come. `now` stands still while something happens."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: RunClock) -> None:
        super().__init__()
        self._loop = loop
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0
        self._is_running = False
        self._is_over = False
        self.look()

    def look(self) -> None:
        """Look at the clock: something happens now. Time never goes back, nor begins before the run."""
        self.now = max(self.now, self._clock.ticks())

    def at(self, t: int, happen: Callable[..., None], *args: Any) -> None:
        """Plan an event."""
        super().at(t, happen, *args)
        if not self._is_running:
            self._arm()

    def end(self) -> None:
        """Nothing happens any more, whatever is planned."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        """Have the loop call when the first event is due."""
        if self._is_over or not self.heap:
            return
        first = self.heap[0][0]
        if self._timer is not None:
            if self._timer_at <= first:
                return
            self._timer.cancel()
        self._timer_at = first
        self._timer = self._loop.call_at(self._clock.monotonic_s(first), self._run_due)

    def _run_due(self) -> None:
        self._timer = None
        self._is_running = True
        try:
            self.look()
            while not self._is_over and self.heap and self.heap[0][0] <= self.now:
                _t, _ticket, happen, args = heappop(self.heap)
                happen(*args)
                self.look()
        finally:
            self._is_running = False
        self._arm()
