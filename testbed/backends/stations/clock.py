"""The clock of a run in real time: the same for all processes of the run, as the machine has one monotonic clock."""

from __future__ import annotations

import time
from dataclasses import dataclass

from agents.contract import TICKS


@dataclass(frozen=True, slots=True)
class RunClock:
    """Counts ticks from an epoch, which is a reading of the monotonic clock in nanoseconds."""

    epoch_ns: int
    time_unit: float
    """Seconds per time unit."""

    def ticks(self) -> int:
        """The time now; negative before the run has begun."""
        return round((time.monotonic_ns() - self.epoch_ns) * TICKS / (1e9 * self.time_unit))

    def monotonic_s(self, ticks: int) -> float:
        """The reading of `time.monotonic()`, and so of an event loop's clock, at a time of the run."""
        return self.epoch_ns / 1e9 + ticks / TICKS * self.time_unit

    def ns_since(self, ticks: int) -> int:
        """The nanoseconds since a time of the run."""
        return time.monotonic_ns() - self.epoch_ns - round(ticks * self.time_unit * (1e9 / TICKS))

    def seconds(self) -> float:
        """The time now in seconds, as in trajectories."""
        return (time.monotonic_ns() - self.epoch_ns) / 1e9
