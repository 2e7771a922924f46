"""The propagation models a scenario can name: those that depend on positions only, and random ones with such a mean.

There are two kinds of randomness. Shadowing is fixed: a pair of nodes has more or less power than the mean for the
whole run, in both directions, however the nodes move. Fading is drawn for every frame.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, model_validator

from testbed.radio.path_loss import (
    Friis,
    ItuIndoor,
    LogDistance,
    Loss,
    Metres,
    PathLossModel,
    PlainRange,
    ThreeLogDistance,
    TwoRay,
    refuse_disorder,
)
from testbed.section import KindAlone


def _mean_shorthand(value: Any) -> Any:
    if isinstance(value, dict):
        return {"kind": "log-distance", **value}
    return {"kind": value} if isinstance(value, str) else value


Mean = Annotated[
    Annotated[LogDistance | ThreeLogDistance, Discriminator("kind")],
    BeforeValidator(_mean_shorthand),
]


class _OnMean(PathLossModel):
    """A random model with a mean loss."""

    kind: str
    mean: Mean = LogDistance()

    def loss(self, frequency_hz: float, range_m: float | None) -> Loss:
        """The mean loss."""
        return self.mean.loss(frequency_hz, range_m)

    def near_field_m(self, frequency_hz: float) -> float:
        """The near field of the mean."""
        return self.mean.near_field_m(frequency_hz)


class Shadowing(_OnMean):
    """Log-distance with obstacles: every pair of nodes has its own normal deviation in dB, for the whole run."""

    kind: Literal["shadowing"] = "shadowing"
    sigma_db: Annotated[float, Field(ge=0, le=30)] = 4.0

    @property
    def deviation_db(self) -> float:
        """`sigma_db`."""
        return self.sigma_db


class Nakagami(_OnMean):
    """Log-distance with fading: the power varies from frame to frame, more at greater distances."""

    kind: Literal["nakagami"] = "nakagami"
    distances: Annotated[list[Metres], Field(min_length=2, max_length=2)] = Field([80.0, 200.0])
    """Where the middle and the far field begin."""
    m: Annotated[list[Annotated[float, Field(ge=0.5, le=100)]], Field(min_length=3, max_length=3)] = Field(
        [1.5, 0.75, 0.75]
    )
    """The shape in the near, the middle and the far field; if it rose, a radio could have more than one range."""

    @model_validator(mode="after")
    def _in_order(self) -> Nakagami:
        refuse_disorder(self.distances, "distances", rising=True)
        refuse_disorder(self.m, "m", rising=False)
        return self

    def fading_m(self, distance_m: float) -> float:
        """The shape of the field that a distance is in."""
        middle, far = self.distances
        return self.m[0] if distance_m < middle else self.m[1] if distance_m < far else self.m[2]


PROPAGATION: dict[str, type[PathLossModel]] = {
    "friis": Friis,
    "two-ray": TwoRay,
    "log-distance": LogDistance,
    "three-log-distance": ThreeLogDistance,
    "shadowing": Shadowing,
    "itu-indoor": ItuIndoor,
    "nakagami": Nakagami,
    "range": PlainRange,
}


Propagation = Annotated[
    Annotated[
        Friis | TwoRay | LogDistance | ThreeLogDistance | Shadowing | ItuIndoor | Nakagami | PlainRange,
        Discriminator("kind"),
    ],
    KindAlone,
]
