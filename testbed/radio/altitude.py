"""Which paths a propagation model has one range for: links form and fall by ranges that do not change during a run.

Most models ask for the distance only. With those that ask for heights as well, a node that climbs would have another
range from then on, so such paths are refused rather than given the range of the height that the node began at.
"""

from __future__ import annotations

from collections.abc import Sequence

from testbed.mobility.trajectory import Trajectory
from testbed.radio.propagation import Propagation


def trouble_with_heights(propagation: Propagation, trajectories: Sequence[Trajectory]) -> tuple[str, str] | None:
    """The first node that is too low or whose level changes, and what is allowed instead; None if all is well.

    Waypoints tell it all, as a node between two of them is no lower than the lower and no higher than the higher one.
    """
    kind, lowest = propagation.kind, propagation.lowest_z
    for node, trajectory in enumerate(trajectories):
        heights = {waypoint.z for waypoint in trajectory.waypoints}
        if min(heights) <= lowest:
            return f"node {node} at z = {min(heights):g}", f"more than {lowest:g}: lower antennas of {kind} are buried"
        if len(set(map(propagation.level, heights))) > 1:
            found = f"node {node}, which goes from z = {min(heights):g} to {max(heights):g} or back"
            return found, f"nodes that stay {propagation.levels}: the range of {kind} depends on them"
    return None
