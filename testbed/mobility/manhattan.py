"""Manhattan: vehicles on a grid of streets.

F. Bai, N. Sadagopan, A. Helmy, "IMPORTANT: a framework to systematically analyze the impact of mobility on performance
of routing protocols for ad hoc networks", INFOCOM 2003, after ETSI TR 101 112. At every crossing a node goes straight
on, or turns left or right. Here a speed is drawn for each block, without the paper's distance to the vehicle ahead.

The paper leaves open what happens at the edges of the map, which are streets too. Here they are mirrors: a node moves
on an endless grid that is folded back into the map. A node that would leave the map turns around, and one that would
turn out of the map turns into it; nodes turn around nowhere else. So the steady state is that of the endless grid,
where all streets are equal, and is exact: in the map, the streets at its edges carry half the traffic of the others.
Without a placement nodes start in it; with one, on the street that is nearest to their place.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from random import Random
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from testbed.mobility.fields import Pauses, Range, Share, Speeds
from testbed.mobility.legs import Path, between, reach, rest
from testbed.mobility.model import MobilityModel, plane
from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Waypoint

Blocks = Annotated[int, Field(ge=1, le=10_000)]
Heading = tuple[int, int]
HEADINGS: list[Heading] = [(1, 0), (-1, 0), (0, 1), (0, -1)]


class Lane(NamedTuple):
    """A directed block of the endless grid: the crossing it leads to, counted in blocks, and its direction."""

    x: int
    y: int
    heading: Heading

    def onwards(self, heading: Heading) -> Lane:
        """The lane that leaves the crossing with a heading."""
        return Lane(self.x + heading[0], self.y + heading[1], heading)


class Streets(NamedTuple):
    """The map: so many blocks along x and y fill the area."""

    box: Box
    columns: int
    rows: int

    def block(self, heading: Heading) -> float:
        """The length of a block along a heading."""
        return self.box.sizes.x / self.columns if heading[0] else self.box.sizes.y / self.rows

    def crossing(self, x: int, y: int) -> Position:
        """The place in the map of a crossing of the endless grid."""
        width, height, _ = self.box.sizes
        column, row = _folded(x, self.columns), _folded(y, self.rows)
        return Position(width * column / self.columns, height * row / self.rows, self.box.low.z)


def _folded(line: int, lines: int) -> int:
    return abs((line + lines) % (2 * lines) - lines)


class Manhattan(MobilityModel):
    """Along a grid of streets, turning at crossings: vehicles in a town."""

    kind: Literal["manhattan"] = "manhattan"
    blocks: Annotated[list[Blocks], Field(min_length=2, max_length=2)] = Field([10, 10])
    """Blocks along x and y, which fill the area; there is one more street than blocks."""
    turn: Share = 0.5
    """The probability that a node turns at a crossing; left and right are equally likely."""
    speed: Speeds = Range(5.0, 15.0)
    """m/s, drawn for each block."""
    pause: Pauses = Range(0.0, 0.0)
    """s, drawn at each crossing."""

    def path(self, start: Position | None, box: Box, rng: Random) -> Path:
        """Block after block, in the plane."""
        streets = Streets(plane(start, box), *self.blocks)
        approach = self._steady_state(streets, rng) if start is None else self._nearest(streets, start, rng)
        here, lane = yield from approach
        while True:
            yield here
            lane = lane.onwards(self._turned(lane.heading, rng))
            here = reach(here, streets.crossing(lane.x, lane.y), self.speed.draw(rng))
            yield here
            here = rest(here, self.pause.draw(rng))

    def _turned(self, heading: Heading, rng: Random) -> Heading:
        draw = rng.random()
        if draw >= self.turn:
            return heading
        side = 1 if draw < self.turn / 2 else -1
        return -side * heading[1], side * heading[0]

    def _steady_state(self, streets: Streets, rng: Random) -> Approach:
        """All lanes of the endless grid are taken equally often; a node is on one in proportion to its time."""
        mean_pause, slowness = self.pause.mean(), self.speed.mean(of=-1)
        times = {heading: slowness * streets.block(heading) for heading in HEADINGS}
        heading = rng.choices(HEADINGS, [times[heading] + mean_pause for heading in HEADINGS])[0]
        lane = Lane(rng.randrange(2 * streets.columns), rng.randrange(2 * streets.rows), heading)
        ahead = streets.crossing(lane.x, lane.y)
        if rng.random() * (times[heading] + mean_pause) < mean_pause:
            here = Waypoint(0.0, *ahead)
            yield here
            return rest(here, self.pause.draw(rng, power=1) * rng.random()), lane
        behind = streets.crossing(lane.x - heading[0], lane.y - heading[1])
        here = Waypoint(0.0, *between(behind, ahead, rng.random()))
        yield here
        here = reach(here, ahead, self.speed.draw(rng, power=-1))
        yield here
        return rest(here, self.pause.draw(rng)), lane

    def _nearest(self, streets: Streets, start: Position, rng: Random) -> Approach:
        """From the nearest place on a street, in a random direction of that street."""
        x, y = start.x / streets.block((1, 0)), start.y / streets.block((0, 1))
        corner = streets.crossing(round(x), round(y))
        if abs(start.x - corner.x) > abs(start.y - corner.y):
            here, headings = Waypoint(0.0, start.x, corner.y, start.z), HEADINGS[:2]
        else:
            here, headings = Waypoint(0.0, corner.x, start.y, start.z), HEADINGS[2:]
        heading = rng.choice(headings)
        lane = Lane(_next(x, heading[0]), _next(y, heading[1]), heading)
        yield here
        here = reach(here, streets.crossing(lane.x, lane.y), self.speed.draw(rng))
        yield here
        return rest(here, self.pause.draw(rng)), lane


Approach = Generator[Waypoint, None, tuple[Waypoint, Lane]]
"""The path to the first crossing: yields its waypoints, and returns the last and the lane that led there."""


def _next(line: float, heading: int) -> int:
    """The next whole number in the direction of the heading; the nearest one if the heading is 0."""
    if heading == 0:
        return round(line)
    return math.floor(line) + 1 if heading > 0 else math.ceil(line) - 1
