"""The path loss between two nodes, in dB: the same formulas and near fields as ns-3's models.

At given heights of the nodes, every loss grows with the distance beyond the near field and is no greater within it, so
that a radio has one range. Distances are in metres and in space; heights are the nodes' z.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf, log10, pi, sqrt
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from testbed import input_errors
from testbed.section import Section

LIGHT_M_PER_S = 299_792_458.0

Loss = Callable[[float, float, float], float]
"""From the distance of two nodes and the height of each to the loss in dB."""
Metres = Annotated[float, Field(ge=1e-3, le=1e7)]
Exponent = Annotated[float, Field(ge=1, le=10)]
Decibels = Annotated[float, Field(ge=0, le=300)]
SystemLoss = Annotated[float, Field(ge=1, le=1e6)]


class PathLossModel(Section):
    """A propagation model. A random one has a deviation for each pair, or a shape of the fading of each frame."""

    def loss(self, frequency_hz: float, range_m: float | None) -> Loss:
        """The loss on a frequency; only the plain range uses the requested range of the radio."""
        raise NotImplementedError

    def near_field_m(self, frequency_hz: float) -> float:
        """The distance up to which the loss does not grow."""
        raise NotImplementedError

    levels: ClassVar[str] = "at their heights"
    """For error lines: where nodes must stay."""

    def level(self, z: float) -> float:
        """The level of a height: heights of one level have the same loss. By default there is only one level."""
        return 0.0

    @property
    def lowest_z(self) -> float:
        """Nodes must be higher than this for the loss to be defined."""
        return -inf

    @property
    def deviation_db(self) -> float:
        """Standard deviation of the shadowing of a pair of nodes, which is fixed for the whole run."""
        return 0.0

    def fading_m(self, distance_m: float) -> float | None:
        """Shape of the Nakagami fading of every frame; None without fading."""
        return None

    @property
    def is_fading(self) -> bool:
        """Whether frames of one pair of nodes that do not move differ in power."""
        return self.fading_m(0.0) is not None


class Friis(PathLossModel):
    """Free space: the loss grows with the square of the distance."""

    kind: Literal["friis"] = "friis"
    system_loss: SystemLoss = 1.0
    """A factor, not dB."""
    min_loss_db: Decibels = 0.0
    """The least loss, near the sender."""

    def loss(self, frequency_hz: float, range_m: float | None) -> Loss:
        """(4 pi d / wavelength)^2 * system loss."""
        least = self.min_loss_db
        per_metre = 4 * pi * sqrt(self.system_loss) * frequency_hz / LIGHT_M_PER_S

        def loss_db(distance: float, z_a: float, z_b: float) -> float:
            return max(least, 20.0 * log10(per_metre * distance)) if distance > 0.0 else least

        return loss_db

    def near_field_m(self, frequency_hz: float) -> float:
        """Where the loss is `min_loss_db`."""
        per_metre = 4 * pi * sqrt(self.system_loss) * frequency_hz / LIGHT_M_PER_S
        return float(10 ** (self.min_loss_db / 20) / per_metre)


class TwoRay(PathLossModel):
    """A ray along the ground as well: beyond a crossover distance the loss grows with the fourth power."""

    kind: Literal["two-ray"] = "two-ray"
    system_loss: SystemLoss = 1.0
    antenna_height: Metres = 1.5
    """m above the node's z."""
    min_distance: Annotated[float, Field(ge=0.05, le=100)] = 0.5
    """m; up to this distance there is no loss."""

    def loss(self, frequency_hz: float, range_m: float | None) -> Loss:
        """Friis up to the crossover at 4 pi h_a h_b / wavelength, then d^4 / (h_a h_b)^2 * system loss."""
        nearest, height = self.min_distance, self.antenna_height
        per_metre = 4 * pi * frequency_hz / LIGHT_M_PER_S
        system_db = 10.0 * log10(self.system_loss)

        def loss_db(distance: float, z_a: float, z_b: float) -> float:
            if distance <= nearest:
                return 0.0
            heights = (z_a + height) * (z_b + height)
            if distance <= per_metre * heights:
                return system_db + 20.0 * log10(per_metre * distance)
            return system_db + 20.0 * log10(distance * distance / heights)

        return loss_db

    def near_field_m(self, frequency_hz: float) -> float:
        """Where there is no loss."""
        return self.min_distance

    def level(self, z: float) -> float:
        """Every height has its own crossover and loss."""
        return z

    @property
    def lowest_z(self) -> float:
        """Where an antenna is on the ground, and the formula divides by zero."""
        return -self.antenna_height


class LogDistance(PathLossModel):
    """The loss at a reference distance, growing with a power of the distance beyond it."""

    kind: Literal["log-distance"] = "log-distance"
    exponent: Exponent = 3.0
    reference_distance: Metres = 1.0
    reference_loss_db: Decibels | None = None
    """By default that of free space."""

    def loss(self, frequency_hz: float, range_m: float | None) -> Loss:
        """Reference loss + 10 exponent log10(d / reference distance)."""
        start, slope = self.reference_distance, 10.0 * self.exponent
        reference = _reference_loss(self.reference_loss_db, start, frequency_hz)

        def loss_db(distance: float, z_a: float, z_b: float) -> float:
            return reference + slope * log10(distance / start) if distance > start else reference

        return loss_db

    def near_field_m(self, frequency_hz: float) -> float:
        """Where the loss is the reference loss."""
        return self.reference_distance


class ThreeLogDistance(PathLossModel):
    """Log-distance with three exponents: for the near, the middle and the far field."""

    kind: Literal["three-log-distance"] = "three-log-distance"
    distances: Annotated[list[Metres], Field(min_length=3, max_length=3)] = Field([1.0, 200.0, 500.0])
    """Where each field begins; there is no loss below the first distance."""
    exponents: Annotated[list[Exponent], Field(min_length=3, max_length=3)] = Field([1.9, 3.8, 3.8])
    reference_loss_db: Decibels | None = None
    """At the first distance; by default that of free space."""

    @model_validator(mode="after")
    def _in_order(self) -> ThreeLogDistance:
        refuse_disorder(self.distances, "distances", rising=True)
        return self

    def loss(self, frequency_hz: float, range_m: float | None) -> Loss:
        """The loss at the start of the field + 10 exponent log10(d / start)."""
        fields = []
        at_start = _reference_loss(self.reference_loss_db, self.distances[0], frequency_hz)
        for start, end, exponent in zip(self.distances, [*self.distances[1:], inf], self.exponents, strict=True):
            fields.append((start, at_start, 10.0 * exponent))
            at_start += 10.0 * exponent * log10(end / start)
        fields.reverse()

        def loss_db(distance: float, z_a: float, z_b: float) -> float:
            for start, at_start, slope in fields:
                if distance >= start:
                    return at_start + slope * log10(distance / start)
            return 0.0

        return loss_db

    def near_field_m(self, frequency_hz: float) -> float:
        """Where there is no loss."""
        return self.distances[0]


class ItuIndoor(PathLossModel):
    """Inside a building, through its walls and floors (ITU-R P.1238)."""

    kind: Literal["itu-indoor"] = "itu-indoor"
    building: Literal["residential", "office", "commercial"] = "office"
    floor_height: Annotated[float, Field(ge=1, le=100)] = 3.0
    """m; with a node's z it gives the floor that the node is on."""
    levels: ClassVar[str] = "on their floors"

    def loss(self, frequency_hz: float, range_m: float | None) -> Loss:
        """20 log10(f / MHz) + N log10(d) + loss through floors - 28, for d of at least one metre."""
        slope, first_floor, next_floor = _BUILDINGS[self.building]
        at_a_metre = 20.0 * log10(frequency_hz / 1e6) - 28.0
        storey = self.floor_height

        def loss_db(distance: float, z_a: float, z_b: float) -> float:
            floors = abs(z_a // storey - z_b // storey)
            through = first_floor + next_floor * (floors - 1) if floors else 0.0
            return at_a_metre + slope * log10(max(1.0, distance)) + through

        return loss_db

    def near_field_m(self, frequency_hz: float) -> float:
        """The recommendation holds for more than one metre."""
        return 1.0

    def level(self, z: float) -> float:
        """The floor."""
        return z // self.floor_height


_BUILDINGS = {"residential": (28.0, 4.0, 4.0), "office": (30.0, 15.0, 4.0), "commercial": (22.0, 6.0, 3.0)}
"""N, the loss of the first floor and of each further one, in dB: P.1238 for 1.8 to 2 GHz, as ns-3 on any frequency."""


class PlainRange(PathLossModel):
    """A disc: all frames are received within the radio's range and none beyond it."""

    kind: Literal["range"] = "range"

    def loss(self, frequency_hz: float, range_m: float | None) -> Loss:
        """No loss within the range, and a loss beyond it that no radio overcomes."""
        assert range_m is not None, "a radio with this model has a range"
        return lambda distance, z_a, z_b: 0.0 if distance <= range_m else BEYOND_DB

    def near_field_m(self, frequency_hz: float) -> float:
        """There is no near field: any radius is possible."""
        return 0.0


BEYOND_DB = 1000.0


def free_space_db(distance_m: float, frequency_hz: float) -> float:
    """The loss in free space."""
    return 20.0 * log10(4 * pi * distance_m * frequency_hz / LIGHT_M_PER_S)


def _reference_loss(given_db: float | None, distance_m: float, frequency_hz: float) -> float:
    return max(0.0, free_space_db(distance_m, frequency_hz)) if given_db is None else given_db


def refuse_disorder(values: list[float], key: str, *, rising: bool) -> None:
    """Refuse values that do not rise from each to the next or, if not `rising`, values that do."""
    for before, after in pairwise(values):
        if (after <= before) if rising else (after > before):
            allowed = "each greater than the one before" if rising else "none greater than the one before"
            raise input_errors.found_instead(f"{values}", allowed, key)
