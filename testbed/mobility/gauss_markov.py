"""Gauss-Markov: speed and direction with a memory, for vehicles that cannot turn on the spot.

B. Liang, Z. J. Haas, "Predictive distance-based mobility management for PCS networks", INFOCOM 1999; with speed and
direction as T. Camp, J. Boleng, V. Davies, "A survey of mobility models for ad hoc network research", WCMC 2(5), 2002,
section 2.5; in three dimensions as D. Broyles, A. Jabbar, J. P. G. Sterbenz, "Design and analysis of a 3-D Gauss-Markov
mobility model for highly-dynamic airborne networks", ITC 2010. At every step, with w drawn from a standard normal
distribution each time, speed, direction and pitch s become

    α s + (1 - α) mean + sqrt(1 - α²) deviation w,

so the correlation of values k steps apart is α^k. Every node has its own mean direction.

The speed of the movement is cut to [0, 2 mean], on both sides alike, so that the mean stays the mean; the remembered
value is not cut, so that the correlation stays α^k. The pitch is cut to straight down and straight up.

At the edges, `reflect` mirrors direction and mean direction; `wrap` changes neither; `turn` follows the survey: within
`margin` of an edge the mean direction is set to point away from it and stays so until the next edge, and a node that
still reaches the edge is reflected. Without a placement, nodes start in the steady state, in the middle of a step. It
is exact for `reflect` and `wrap`, where places are uniform; for `turn` no steady state is known, and the start is the
same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Annotated, Literal

from pydantic import Field

from testbed.mobility.fields import MAX_SPEED, Metres, Seconds, Share
from testbed.mobility.legs import Path, Velocity, drift
from testbed.mobility.model import MobilityModel
from testbed.mobility.regions import Box
from testbed.mobility.trajectory import Position, Waypoint

Degrees = Annotated[float, Field(ge=0, le=360)]
TURNED_PITCH = math.radians(45)
"""The mean pitch of a node that turns away from the floor or the ceiling."""


@dataclass(slots=True)
class MotionState:
    """What a node remembers from step to step; angles in radians."""

    speed: float
    direction: float
    pitch: float
    mean_direction: float
    mean_pitch: float = 0.0


class GaussMarkov(MobilityModel):
    """Speed and direction change little by little; with pitch where the area has depth, for drones."""

    kind: Literal["gauss-markov"] = "gauss-markov"
    memory: Share = 0.75
    """α, from a walk without memory (0) to a straight line (1)."""
    mean_speed: Annotated[float, Field(gt=0, le=MAX_SPEED / 2)] = 5.0
    """m/s."""
    speed_deviation: Annotated[float, Field(ge=0, le=MAX_SPEED)] = 1.0
    """m/s, the standard deviation."""
    direction_deviation: Degrees = 45.0
    """Degrees, the standard deviation."""
    pitch_deviation: Degrees = 10.0
    """Degrees above or below the horizon; without effect in a flat area."""
    interval: Seconds = 1.0
    """s, the time of a step."""
    boundary: Literal["reflect", "wrap", "turn"] = "reflect"
    margin: Metres = 50.0
    """m, for `turn`: the distance to an edge at which a node turns."""

    def path(self, start: Position | None, box: Box, rng: Random) -> Path:
        """Step after step, in all dimensions of the area."""
        here = Waypoint(0.0, *(start or box.uniform(rng)))
        yield here
        motion = self._initial_state(rng)
        step = self.interval if start else self.interval * rng.random()
        edge: Literal["reflect", "wrap"] = "wrap" if self.boundary == "wrap" else "reflect"
        while True:
            before = self._velocity(motion, is_flat=box.sizes.z == 0)
            here, after = yield from drift(here, before, here.t + step, box, edge)
            _mirror(motion, before, after)
            if self.boundary == "turn":
                self._turn(motion, here, box)
            self._advance(motion, rng)
            step = self.interval

    def _initial_state(self, rng: Random) -> MotionState:
        mean_direction = rng.uniform(-math.pi, math.pi)
        return MotionState(
            speed=rng.gauss(self.mean_speed, self.speed_deviation),
            direction=rng.gauss(mean_direction, math.radians(self.direction_deviation)),
            pitch=rng.gauss(0.0, math.radians(self.pitch_deviation)),
            mean_direction=mean_direction,
        )

    def _velocity(self, motion: MotionState, is_flat: bool) -> Velocity:
        speed = min(max(motion.speed, 0.0), 2 * self.mean_speed)
        pitch = 0.0 if is_flat else min(max(motion.pitch, -math.pi / 2), math.pi / 2)
        level = speed * math.cos(pitch)
        return Velocity(
            level * math.cos(motion.direction), level * math.sin(motion.direction), speed * math.sin(pitch)
        )  # fmt: skip

    def _advance(self, motion: MotionState, rng: Random) -> None:
        motion.speed = self._next(motion.speed, self.mean_speed, self.speed_deviation, rng)
        spread = math.radians(self.direction_deviation)
        motion.direction = self._next(motion.direction, motion.mean_direction, spread, rng)
        motion.pitch = self._next(motion.pitch, motion.mean_pitch, math.radians(self.pitch_deviation), rng)

    def _next(self, value: float, mean: float, deviation: float, rng: Random) -> float:
        alpha = self.memory
        return alpha * value + (1 - alpha) * mean + math.sqrt(1 - alpha * alpha) * rng.gauss(0.0, deviation)

    def _turn(self, motion: MotionState, here: Waypoint, box: Box) -> None:
        """Turn the mean direction away from near edges, by the smaller of the two possible angles."""
        x, y, z = (self._away(*place) for place in zip(here[1:], *box, strict=True))
        if x or y:
            wanted = math.atan2(y, x)
            motion.mean_direction = motion.direction + math.remainder(wanted - motion.direction, math.tau)
        motion.mean_pitch = z * TURNED_PITCH

    def _away(self, at: float, low: float, high: float) -> int:
        """The sign of the direction to the inside along one axis; 0 if both edges are far."""
        if min(at - low, high - at) >= self.margin:
            return 0
        return (at < (low + high) / 2) - (at > (low + high) / 2)


def _mirror(motion: MotionState, before: Velocity, after: Velocity) -> None:
    """Apply to the remembered angles what reflections have done to the velocity."""
    if before.x != after.x:
        motion.direction, motion.mean_direction = math.pi - motion.direction, math.pi - motion.mean_direction
    if before.y != after.y:
        motion.direction, motion.mean_direction = -motion.direction, -motion.mean_direction
    if before.z != after.z:
        motion.pitch = -motion.pitch
