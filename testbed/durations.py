"""Times in a scenario: a number of time units, or a distribution to draw from. A run counts in ticks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from pydantic_core import PydanticCustomError

from agents.contract import TICKS

MAX_UNITS = 1e9  # so that ticks fit into 64 bits with room for sums
ALLOWED = f"a number, {{uniform: [low, high]}} or {{exponential: mean}}, from 0 to {MAX_UNITS:g}"


def to_ticks(units: float) -> int:
    """Time units to ticks, rounded once."""
    return round(units * TICKS)


@dataclass(frozen=True)
class Duration:
    """A fixed time, or a distribution of times."""

    kind: str
    values: tuple[float, ...]

    def sampler(self, rng: Random) -> Callable[[], int]:
        """A function that returns the next time in ticks."""
        if self.kind == "uniform":
            low, high = self.values
            return lambda: round(rng.uniform(low, high) * TICKS)
        if self.kind == "exponential":
            rate = 1 / self.values[0]
            return lambda: round(rng.expovariate(rate) * TICKS)
        ticks = to_ticks(self.values[0])
        return lambda: ticks

    def fixed_ticks(self) -> int | None:
        """The time, if it never varies."""
        return to_ticks(self.values[0]) if self.kind == "fixed" else None

    def mean(self) -> float:
        """The time, or the mean of the distribution, in time units."""
        return sum(self.values) / len(self.values)

    def dump(self) -> Any:
        """As a scenario would write it."""
        if self.kind == "uniform":
            return {"uniform": list(self.values)}
        return self.values[0] if self.kind == "fixed" else {self.kind: self.values[0]}


def parse_duration(value: Any) -> Duration:
    """The time that a scenario asks for, checked."""
    if isinstance(value, Duration):
        return value
    if _is_time(value):
        return Duration("fixed", (float(value),))
    if isinstance(value, dict) and len(value) == 1:
        ((kind, argument),) = value.items()
        if kind == "exponential" and _is_time(argument) and argument > 0:
            return Duration(kind, (float(argument),))
        if kind == "uniform" and isinstance(argument, list) and len(argument) == 2 and all(map(_is_time, argument)):
            low, high = map(float, argument)
            if low <= high:
                return Duration(kind, (low, high))
    raise PydanticCustomError("allowed", "{allowed}", {"allowed": ALLOWED})


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MAX_UNITS
