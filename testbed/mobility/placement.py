"""Where nodes are at the start. A placement without given coordinates is centred in the area.

A placement that does not fit is a `ValueError` of one line: what was found, and what is allowed.
"""

from __future__ import annotations

import math
from random import Random
from statistics import NormalDist
from typing import Annotated, Literal

from pydantic import Field, model_validator

from testbed import input_errors
from testbed.mobility.area import Area
from testbed.mobility.fields import Metres, Place
from testbed.mobility.trajectory import Position
from testbed.section import Section


class GridPlacement(Section):
    """Row by row on a grid: with a spacing, as near to square as fits; without one, over the whole area."""

    kind: Literal["grid"] = "grid"
    spacing: Metres | None = None
    """m between neighbours along x and y."""

    def positions(self, nodes: int, area: Area, rng: Random) -> list[Position]:
        """From the row with the lowest y to the highest, each by growing x."""
        if self.spacing is None:
            columns = min(nodes, math.ceil(math.sqrt(nodes * area.width / area.height)))
            rows = math.ceil(nodes / columns)
            return _rows(nodes, columns, rows, area.width / columns, area.height / rows, area)
        columns = self._columns(nodes, self.spacing, area)
        return _rows(nodes, columns, math.ceil(nodes / columns), self.spacing, self.spacing, area)

    def _columns(self, nodes: int, spacing: float, area: Area) -> int:
        most_columns, most_rows = _fitting(area.width, spacing), _fitting(area.height, spacing)
        if nodes > most_columns * most_rows:
            found = f"a grid of {nodes} nodes {spacing:g} m apart"
            raise ValueError(f"{found}: allowed are at most {most_columns * most_rows} in an area of {_size(area)}")
        return min(most_columns, max(math.ceil(math.sqrt(nodes)), math.ceil(nodes / most_rows)))


class UniformPlacement(Section):
    """At places drawn uniformly from the area."""

    kind: Literal["uniform"] = "uniform"

    def positions(self, nodes: int, area: Area, rng: Random) -> list[Position]:
        """Independent draws."""
        return [Position(*(size * rng.random() for size in area)) for _ in range(nodes)]


class ExplicitPlacement(Section):
    """At the places of a list."""

    kind: Literal["explicit"] = "explicit"
    places: list[Place]
    """[x, y] or [x, y, z] in m, one for each node."""

    def positions(self, nodes: int, area: Area, rng: Random) -> list[Position]:
        """In the order of the list."""
        if len(self.places) != nodes:
            raise ValueError(f"a list of {len(self.places)} places: allowed is one for each of the {nodes} nodes")
        return [_inside(place, area, f"node {node} at") for node, place in enumerate(self.places)]


class ClusterPlacement(Section):
    """Normally distributed around places drawn uniformly, within the area."""

    kind: Literal["cluster"] = "cluster"
    clusters: Annotated[int, Field(ge=1)] = 4
    deviation: Metres = 50.0
    """m along each axis, the standard deviation before the distribution is cut to the area."""

    def positions(self, nodes: int, area: Area, rng: Random) -> list[Position]:
        """Node i is in cluster i modulo `clusters`."""
        centres = UniformPlacement().positions(self.clusters, area, rng)
        return [
            Position(*(self._near(at, size, rng) for at, size in zip(centres[node % self.clusters], area, strict=True)))
            for node in range(nodes)
        ]

    def _near(self, at: float, size: float, rng: Random) -> float:
        """A draw from the normal distribution cut to [0, size], by its inverse: no draw is rejected in a thin area."""
        law = NormalDist(at, self.deviation)
        low, high = law.cdf(0.0), law.cdf(size)
        share = low + (high - low) * rng.random()
        return min(max(law.inv_cdf(share), 0.0), size) if 0 < share < 1 else at


class LinePlacement(Section):
    """Evenly along a line: with a spacing, from one place to another, or across the area."""

    kind: Literal["line"] = "line"
    spacing: Metres | None = None
    """m between neighbours, along x through the middle."""
    start: Place | None = None
    end: Place | None = None

    @model_validator(mode="after")
    def _is_one_line(self) -> LinePlacement:
        if (self.start is None) != (self.end is None):
            raise input_errors.found_instead("one of start and end", "both, or neither")
        if self.spacing is not None and self.start is not None:
            raise input_errors.found_instead("spacing, and start and end", "one or the other")
        return self

    def positions(self, nodes: int, area: Area, rng: Random) -> list[Position]:
        """From left to right, or from start to end."""
        start, end = self._ends(nodes, area)
        shares = [i / (nodes - 1) for i in range(nodes)] if nodes > 1 else [0.5]
        return [Position(*(a + share * (b - a) for a, b in zip(start, end, strict=True))) for share in shares]

    def _ends(self, nodes: int, area: Area) -> tuple[Position, Position]:
        if self.start is not None and self.end is not None:
            return _inside(self.start, area, "a line from"), _inside(self.end, area, "a line to")
        length = area.width if self.spacing is None else self.spacing * (nodes - 1)
        if self.spacing is not None and nodes > _fitting(area.width, self.spacing):
            found = f"a line of {nodes} nodes {self.spacing:g} m apart, {length:g} m long"
            raise ValueError(f"{found}: allowed is at most the width of the area, {area.width:g} m")
        middle = area.height / 2
        return Position((area.width - length) / 2, middle), Position((area.width + length) / 2, middle)


class RingPlacement(Section):
    """Evenly on a circle."""

    kind: Literal["ring"] = "ring"
    radius: Metres | None = None
    """m; by default, as large as fits into the area."""
    centre: Place | None = None
    """By default, the middle of the area."""

    def positions(self, nodes: int, area: Area, rng: Random) -> list[Position]:
        """Counter-clockwise from the direction of x."""
        centre = _inside(self.centre or [area.width / 2, area.height / 2], area, "a ring about")
        widest = min(centre.x, area.width - centre.x, centre.y, area.height - centre.y)
        radius = widest if self.radius is None else self.radius
        if radius > widest:
            found = f"a ring of radius {radius:g} m about {_shown(centre)}"
            raise ValueError(f"{found}: allowed is at most {widest:g} m in an area of {_size(area)}")
        angles = [math.tau * i / nodes for i in range(nodes)]
        return [Position(centre.x + radius * math.cos(a), centre.y + radius * math.sin(a), centre.z) for a in angles]


def _rows(nodes: int, columns: int, rows: int, dx: float, dy: float, area: Area) -> list[Position]:
    """A grid around the middle of the area."""
    x, y = (area.width - (columns - 1) * dx) / 2, (area.height - (rows - 1) * dy) / 2
    return [Position(x + i % columns * dx, y + i // columns * dy) for i in range(nodes)]


def _fitting(length: float, spacing: float) -> int:
    """How many nodes fit on a line; a rounding error must not exclude the last."""
    return math.floor(length / spacing * (1 + 1e-12)) + 1


def _inside(place: list[float], area: Area, what: str) -> Position:
    position = Position(*place)
    if not area.holds(position, slack=0.0):
        raise ValueError(f"{what} {_shown(position)}: allowed is a place in the area of {_size(area)}")
    return position


def _shown(position: Position) -> str:
    return f"[{', '.join(f'{part:g}' for part in position)}]"


def _size(area: Area) -> str:
    return " x ".join(f"{size:g}" for size in area if size) + " m"
