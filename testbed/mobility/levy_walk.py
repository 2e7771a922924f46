"""Truncated Lévy walk: the heavy-tailed flights and pauses of people on foot.

I. Rhee, M. Shin, S. Hong, K. Lee, S. J. Kim, S. Chong, "On the Levy-walk nature of human mobility", IEEE/ACM
Transactions on Networking 19(3), 2011 (INFOCOM 2008). A flight has a length l with a density proportional to l^-(1+α),
and a direction drawn uniformly. It takes k l^(1-ρ) seconds, so that long flights are fast. A pause t follows with a
density proportional to t^-(1+β). Both are cut to a range. The paper cuts stable laws, which have these tails; the laws
here are power laws over the whole range. The defaults of k and ρ are the paper's for flights under 500 m.

Without a placement, nodes start in the steady state. It is exact for `reflect` and `wrap`: places are uniform; the
flight under way is drawn in proportion to its time and the pause under way in proportion to its length, which are power
laws again; and a uniform share of it is left. With `stop` it is approximate, because flights end at an edge.
"""

from __future__ import annotations

import math
from random import Random
from typing import Annotated, Literal

from pydantic import Field, model_validator

from testbed import input_errors
from testbed.durations import MAX_UNITS
from testbed.mobility.fields import LEAST, Lengths, Pauses, Range, Share
from testbed.mobility.legs import Boundary, Path, any_direction, drift, rest
from testbed.mobility.model import MobilityModel, plane
from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Waypoint

Exponent = Annotated[float, Field(gt=0, le=3)]


class LevyWalk(MobilityModel):
    """Flights and pauses by truncated power laws, long flights faster: people on foot."""

    kind: Literal["levy-walk"] = "levy-walk"
    flight: Lengths = Range(10.0, 500.0)
    """m, the shortest and the longest flight."""
    flight_exponent: Exponent = 1.6
    """α: the smaller, the more long flights."""
    pause: Pauses = Range(10.0, 3600.0)
    """s, the shortest and the longest pause; 0 for none."""
    pause_exponent: Exponent = 0.8
    """β: the smaller, the more long pauses."""
    slowness: Annotated[float, Field(ge=LEAST, le=MAX_UNITS)] = 30.55
    """k: the seconds that a flight of one metre takes."""
    speed_exponent: Share = 0.89
    """ρ: the speed of a flight is length^ρ / k; 0: all flights have the same speed, 1: all take the same time."""
    boundary: Boundary = "reflect"

    @model_validator(mode="after")
    def _has_pauses(self) -> LevyWalk:
        if self.pause.low < LEAST and self.pause.high > 0:
            allowed = f"a shortest pause of at least {LEAST:g} s, where the power law is cut, or 0 for no pauses at all"
            raise input_errors.found_instead(f"{list(self.pause)}", allowed, key="pause")
        return self

    def path(self, start: Position | None, box: Box, rng: Random) -> Path:
        """Flights and pauses, in the plane."""
        box = plane(start, box)
        here = Waypoint(0.0, *(start or box.uniform(rng)))
        yield here
        length, share = self._flight(rng), 1.0
        if start is None and self._is_flying(rng):
            length, share = self.flight.draw(rng, -self.flight_exponent - self.speed_exponent), rng.random()
        elif start is None:
            here = rest(here, self.pause.draw(rng, -self.pause_exponent) * rng.random())
            yield here
        while True:
            seconds = self._seconds(length)
            velocity = any_direction(rng, length / seconds)
            here, _ = yield from drift(here, velocity, here.t + share * seconds, box, self.boundary)
            here = rest(here, self.pause.draw(rng, -1 - self.pause_exponent))
            yield here
            length, share = self._flight(rng), 1.0

    def _flight(self, rng: Random) -> float:
        return self.flight.draw(rng, -1 - self.flight_exponent)

    def _seconds(self, length: float) -> float:
        return self.slowness * math.pow(length, 1 - self.speed_exponent)

    def _is_flying(self, rng: Random) -> bool:
        """Draws whether a node is flying, not pausing, at an arbitrary instant."""
        flying = self.slowness * self.flight.mean(of=1 - self.speed_exponent, power=-1 - self.flight_exponent)
        pausing = self.pause.mean(power=-1 - self.pause_exponent)
        return rng.random() * (flying + pausing) >= pausing
