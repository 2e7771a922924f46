"""Types of the parameters of placements and mobility models: a range to draw from, a share, metres, seconds.

Every random length, speed and pause of the models follows a power law cut to a range: uniform is the power 0. The
distributions at an arbitrary instant of the steady state are power laws again. A leg of given length is under way with
a probability proportional to its time, 1/speed, so a uniform speed becomes the power -1; a pause is under way with a
probability proportional to its length, so a uniform pause becomes the power 1. So one type is enough for all of them,
and stationary starts are exact.
"""

from __future__ import annotations

import math
from random import Random
from typing import Annotated, Any, NamedTuple

from pydantic import Field, PlainSerializer, PlainValidator

from testbed import input_errors
from testbed.durations import MAX_UNITS

MAX_SPEED = 1e4
"""m/s; a satellite is slower."""
MAX_METRES = 1e7
LEAST = 1e-3
"""The least value of quantities that must be more than 0: in m, s and m/s."""


class Range(NamedTuple):
    """From `low` to `high`, both included."""

    low: float
    high: float

    def draw(self, rng: Random, power: float = 0.0) -> float:
        """A random value with a density proportional to value ** power: by default uniform."""
        low, high, above, share = self.low, self.high, power + 1, rng.random()
        if low == high:
            return low
        if above >= 1:
            start, end = math.pow(low, above), math.pow(high, above)
            value = math.pow(start + (end - start) * share, 1 / above)
        else:  # a form that loses no digits where the power is about -1
            spread = math.log(high / low)
            value = low * math.exp(math.log1p(share * math.expm1(above * spread)) / above if above else share * spread)
        return min(max(low, value), high)

    def mean(self, of: float = 1.0, power: float = 0.0) -> float:
        """The mean of value ** `of`, for values drawn with that power."""
        if self.low == self.high:
            return math.pow(self.low, of)
        return self._integral(power + of) / self._integral(power)

    def _integral(self, power: float) -> float:
        """The integral of value ** power over the range."""
        low, high, above = self.low, self.high, power + 1
        if above >= 1 and high > 2 * low:
            return (math.pow(high, above) - math.pow(low, above)) / above
        spread = math.log(high / low)  # loses no digits where the range is narrow or the power about -1
        return math.pow(low, above) * math.expm1(above * spread) / above if above else spread


def _ranges(lowest: float, highest: float, unit: str, why: str = "") -> PlainValidator:
    def parse(value: Any) -> Range:
        ends = list(value) if isinstance(value, list | tuple) else [value, value]
        if len(ends) == 2 and all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends):
            low, high = ends
            if lowest <= low <= high <= highest:
                return Range(float(low), float(high))
        allowed = f"a number or [low, high], {lowest:g} to {highest:g} {unit}{why}"
        raise input_errors.found_instead(input_errors.shown(value), allowed)

    return PlainValidator(parse)


_DECAY = ": if speeds may be arbitrarily low, nodes get slower for as long as they move"
_Dumped = PlainSerializer(list)

Speeds = Annotated[Range, _ranges(LEAST, MAX_SPEED, "m/s", _DECAY), _Dumped]
"""m/s, for models that draw the length of a leg in metres (Yoon, Liu, Noble 2003 explain the lowest speed)."""
AnySpeeds = Annotated[Range, _ranges(0, MAX_SPEED, "m/s"), _Dumped]
"""m/s, for models that draw the time of a leg in seconds, where a node may have the speed 0."""
Pauses = Annotated[Range, _ranges(0, MAX_UNITS, "s"), _Dumped]
Lengths = Annotated[Range, _ranges(LEAST, MAX_METRES, "m"), _Dumped]
Share = Annotated[float, Field(ge=0, le=1)]
Metres = Annotated[float, Field(ge=LEAST, le=MAX_METRES)]
Seconds = Annotated[float, Field(ge=LEAST, le=MAX_UNITS)]
Place = Annotated[list[float], Field(min_length=2, max_length=3)]
"""[x, y] or [x, y, z] in metres."""
