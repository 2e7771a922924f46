"""Random direction: the model that keeps nodes spread evenly over the area.

P. Nain, D. Towsley, B. Liu, Z. Liu, "Properties of random direction models", INFOCOM 2005. A node goes in a random
direction at a random speed for a random time, pauses, and chooses again; edges reflect it or wrap it around. They show
that uniformly distributed nodes stay so at every instant. (In the model's first form, E. M. Royer, P. M. Melliar-Smith,
L. E. Moser, "An analysis of the optimum node density for ad hoc mobile networks", ICC 2001, every leg ends at an edge,
which avoids crowding in the middle, but crowds the edges.)

Without a placement, nodes start in the steady state, which is exact: places are uniform, the share of nodes that pause
is the mean pause over the mean cycle, and the time left of a leg is exponential like the leg itself. Because the length
of a leg is drawn in seconds, speeds stay uniform, and no lowest speed is needed.
"""

from __future__ import annotations

from random import Random
from typing import Literal

from testbed.mobility.fields import AnySpeeds, Pauses, Range, Seconds
from testbed.mobility.legs import Path, any_direction, drift, rest
from testbed.mobility.model import MobilityModel, plane
from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Waypoint


class RandomDirection(MobilityModel):
    """Go in a random direction for a random time, pause, choose again; nodes stay spread evenly over the area."""

    kind: Literal["random-direction"] = "random-direction"
    speed: AnySpeeds = Range(0.0, 10.0)
    """m/s, drawn for each leg."""
    leg_time: Seconds = 60.0
    """s, the mean of the exponential time of a leg."""
    pause: Pauses = Range(0.0, 0.0)
    """s, drawn after each leg."""
    boundary: Literal["reflect", "wrap"] = "reflect"

    def path(self, start: Position | None, box: Box, rng: Random) -> Path:
        """Legs and pauses, in the plane."""
        box = plane(start, box)
        here = Waypoint(0.0, *(start or box.uniform(rng)))
        yield here
        mean_pause = self.pause.mean()
        if start is None and rng.random() * (self.leg_time + mean_pause) < mean_pause:
            here = rest(here, self.pause.draw(rng, power=1) * rng.random())
            yield here
        while True:
            velocity = any_direction(rng, self.speed.draw(rng))
            here, _ = yield from drift(here, velocity, here.t + rng.expovariate(1 / self.leg_time), box, self.boundary)
            here = rest(here, self.pause.draw(rng))
            yield here
