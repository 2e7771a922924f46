"""What all mobility models share: given the starts, the area and the streams, one path for every node."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from testbed.mobility.area import Area
from testbed.mobility.legs import Path, cut
from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Trajectory
from testbed.section import Section
from testbed.randomness import Streams


class Model(Section):
    """A mobility model. One whose nodes move on their own says how in `path`; others override `trajectories`."""

    def trajectories(
        self, starts: list[Position] | None, nodes: int, area: Area, duration: float, streams: Streams
    ) -> list[Trajectory]:
        """The path of every node from time 0 to exactly `duration`, in seconds; the same for the same streams.

        Without `starts` the nodes are found as if the model had run for ever; each model says how nearly so. With them
        they set out from where they are, and what a model is known for in the long run takes time to set in. What
        cannot be done in the area is a `ValueError`.
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
    """Where each node starts, or None for each if the model is to choose; rounding errors outside the area undone."""
    if starts is None:
        return [None] * nodes
    assert len(starts) == nodes, f"{len(starts)} starts for {nodes} nodes"
    assert all(map(area.holds, starts)), "a placement leaves nobody outside the area"
    box = Box.of(area)
    return [box.nearest(start) for start in starts]


def plane(start: Position | None, box: Box) -> Box:
    """The slice of the area that a node moves in, if its model is one for the plane: at the height of its start."""
    return box.level(box.low.z if start is None else start.z)
