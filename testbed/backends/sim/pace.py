"""Holds virtual time back, so that a run can be watched while it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable

from agents.contract import TICKS
from testbed.event_queue import EventQueue

STEP_S = 0.05
"""Real time is looked at so often."""


class Pace:
    """Lets no more than so many time units pass in a second. The same happens in the run, in the same order."""

    def __init__(self, queue: EventQueue, units_per_second: float, report: Callable[[], None]) -> None:
        self._queue, self._report = queue, report
        self._ticks_per_second = units_per_second * TICKS
        self._began = 0.0

    def begin(self) -> None:
        """The run begins."""
        self._began = time.monotonic()
        self._step()

    def _step(self) -> None:
        queue = self._queue
        due = self._began + queue.now / self._ticks_per_second
        time.sleep(max(0.0, due - time.monotonic()))
        self._report()
        if queue.heap or queue.lane:  # else there is nothing to hold back, and the run is to end
            queue.at(queue.now + max(1, round(STEP_S * self._ticks_per_second)), self._step)
