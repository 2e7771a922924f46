"""Random waypoint, started in its steady state.

D. B. Johnson, D. A. Maltz, "Dynamic source routing in ad hoc wireless networks", Mobile Computing, 1996. A node goes in
a straight line to a place drawn uniformly, at a speed drawn uniformly, pauses there, and goes on to the next.

Nodes that all start a leg at time 0 have other positions and speeds than later: over time they crowd towards the middle
and get slower, because slow legs take longer (J. Yoon, M. Liu, B. Noble, "Random waypoint considered harmful", INFOCOM
2003). So, without a placement, they start in the steady state (W. Navidi, T. Camp, "Stationary distributions for the
random waypoint mobility model", IEEE TMC 3(1), 2004; J.-Y. Le Boudec, M. Vojnović, "Perfect simulation and stationarity
of a class of mobility models", INFOCOM 2005). Seen at an arbitrary instant, by Palm calculus,

- a node moves with a probability proportional to the mean time of a leg, E[length] E[1/speed], and pauses with one
  proportional to the mean pause;
- the leg of a moving node has ends with a density proportional to their distance, and a speed with one proportional to
  uniform/speed; the node is anywhere on it with equal probability;
- the pause of a pausing node has a density proportional to uniform * pause; any share of it is left, and the place is
  uniform.

E[length] has no simple form for a box, and is not needed: both the leg and the choice to move are drawn by rejection
against the longest possible leg. The sample is exact.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from random import Random
from typing import Literal

from testbed.mobility.fields import Pauses, Range, Speeds
from testbed.mobility.legs import Path, between, reach, rest
from testbed.mobility.model import MobilityModel
from testbed.mobility.regions import Box, Region
from testbed.mobility.trajectory import Position, Waypoint


class RandomWaypoint(MobilityModel):
    """Go straight to a random place in the area, pause, go on to the next; without a placement, in steady state."""

    kind: Literal["random-waypoint"] = "random-waypoint"
    speed: Speeds = Range(1.0, 10.0)
    """m/s, drawn for each leg."""
    pause: Pauses = Range(0.0, 0.0)
    """s, drawn at each place."""

    def path(self, start: Position | None, box: Box, rng: Random) -> Path:
        """Legs and pauses in the whole area, which may have depth."""
        return wander(start, box, self.speed, self.pause, rng)


def wander(start: Position | None, region: Region, speed: Range, pause: Range, rng: Random) -> Path:
    """Random waypoint in a convex region; from the steady state if no start is given."""
    here = (yield from _steady_state(region, speed, pause, rng)) if start is None else Waypoint(0.0, *start)
    yield here
    while True:
        here = reach(here, region.uniform(rng), speed.draw(rng))
        yield here
        here = rest(here, pause.draw(rng))
        yield here


def _steady_state(region: Region, speed: Range, pause: Range, rng: Random) -> Generator[Waypoint, None, Waypoint]:
    """Yields where a node is at time 0, and the end of its first leg; returns the end of the pause after that."""
    longest_leg, mean_pause = region.diameter * speed.mean(of=-1), pause.mean()
    while rng.random() * (longest_leg + mean_pause) >= mean_pause:
        a, b = region.uniform(rng), region.uniform(rng)
        if rng.random() * region.diameter < math.dist(a, b):
            here = Waypoint(0.0, *between(a, b, rng.random()))
            yield here
            here = reach(here, b, speed.draw(rng, power=-1))
            yield here
            return rest(here, pause.draw(rng))
    here = Waypoint(0.0, *region.uniform(rng))
    yield here
    return rest(here, pause.draw(rng, power=1) * rng.random())
