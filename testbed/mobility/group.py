"""Reference-point group mobility: teams that move together.

X. Hong, M. Gerla, G. Pei, C.-C. Chiang, "A group mobility model for ad hoc wireless networks", MSWiM 1999. Each group
has a reference point that moves by random waypoint; each member moves around it, so that its velocity is the sum of the
group's and its own. Its own motion is random waypoint too, relative to the reference point, in a ball of `radius`: a
member is never farther from the reference point than that, not even between waypoints, because the ball is convex and
the member has a waypoint at every time at which the reference point has one.

The reference point keeps `radius` away from the edges, so that there is room for its group; along a side of the area
that is shorter than two radii it stays in the middle, and members spread over the whole side. In an area with depth the
ball has three dimensions. Node i is in group i modulo `groups`.

Without a placement, reference points and members start in the steady state of random waypoint, which is exact. With
one, the reference point starts in the middle of its members, or as near to it as the edges allow; no member may be
farther from it than `radius`.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from testbed.mobility.area import Area
from testbed.mobility.fields import Metres, Pauses, Range, Speeds
from testbed.mobility.legs import cut
from testbed.mobility.model import MobilityModel, inside
from testbed.mobility.random_waypoint import wander
from testbed.mobility.regions import Ball, Box
from testbed.mobility.trajectory import Position, Trajectory, Waypoint
from testbed.randomness import Streams

NO_PAUSE = Range(0.0, 0.0)


class Group(MobilityModel):
    """Groups move by random waypoint, and their members around a common reference point: teams."""

    kind: Literal["group"] = "group"
    groups: Annotated[int, Field(ge=1)] = 4
    radius: Metres = 50.0
    """m, how far a member may be from its group's reference point."""
    speed: Speeds = Range(1.0, 10.0)
    """m/s of the reference point, drawn for each leg."""
    pause: Pauses = Range(0.0, 0.0)
    """s of the reference point, drawn at each place; members go on moving around it."""
    member_speed: Speeds = Range(0.1, 1.0)
    """m/s of a member relative to the reference point, drawn for each leg."""

    def trajectories(
        self, starts: list[Position] | None, nodes: int, area: Area, duration: float, streams: Streams
    ) -> list[Trajectory]:
        """Each member's path is the sum of the reference point's path and its own path relative to it."""
        references = self.references(starts, area, duration, streams)
        ball = self._ball(area)
        members = []
        for node, start in enumerate(inside(starts, nodes, area)):
            reference = references[node % self.groups]
            offset = None if start is None else self._offset(node, start, reference.at(0.0), ball)
            path = wander(offset, ball, self.member_speed, NO_PAUSE, streams.of("mobility", node))
            members.append(_sum(reference, cut(path, duration)))
        return members

    def references(
        self, starts: list[Position] | None, area: Area, duration: float, streams: Streams
    ) -> list[Trajectory]:
        """The path of every group's reference point."""
        box = Box.of(area).inset(self._margins(area))
        if box.diameter == 0:
            found = f"a radius of {self.radius:g} m in an area of {area.width:g} m x {area.height:g} m"
            raise ValueError(f"{found}: allowed is less than half of the longer side, so that groups can move")
        paths = []
        for group in range(self.groups):
            members = [] if starts is None else starts[group :: self.groups]
            start = box.nearest(_middle(members)) if members else None
            paths.append(cut(wander(start, box, self.speed, self.pause, streams.of("mobility group", group)), duration))
        return paths

    def _margins(self, area: Area) -> Position:
        """How far a member may be from the reference point along each axis."""
        return Position(*(min(self.radius, size / 2) for size in area))

    def _ball(self, area: Area) -> Ball:
        x, y, z = self._margins(area)
        return Ball(self.radius, Box(Position(-x, -y, -z), Position(x, y, z)))

    def _offset(self, node: int, start: Position, reference: Position, ball: Ball) -> Position:
        offset = Position(*(a - b for a, b in zip(start, reference, strict=True)))
        if not ball.holds(offset):
            away, group = math.hypot(*offset), node % self.groups
            found = f"node {node} starts {away:.4g} m from the reference point of group {group}"
            allowed = f"at most radius, {self.radius:g} m; without a placement, groups place themselves"
            raise ValueError(f"{found}: allowed is {allowed}")
        return offset


def _middle(places: list[Position]) -> Position:
    """The middle of the smallest box around some places."""
    return Position(*((min(along) + max(along)) / 2 for along in zip(*places, strict=True)))


def _sum(reference: Trajectory, own: Trajectory) -> Trajectory:
    """The path of a member that moves relative to a moving reference point."""
    times = sorted({waypoint.t for path in (reference, own) for waypoint in path.waypoints})
    return Trajectory(
        tuple(Waypoint(t, *(a + b for a, b in zip(reference.at(t), own.at(t), strict=True))) for t in times)
    )
