"""The geometry of one repetition: where every node is, and when two of them come within range of each other.

Every backend takes it from here, so the same scenario and seed have the same waypoints, to the last bit, whatever the
algorithm and the world. Times are seconds of the run, of which `time_unit` make a time unit.
"""

from __future__ import annotations

from testbed.errors import InputError
from testbed.mobility.area import Area
from testbed.mobility.crossings import Crossings
from testbed.mobility.trajectory import Trajectory
from testbed.radio.air import Air
from testbed.radio.altitude import trouble_with_heights
from testbed.scenario.schema import Scenario
from testbed.randomness import Streams
from testbed.scenario.topology import GeometricTopology


class Geometry:
    """The trajectories of all nodes, and the air between them."""

    def __init__(self, scenario: Scenario, streams: Streams) -> None:
        assert isinstance(scenario.topology, GeometricTopology)
        assert scenario.radio is not None, "a geometric topology has a radio"
        self.seconds = (scenario.duration or 0.0) * scenario.time_unit
        self.trajectories = self._trajectories(scenario, streams)
        if trouble := trouble_with_heights(scenario.radio.propagation, self.trajectories):
            raise InputError(f"{scenario.name}: mobility: found {trouble[0]}; allowed: {trouble[1]}")
        self.air = Air(scenario.radio, streams)
        self._hysteresis = scenario.topology.hysteresis

    def crossings(self) -> Crossings:
        """When links form and fall, until the nodes come to a stop at the end of the run's duration."""
        heights = [trajectory.waypoints[0].z for trajectory in self.trajectories]  # or any other, as levels stay
        return Crossings(
            self.trajectories,
            range_of=lambda a, b: self.air.range_m(a, b, heights[a], heights[b]),
            max_range=self.air.max_range_m(len(heights), max(heights)),
            hysteresis=self._hysteresis,
            until=self.seconds,
        )

    def _trajectories(self, scenario: Scenario, streams: Streams) -> list[Trajectory]:
        assert scenario.mobility is not None, "a geometric topology has a mobility"
        area, starts = scenario.area or Area(0.0, 0.0), None
        if scenario.placement is not None:
            starts = scenario.placement.positions(scenario.nodes, area, streams.of("placement"))
        return scenario.mobility.trajectories(starts, scenario.nodes, area, self.seconds, streams)
