"""The interface of all mobility models: from starts, area and random streams to one path for every node."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from testbed.mobility.area import Area
from testbed.mobility.legs import Path, cut
from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Trajectory
from testbed.randomness import Streams
from testbed.section import Section


class MobilityModel(Section):
    """A mobility model. If nodes move independently it implements `path`; otherwise it overrides `trajectories`."""

    def trajectories(
        self, starts: list[Position] | None, nodes: int, area: Area, duration: float, streams: Streams
    ) -> list[Trajectory]:
        """The path of every node from time 0 to exactly `duration`, in seconds; the same for the same streams.

        Without `starts` the nodes start in the steady state of the model; each model says how exactly. With `starts`
        they start from there, and the steady state is reached only after some time. A model that does not fit into the
        area raises a `ValueError`.
        """
        box = Box.of(area)
        return [
            cut(self.path(start, box, streams.of("mobility", node)), duration)
            for node, start in enumerate(inside(starts, nodes, area))
        ]

    def path(self, start: Position | None, box: Box, rng: Random) -> Path:
        """The endless path of one node."""
        raise NotImplementedError


def inside(starts: list[Position] | None, nodes: int, area: Area) -> Sequence[Position | None]:
    """Where each node starts, moved inside if a rounding error put it outside; None for each if the model chooses."""
    if starts is None:
        return [None] * nodes
    assert len(starts) == nodes, f"{len(starts)} starts for {nodes} nodes"
    assert all(map(area.holds, starts)), "a placement puts every node inside the area"
    box = Box.of(area)
    return [box.nearest(start) for start in starts]


def plane(start: Position | None, box: Box) -> Box:
    """For a model in the plane: the horizontal slice of the area at the height of a node's start."""
    return box.level(box.low.z if start is None else start.z)
