"""A radio, as a scenario describes it: the same for every node.

Its range is the distance at which half of the frames of 100 bytes are received. If a scenario gives a range, the radio
gets the transmit power that leads to it.
"""

from __future__ import annotations

from functools import cache
from math import log10
from typing import Annotated, Any, Literal

from pydantic import Field, field_serializer, model_validator

from testbed import input_errors
from testbed.radio.boundary import boundary
from testbed.radio.path_loss import LogDistance, Loss, Metres, PlainRange
from testbed.radio.propagation import Propagation
from testbed.radio.rates import RATES, Rate
from testbed.radio.receiver import Receiver
from testbed.section import Section

THERMAL_NOISE_DBM_PER_HZ = 10.0 * log10(1.3803e-23 * 290 * 1000)
"""-173.98: Boltzmann's constant, with the digits that ns-3 uses, times 290 K in milliwatts."""
MIN_POWER_DBM, MAX_POWER_DBM = -100.0, 60.0
"""A tenth of a picowatt, and a kilowatt."""
_ROUNDING_DB = 1e-9
"""Power in addition to what a range needs, so that nodes at exactly that distance are within it."""

_BANDWIDTH_HZ = {"802.11b": 22e6, "802.11g": 20e6, "802.11a": 20e6}
_OTHER_DEFAULTS: dict[str, dict[str, Any]] = {"802.11b": {"rate": 1.0}, "802.11a": {"channel": 36}}
_CHANNELS_2_4_GHZ = {channel: 2407 + 5 * channel for channel in range(1, 14)}
_CHANNELS_5_GHZ = {
    channel: 5000 + 5 * channel for channel in (*range(36, 65, 4), *range(100, 145, 4), *range(149, 166, 4))
}
CHANNELS_MHZ: dict[str, dict[int, int]] = {
    "802.11b": {**_CHANNELS_2_4_GHZ, 14: 2484},
    "802.11g": _CHANNELS_2_4_GHZ,
    "802.11a": _CHANNELS_5_GHZ,
}

Power = Annotated[float, Field(ge=MIN_POWER_DBM, le=MAX_POWER_DBM)]
Level = Annotated[float, Field(ge=-300, le=100)]
Gain = Annotated[float, Field(ge=-50, le=50)]


class Radio(Section):
    """The radio of every node."""

    standard: Literal["802.11b", "802.11g", "802.11a"] = "802.11g"
    channel: int = 1
    """Default 36, if the standard is 802.11a."""
    rate: float = 6.0
    """Mb/s of data; default 1, if the standard is 802.11b."""
    rate_control: Literal["constant", "minstrel", "ideal"] = "constant"
    """What chooses the rate of frames for one receiver: it is `rate`, or found out. Broadcasts always have `rate`."""
    tx_power_dbm: Power = 16.0
    """If a range is given, the power that it needs."""
    range: Metres | None = None
    antenna_gain_dbi: Gain = 0.0
    """Of each antenna; a signal passes two."""
    noise_figure_db: Annotated[float, Field(ge=0, le=100)] = 7.0
    noise_floor_dbm: Level | None = None
    """Replaces thermal noise and noise figure."""
    detection_rssi_dbm: Level = -82.0
    detection_snr_db: Annotated[float, Field(ge=-300, le=100)] = 4.0
    """Power and signal-to-noise ratio that a preamble must have to be detected."""
    propagation: Propagation = LogDistance()

    @model_validator(mode="before")
    @classmethod
    def _by_standard(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("range") is not None and data.get("tx_power_dbm") is not None:
            raise input_errors.found_instead("both range and tx_power_dbm", "one of them, for it gives the other")
        standard = data.get("standard")
        defaults = _OTHER_DEFAULTS.get(standard, {}) if isinstance(standard, str) else {}
        return defaults | {key: value for key, value in data.items() if key != "tx_power_dbm" or value is not None}

    @model_validator(mode="after")
    def _fits_together(self) -> Radio:
        self._check_known("channel", CHANNELS_MHZ[self.standard])
        self._check_known("rate", RATES[self.standard])
        if isinstance(self.propagation, PlainRange):
            self._check_disc()
        elif self.range is not None:
            object.__setattr__(self, "tx_power_dbm", self._power_for(self.range))
        return self

    def _check_known(self, key: str, known: dict[Any, Any]) -> None:
        value = getattr(self, key)
        if value not in known:
            allowed = f"one of {', '.join(f'{one:g}' for one in known)}, which {self.standard} has"
            raise input_errors.found_instead(f"{value:g}", allowed, key)

    def _check_disc(self) -> None:
        if self.range is None:
            raise input_errors.found_instead("nothing", "metres: with propagation range, this is the range", "range")
        if self.reach_m() < self.range:
            found = f"{self.range:g}, where {self.tx_power_dbm:g} dBm are not received at all"
            raise input_errors.found_instead(found, "less noise, or lower thresholds of detection", "range")

    def _power_for(self, range_m: float) -> float:
        near_field = self.propagation.near_field_m(self.frequency_hz)
        if range_m < near_field:
            allowed = f"at least {near_field:.3g}: up to there, the loss of {self.propagation.kind} is the same"
            raise input_errors.found_instead(f"{range_m:g}", allowed, "range")
        sensitivity = self.receiver.sensitivity_dbm(self.propagation.fading_m(range_m))
        power = sensitivity + self.loss(range_m, 0.0, 0.0) - 2 * self.antenna_gain_dbi + _ROUNDING_DB
        self._check_power(power)
        return power

    def _check_power(self, power: float) -> None:
        limit = max(MIN_POWER_DBM, min(power, MAX_POWER_DBM))
        if power != limit:
            reach = self.model_copy(update={"tx_power_dbm": limit}).reach_m()
            found = f"{self.range:g}, which takes {power:.1f} dBm"
            allowed = f"{'at most' if power > limit else 'at least'} {reach:.5g}, which {limit:g} dBm reach"
            raise input_errors.found_instead(found, allowed, "range")

    @field_serializer("tx_power_dbm")
    def _dump_power(self, tx_power_dbm: float) -> float | None:
        """None if it follows from a range, so that a written scenario can be read back."""
        return tx_power_dbm if self.range is None else None

    @property
    def frequency_hz(self) -> float:
        """The middle of the channel."""
        return 1e6 * CHANNELS_MHZ[self.standard][self.channel]

    @property
    def noise_dbm(self) -> float:
        """The noise floor."""
        if self.noise_floor_dbm is not None:
            return self.noise_floor_dbm
        return THERMAL_NOISE_DBM_PER_HZ + 10.0 * log10(_BANDWIDTH_HZ[self.standard]) + self.noise_figure_db

    @property
    def bit_rate(self) -> Rate:
        """The properties of the rate."""
        return RATES[self.standard][self.rate]

    @property
    def receiver(self) -> Receiver:
        """The receiver of this radio."""
        noise = self.noise_dbm
        return Receiver(self.bit_rate, noise, max(self.detection_rssi_dbm, noise + self.detection_snr_db))

    @property
    def loss(self) -> Loss:
        """The mean path loss, without the shadowing of a pair and the fading of a frame."""
        return self.propagation.loss(self.frequency_hz, self.range)

    def reach_m(self, gain_db: float = 0.0, z_a: float = 0.0, z_b: float = 0.0) -> float:
        """The range of two nodes at these heights with this gain by shadowing; 0 if they never hear each other."""
        power = self.tx_power_dbm + 2 * self.antenna_gain_dbi + gain_db
        loss, fading_m, sensitivity_dbm = self.loss, self.propagation.fading_m, cache(self.receiver.sensitivity_dbm)

        def is_heard(distance: float) -> bool:
            return power - loss(distance, z_a, z_b) >= sensitivity_dbm(fading_m(distance))

        beyond = 1.0
        while is_heard(beyond):
            beyond *= 2.0
        return boundary(is_heard, inside=0.0, outside=beyond) if is_heard(0.0) else 0.0
