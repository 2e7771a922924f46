"""Random walk: steps of equal time in random directions.

T. Camp, J. Boleng, V. Davies, "A survey of mobility models for ad hoc network research", Wireless Communications and
Mobile Computing 2(5), 2002, section 2.1.

With `reflect` and `wrap`, the uniform distribution of places is stationary; without a placement nodes start from it,
somewhere in the middle of a step. With `stop` there is no simple stationary distribution, and the start is the same.
"""

from __future__ import annotations

from random import Random
from typing import Literal

from testbed.mobility.fields import AnySpeeds, Range, Seconds
from testbed.mobility.legs import Boundary, Path, any_direction, drift
from testbed.mobility.model import MobilityModel, plane
from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Waypoint


class RandomWalk(MobilityModel):
    """Steps of equal time, each in a random direction at a random speed."""

    kind: Literal["random-walk"] = "random-walk"
    speed: AnySpeeds = Range(0.0, 10.0)
    """m/s, drawn for each step."""
    interval: Seconds = 10.0
    """s, the time of a step."""
    boundary: Boundary = "reflect"

    def path(self, start: Position | None, box: Box, rng: Random) -> Path:
        """Step after step, in the plane."""
        box = plane(start, box)
        here = Waypoint(0.0, *(start or box.uniform(rng)))
        yield here
        step = self.interval if start else self.interval * rng.random()
        while True:
            velocity = any_direction(rng, self.speed.draw(rng))
            here, _ = yield from drift(here, velocity, here.t + step, box, self.boundary)
            step = self.interval
