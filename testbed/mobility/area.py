"""The area that nodes move in: from (0, 0, 0) to (width, height, depth), in metres. Most are flat."""

from __future__ import annotations

from typing import Any, NamedTuple

from testbed.mobility.trajectory import Position


class Area(NamedTuple):
    """A rectangle, or a box."""

    width: float
    height: float
    depth: float = 0.0

    def holds(self, position: Position | Any, slack: float = 1e-6) -> bool:
        """Whether a place is inside, give or take a rounding error."""
        places = (position.x, position.y, position.z)
        return all(-slack <= place <= size + slack for place, size in zip(places, self, strict=True))
