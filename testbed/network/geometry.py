"""The geometry of one repetition: where every node is, and when two of them come within range of each other.

Every backend uses the same geometry: the same scenario and seed have the same waypoints, to the last bit, whatever the
algorithm and the backend. Times are in seconds of the run; a time unit has `time_unit` of them.
"""

from __future__ import annotations

import math

from testbed.errors import InputError
from testbed.mobility.crossings import Crossings
from testbed.mobility.trajectory import Trajectory
from testbed.radio.air import Air
from testbed.radio.altitude import trouble_with_heights


class Geometry:
    """The trajectories of all nodes, and the air between them."""

    def __init__(self, trajectories: list[Trajectory], air: Air, *, seconds: float, hysteresis: float) -> None:
        if trouble := trouble_with_heights(air.radio.propagation, trajectories):
            raise InputError(f"mobility: found {trouble[0]}; allowed: {trouble[1]}")
        self.trajectories = trajectories
        self.air = air
        self.seconds = seconds
        self._hysteresis = hysteresis

    def crossings(self) -> Crossings:
        """When links form and fall, until the nodes come to a stop at the end of the run's duration."""
        # Where heights matter they never change (`trouble_with_heights`), so those of the first waypoints are used.
        heights = [trajectory.waypoints[0].z for trajectory in self.trajectories]
        return Crossings(
            self.trajectories,
            range_of=lambda a, b: self.air.range_m(a, b, heights[a], heights[b]),
            max_range=self.air.max_range_m(len(heights), max(heights)),
            hysteresis=self._hysteresis,
            until=self.seconds,
        )

    def absences(self) -> list[tuple[float, int, bool]]:
        """When nodes appear late or leave early: seconds, node, whether it is present from then on.

        Nodes that are absent at the start have an entry at 0. Each node's entries are in the order of time.
        """
        found = []
        for node, trajectory in enumerate(self.trajectories):
            if not trajectory.is_there(0.0):
                found.append((0.0, node, False))
            for seconds, is_present in ((trajectory.appears, True), (trajectory.leaves, False)):
                if 0 < seconds < math.inf:
                    found.append((seconds, node, is_present))
        return found
