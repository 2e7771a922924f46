"""Nobody moves."""

from __future__ import annotations

from random import Random
from typing import Literal

from testbed.mobility.legs import Path
from testbed.mobility.model import Model
from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Waypoint


class Static(Model):
    """Nodes stay where they are; without a placement, anywhere in the area, each place as likely as any other."""

    kind: Literal["static"] = "static"

    def path(self, start: Position | None, box: Box, rng: Random) -> Path:
        """A single waypoint."""
        yield Waypoint(0.0, *(start or box.uniform(rng)))
