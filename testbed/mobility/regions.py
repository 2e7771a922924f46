"""The convex regions that nodes move in: the whole area, a part of it, or a ball around a moving point.

Nodes move in straight lines, and the line between two places of a convex region stays in it.
"""

from __future__ import annotations

import math
from random import Random
from typing import NamedTuple, Protocol

from testbed.mobility.area import Area
from testbed.mobility.trajectory import Position


class Region(Protocol):
    """What random waypoint needs to know about the region it moves in."""

    @property
    def diameter(self) -> float:
        """The largest distance between two places of the region."""

    def uniform(self, rng: Random) -> Position:
        """A random place, uniformly distributed."""


class Box(NamedTuple):
    """All places between two corners; flat if both have the same height."""

    low: Position
    high: Position

    @classmethod
    def of(cls, area: Area) -> Box:
        """The whole area, whose width and height must be positive."""
        if min(area.width, area.height) <= 0 or area.depth < 0:
            raise ValueError(f"an area of {' x '.join(f'{size:g}' for size in area)} m: nodes move in width and height")
        return cls(Position(0.0, 0.0, 0.0), Position(*area))

    def level(self, z: float) -> Box:
        """The slice at one height, for models that move in the plane."""
        return Box(self.low._replace(z=z), self.high._replace(z=z))

    def inset(self, margins: Position) -> Box:
        """The box without a margin at every side, of this width along x, y and z."""
        low = Position(*(side + margin for side, margin in zip(self.low, margins, strict=True)))
        return Box(low, Position(*(side - margin for side, margin in zip(self.high, margins, strict=True))))

    @property
    def sizes(self) -> Position:
        """Width, height and depth."""
        return Position(*(high - low for low, high in zip(*self, strict=True)))

    @property
    def diameter(self) -> float:
        """The diagonal."""
        return math.dist(*self)

    def uniform(self, rng: Random) -> Position:
        """A random place, uniformly distributed."""
        low, high = self
        return Position(
            low.x + (high.x - low.x) * rng.random(),
            low.y + (high.y - low.y) * rng.random(),
            low.z + (high.z - low.z) * rng.random(),
        )

    def nearest(self, place: Position) -> Position:
        """The nearest place inside."""
        return Position(*(min(max(at, low), high) for at, low, high in zip(place, *self, strict=True)))

    def holds(self, place: Position) -> bool:
        """Whether a place is inside."""
        low, high = self
        return low.x <= place.x <= high.x and low.y <= place.y <= high.y and low.z <= place.z <= high.z


class Ball(NamedTuple):
    """All places of `box` within a radius of the origin."""

    radius: float
    box: Box

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return 2 * self.radius

    def uniform(self, rng: Random) -> Position:
        """A random place, uniformly distributed: draws from the box until one is in the ball as well."""
        while math.hypot(*(place := self.box.uniform(rng))) > self.radius:
            pass
        return place

    def holds(self, place: Position, slack: float = 1e-9) -> bool:
        """Whether a place is inside, up to a rounding error."""
        return math.hypot(*place) <= self.radius + slack and math.dist(place, self.box.nearest(place)) <= slack
