"""No node moves."""

from __future__ import annotations

from random import Random
from typing import Literal

from testbed.mobility.legs import Path
from testbed.mobility.model import MobilityModel
from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Waypoint


class Static(MobilityModel):
    """Nodes stay where they are; without a placement, at places drawn uniformly from the area."""

    kind: Literal["static"] = "static"

    def path(self, start: Position | None, box: Box, rng: Random) -> Path:
        """A single waypoint."""
        yield Waypoint(0.0, *(start or box.uniform(rng)))
