"""The area that nodes move in: from (0, 0, 0) to (width, height, depth), in metres. Most are flat."""

from __future__ import annotations

from typing import Any, NamedTuple

from testbed import input_errors
from testbed.mobility.fields import LEAST, MAX_METRES
from testbed.mobility.trajectory import Position


class Area(NamedTuple):
    """A rectangle, or a box."""

    width: float
    height: float
    depth: float = 0.0

    def holds(self, position: Position | Any, slack: float = 1e-6) -> bool:
        """Whether a place is inside, up to a rounding error."""
        places = (position.x, position.y, position.z)
        return all(-slack <= place <= size + slack for place, size in zip(places, self, strict=True))


def parse_area(value: Any) -> Area:
    """Parse and check the area of a scenario."""
    if isinstance(value, list | tuple) and len(value) in (2, 3):
        numbers = [size for size in value if isinstance(size, int | float) and not isinstance(size, bool)]
        sides = numbers[:2] if numbers[2:] == [0] else numbers  # only a depth may be 0
        if len(numbers) == len(value) and all(LEAST <= size <= MAX_METRES for size in sides):
            return Area(*map(float, numbers))
    allowed = f"[width, height] or [width, height, depth] in metres, each {LEAST:g} to {MAX_METRES:g}, or no depth: 0"
    raise input_errors.found_instead(input_errors.shown(value), allowed)
