"""A node's path, known in advance: straight lines between waypoints. Times are seconds of the run, places metres."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Position(NamedTuple):
    """A place."""

    x: float
    y: float
    z: float = 0.0


class Waypoint(NamedTuple):
    """The place of a node at a time."""

    t: float
    x: float
    y: float
    z: float = 0.0


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The path of one node.

    The node moves at a constant speed from each waypoint to the next, and stands still before the first and after the
    last. Two waypoints at one time are a jump, from the first to the second. The node is present from `appears` until
    `leaves`, by default always; a node that is absent hears no other node.
    """

    waypoints: tuple[Waypoint, ...]
    appears: float = -math.inf
    leaves: float = math.inf

    def __post_init__(self) -> None:
        times = [waypoint.t for waypoint in self.waypoints]
        assert times, "a trajectory has at least one waypoint"
        assert times == sorted(times), "waypoints come in the order of their times"

    def at(self, t: float) -> Position:
        """Where the node is at a time; at a jump, where it has jumped to."""
        waypoints = self.waypoints
        after = bisect_right(waypoints, t, key=_time)
        if after == 0 or after == len(waypoints):
            return Position(*waypoints[max(0, after - 1)][1:])
        a, b = waypoints[after - 1], waypoints[after]
        share = (t - a.t) / (b.t - a.t)
        return Position(a.x + share * (b.x - a.x), a.y + share * (b.y - a.y), a.z + share * (b.z - a.z))

    def is_there(self, t: float) -> bool:
        """Whether the node is present at a time."""
        return self.appears <= t < self.leaves


def _time(waypoint: Waypoint) -> float:
    return waypoint.t


def standing(position: Position) -> Trajectory:
    """The path of a node that never moves."""
    return Trajectory((Waypoint(0.0, *position),))


def through(waypoints: Sequence[Waypoint]) -> Trajectory:
    """The path through waypoints, without repeated ones."""
    kept = [waypoint for i, waypoint in enumerate(waypoints) if i == 0 or waypoint != waypoints[i - 1]]
    return Trajectory(tuple(kept))
