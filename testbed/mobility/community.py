"""Time-variant communities: people that are mostly at home or at work, and now and then elsewhere.

W. Hsu, T. Spyropoulos, K. Psounis, A. Helmy, "Modeling time-variant user mobility in wireless mobile networks", INFOCOM
2007. Time is divided into periods that repeat in a cycle, such as day and night. In every period a node has a home, a
square of the area, and moves in epochs. A local epoch is a leg of random direction inside the home, a roaming epoch one
in the whole area; each ends with a pause. Which kind comes next depends on the last: a node stays local with a
probability `stay`, and stays roaming with a probability `roam`. A local epoch of a node outside its home begins
with a straight leg to a random place in the home.

Simplifications of the paper: nodes share homes: node i has those of community i modulo `communities`, one square for
each period, at places drawn uniformly; legs are reflected at the edges instead of wrapped around; speeds, pauses and
legs follow the same laws in all periods; an epoch that is under way when a period ends is finished first.

There is no steady state, because the periods alternate. Without a placement, nodes start at the begin of the first
period, in a local or roaming epoch with the long-run share of each, uniformly in their home or in the area. With a
placement, they do the same from where they are placed.
"""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from typing import Annotated, Literal

from pydantic import Field

from testbed.mobility.area import Area
from testbed.mobility.fields import Metres, Pauses, Range, Seconds, Share, Speeds
from testbed.mobility.legs import Path, any_direction, cut, drift, reach, rest
from testbed.mobility.model import MobilityModel, inside, plane
from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Trajectory, Waypoint
from testbed.randomness import Streams
from testbed.section import Section

Epoch = Generator[Waypoint, None, Waypoint]
"""Yields its waypoints, and returns the last one."""


class Period(Section):
    """A part of the cycle, with homes of its own."""

    duration: Seconds
    stay: Share = 0.8
    """How often a local epoch follows a local one."""
    roam: Share = 0.3
    """How often a roaming epoch follows a roaming one."""

    @property
    def local(self) -> float:
        """The share of local epochs in the long run; one half if the kind of epoch never changes."""
        changes = 2 - self.stay - self.roam
        return (1 - self.roam) / changes if changes else 0.5


class Community(MobilityModel):
    """Mostly in a home square that changes with the time of day, now and then anywhere: people."""

    kind: Literal["community"] = "community"
    communities: Annotated[int, Field(ge=1)] = 4
    side: Metres = 200.0
    """m, of a home square."""
    periods: Annotated[list[Period], Field(min_length=1)] = Field([Period(duration=600.0), Period(duration=300.0)])
    """One after the other, then from the first again."""
    local_leg: Metres = 100.0
    """m, the mean of the exponential length of a leg at home."""
    roaming_leg: Metres = 500.0
    """m, the mean of the exponential length of a leg elsewhere."""
    speed: Speeds = Range(0.5, 2.0)
    """m/s, drawn for each leg."""
    pause: Pauses = Range(0.0, 60.0)
    """s, drawn after each epoch."""

    def trajectories(
        self, starts: list[Position] | None, nodes: int, area: Area, duration: float, streams: Streams
    ) -> list[Trajectory]:
        """Nodes move independently, but share homes."""
        homes, whole = self.homes(area, streams), Box.of(area)
        return [
            cut(self._path(start, homes[node % self.communities], whole, streams.of("mobility", node)), duration)
            for node, start in enumerate(inside(starts, nodes, area))
        ]

    def homes(self, area: Area, streams: Streams) -> list[list[Box]]:
        """The squares of every community, one for each period."""
        if self.side > min(area.width, area.height):
            allowed = f"at most the shorter side of the area, {min(area.width, area.height):g} m"
            raise ValueError(f"homes with a side of {self.side:g} m: allowed is {allowed}")
        room = Box(Position(0.0, 0.0), Position(area.width - self.side, area.height - self.side))
        corners = [streams.of("mobility group", community) for community in range(self.communities)]
        return [[self._square(room.uniform(rng)) for _ in self.periods] for rng in corners]

    def _square(self, corner: Position) -> Box:
        return Box(corner, Position(corner.x + self.side, corner.y + self.side))

    def _path(self, start: Position | None, homes: list[Box], whole: Box, rng: Random) -> Path:
        whole = plane(start, whole)
        homes = [home.level(whole.low.z) for home in homes]
        is_local = rng.random() < self.periods[0].local
        here = Waypoint(0.0, *(start or (homes[0] if is_local else whole).uniform(rng)))
        yield here
        while True:
            now = self._now(here.t)
            if is_local:
                here = yield from self._local_epoch(here, homes[now], rng)
            else:
                here = yield from self._epoch(here, whole, self.roaming_leg, rng)
            period = self.periods[now]
            is_local = rng.random() < (period.stay if is_local else 1 - period.roam)

    def _local_epoch(self, here: Waypoint, home: Box, rng: Random) -> Epoch:
        if not home.holds(Position(*here[1:])):
            here = reach(here, home.uniform(rng), self.speed.draw(rng))
            yield here
        return (yield from self._epoch(here, home, self.local_leg, rng))

    def _epoch(self, here: Waypoint, region: Box, mean_leg: float, rng: Random) -> Epoch:
        speed, length = self.speed.draw(rng), rng.expovariate(1 / mean_leg)
        here, _ = yield from drift(here, any_direction(rng, speed), here.t + length / speed, region, "reflect")
        here = rest(here, self.pause.draw(rng))
        yield here
        return here

    def _now(self, t: float) -> int:
        """The index of the period at a time."""
        t %= sum(period.duration for period in self.periods)
        for index, period in enumerate(self.periods):
            if t < period.duration:
                return index
            t -= period.duration
        return 0  # by rounding, at the very end of a cycle
