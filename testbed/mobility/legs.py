"""The elements of paths, and how a path is cut to the length of a run.

A model makes an endless path: an iterator of waypoints whose first is at time 0. Each element here starts at the
waypoint where the last one ended.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from random import Random
from typing import Literal, NamedTuple

from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Trajectory, Waypoint, through

Path = Iterator[Waypoint]
Boundary = Literal["reflect", "wrap", "stop"]
"""At an edge a node is reflected, jumps to the opposite edge and goes on, or ends its leg."""


class Velocity(NamedTuple):
    """m/s along each axis."""

    x: float
    y: float
    z: float = 0.0


def any_direction(rng: Random, speed: float) -> Velocity:
    """A velocity in the plane, in a direction drawn uniformly."""
    angle = rng.uniform(-math.pi, math.pi)
    return Velocity(speed * math.cos(angle), speed * math.sin(angle))


def between(a: Position, b: Position, share: float) -> Position:
    """The place at this share of the line from a to b."""
    return Position(*(start + share * (end - start) for start, end in zip(a, b, strict=True)))


def reach(here: Waypoint, place: Position, speed: float) -> Waypoint:
    """The waypoint after going straight to a place."""
    return Waypoint(here.t + math.dist(here[1:], place) / speed, *place)


def rest(here: Waypoint, seconds: float) -> Waypoint:
    """The waypoint after a pause."""
    return here._replace(t=here.t + seconds)


def drift(
    here: Waypoint, velocity: Velocity, until: float, box: Box, boundary: Boundary
) -> Generator[Waypoint, None, tuple[Waypoint, Velocity]]:
    """Move at a velocity until a time; `boundary` says what happens at every edge.

    Yields the waypoints of the movement, and returns the last of them and the velocity there.
    """
    while not box.holds(aim := _moved(here, velocity, until - here.t)):
        t, axis = _first_hit(here, velocity, box)
        hit = Waypoint(min(t, until), *box.nearest(_moved(here, velocity, t - here.t)))
        here = _placed(hit, axis, _edge(velocity[axis], axis, box))
        yield here
        if boundary == "stop":
            return here, velocity
        if boundary == "reflect":
            velocity = Velocity(*(-v if i == axis else v for i, v in enumerate(velocity)))
        else:
            here = _placed(here, axis, _edge(-velocity[axis], axis, box))
            yield here
    here = Waypoint(until, *aim)
    yield here
    return here, velocity


def _moved(here: Waypoint, velocity: Velocity, seconds: float) -> Position:
    return Position(here.x + seconds * velocity.x, here.y + seconds * velocity.y, here.z + seconds * velocity.z)


def _first_hit(here: Waypoint, velocity: Velocity, box: Box) -> tuple[float, int]:
    """When a node reaches an edge, and along which axis; at once if a rounding error has put it outside."""
    return min((here.t + max(0.0, (_edge(v, i, box) - here[1 + i]) / v), i) for i, v in enumerate(velocity) if v)


def _edge(v: float, axis: int, box: Box) -> float:
    """The edge that a velocity along an axis leads to."""
    return box.high[axis] if v > 0 else box.low[axis]


def _placed(here: Waypoint, axis: int, value: float) -> Waypoint:
    return Waypoint(*(value if i == 1 + axis else part for i, part in enumerate(here)))


def cut(path: Path, duration: float) -> Trajectory:
    """The path from 0 to the end of the run, where a leg that is under way is cut."""
    kept: list[Waypoint] = []
    for waypoint in path:
        if waypoint.t >= duration:
            break
        if len(kept) > 1 and kept[-2].t == kept[-1].t == waypoint.t:
            kept.pop()  # several jumps at one time, as at a corner, become one
        kept.append(waypoint)
    else:
        waypoint = kept[-1]  # a path that ends belongs to a node that stays
    kept.append(_at_the_end(kept[-1] if kept else waypoint, waypoint, duration))
    return through(kept)


def _at_the_end(a: Waypoint, b: Waypoint, duration: float) -> Waypoint:
    if b.t <= duration:
        return b._replace(t=duration)
    share = (duration - a.t) / (b.t - a.t)
    return Waypoint(duration, *between(Position(*a[1:]), Position(*b[1:]), share))
