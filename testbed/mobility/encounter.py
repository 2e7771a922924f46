"""Two nodes on straight lines: how long until they are in range of each other, and until they are out of it again.

The square of their distance is a quadratic in time, so both answers are roots. Whether there is a root at all is
sensitive to rounding: links of nodes that pass at exactly their range, or move side by side at it, would flicker. So
whether an event happens is decided with some slack, and only its time without. On lines that last for a `span`,

- a link forms if the distance gets below `reach - SLACK`, or is never above `reach + SLACK`;
- a link falls if the distance gets above `reach + 2 * SLACK`.

Between the two lies a dead band that no rounding error crosses. So a touch, from either side, is no event; nodes that
stand or move side by side at exactly their range are linked; and a crossing that is missed is less than a micrometre
deep.
"""

from __future__ import annotations

from bisect import bisect_right
from math import inf, sqrt

from testbed.mobility.trajectory import Trajectory, Waypoint

SLACK = 1e-7  # metres; rounding errors are some 1e-11 in an area of tens of kilometres
INSTANT = 1e-12  # seconds; a shorter movement is a jump, because speeds must be finite
END_OF_TIME = 1e30  # seconds; a span must be finite, because infinity times a speed of 0 is nan

Leg = tuple[float, float, float, float, float, float, float, float]
"""A straight line: t, x, y, z, the velocities along x, y and z, and its end. (Named tuples unpack more slowly.)"""
Motion = tuple[float, float, float]
"""The relative motion of two nodes: (c, b, a) such that the squared distance after t seconds is c + 2bt + at²."""


def leg_at(trajectory: Trajectory, t: float) -> Leg:
    """The leg of a node just after a time."""
    waypoints = trajectory.waypoints
    after = bisect_right(waypoints, t, key=_time)
    begin = waypoints[max(0, after - 1)]
    end = waypoints[after] if after < len(waypoints) else Waypoint(END_OF_TIME, *begin[1:])
    lasts = end.t - begin.t
    if lasts < INSTANT:  # it jumps, or stands before its first waypoint, where begin and end are the same
        lasts = inf
    speeds = ((end.x - begin.x) / lasts, (end.y - begin.y) / lasts, (end.z - begin.z) / lasts)
    return (*begin, *speeds, min(end.t, trajectory.leaves))


def _time(waypoint: Waypoint) -> float:
    return waypoint.t


def time_to_form(reach: float, motion: Motion, span: float) -> float:
    """How long until two nodes without a link are in range of each other; inf if not in the span."""
    distance2, parting, speed2 = motion
    gap = distance2 - reach * reach
    slack = 2.0 * reach * SLACK
    closest = min(-parting / speed2, span) if parting < 0.0 < speed2 else 0.0
    if gap + closest * (2.0 * parting + closest * speed2) < -slack:
        return gap / (sqrt(max(0.0, parting * parting - speed2 * gap)) - parting) if gap > 0.0 else 0.0
    if gap <= slack and gap + span * (2.0 * parting + span * speed2) <= slack:
        return 0.0
    return inf


def is_out(reach: float, distance2: float) -> bool:
    """Whether nodes at this distance cannot stay linked."""
    return distance2 - reach * reach > 4.0 * reach * SLACK


def time_to_fall(reach: float, motion: Motion, span: float) -> float:
    """How long until two nodes that are in range are out of it; inf if not in the span."""
    distance2, parting, speed2 = motion
    if not is_out(reach, distance2 + span * (2.0 * parting + span * speed2)):
        return inf
    excess = distance2 - reach * reach
    root = sqrt(max(0.0, parting * parting - speed2 * excess))
    # The later root, in the form that does not subtract nearly equal numbers.
    return max(0.0, -excess / (parting + root)) if parting > 0.0 else (root - parting) / speed2
