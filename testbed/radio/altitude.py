"""Checks that a propagation model has one range for every path: links form and fall by ranges fixed for a run.

Most models depend on the distance only. With models that depend on heights as well, the range of a node that climbs
would change, so such paths are refused instead of using the range at the node's first height.
"""

from __future__ import annotations

from collections.abc import Sequence

from testbed.mobility.trajectory import Trajectory
from testbed.radio.propagation import Propagation


def trouble_with_heights(propagation: Propagation, trajectories: Sequence[Trajectory]) -> tuple[str, str] | None:
    """The first node that is too low or whose level changes, and what is allowed instead; None if there is none.

    Checking waypoints is enough, because between two of them a node is neither lower nor higher than both.
    """
    kind, lowest = propagation.kind, propagation.lowest_z
    for node, trajectory in enumerate(trajectories):
        heights = {waypoint.z for waypoint in trajectory.waypoints}
        if min(heights) <= lowest:
            return (
                f"node {node} at z = {min(heights):g}",
                f"more than {lowest:g}: antennas of {kind} must be above the ground",
            )
        if len(set(map(propagation.level, heights))) > 1:
            found = f"node {node}, which goes from z = {min(heights):g} to {max(heights):g} or back"
            return found, f"nodes that stay {propagation.levels}: the range of {kind} depends on them"
    return None
