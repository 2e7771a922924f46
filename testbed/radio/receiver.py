"""The reception of a frame that arrives with some power: whether it is detected, and then whether it has errors.

A preamble is detected if both its power and its ratio to the noise are high enough, as in ns-3's
ThresholdPreambleDetectionModel; `packet_error_rate` then gives the errors in header and bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from testbed.radio.boundary import boundary
from testbed.radio.fading import chance_below
from testbed.radio.rates import Rate, packet_error_rate

RANGE_FRAME_BYTES = 100
"""The size of the frame that defines the range."""
_POWERS_DBM = (-1000.0, 1000.0)  # beyond anything
_STEP_DB = 0.1
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class Receiver:
    """The receiving side of a radio."""

    rate: Rate
    noise_dbm: float
    detection_dbm: float
    """Power below which no preamble is detected."""

    def error_rate(self, power_dbm: float, size_bytes: int) -> float:
        """The probability that a frame of this power is not received."""
        if power_dbm < self.detection_dbm:
            return 1.0
        return packet_error_rate(power_dbm - self.noise_dbm, size_bytes, self.rate)

    def faded_error_rate(self, mean_dbm: float, size_bytes: int, m: float) -> float:
        """The probability that a frame of this mean power is not received, over Nakagami fading of shape m."""
        thresholds = _thresholds(self, size_bytes)
        return sum(share * chance_below(10.0 ** ((power - mean_dbm) / 10.0), m) for power, share in thresholds)

    def sensitivity_dbm(self, m: float | None = None) -> float:
        """The mean power at which half of the frames that define the range are received."""

        def is_lost(power_dbm: float) -> bool:
            if m is None:
                return self.error_rate(power_dbm, RANGE_FRAME_BYTES) > 0.5
            return self.faded_error_rate(power_dbm, RANGE_FRAME_BYTES, m) > 0.5

        weakest, strongest = _POWERS_DBM
        return boundary(lambda power: not is_lost(power), inside=strongest, outside=weakest)


@lru_cache(maxsize=256)
def _thresholds(receiver: Receiver, size_bytes: int) -> list[tuple[float, float]]:
    """A frame's error rate as a mixture of hard thresholds: powers, and the share of frames that need each.

    The error rate falls from 1 to 0 as the power grows; its decrease in a small step is the share of the frames whose
    threshold is within the step. The probability that a fading frame is below a threshold is known (`chance_below`).
    """
    return [(power, share) for power, share in _falls(receiver, size_bytes) if share > _NEGLIGIBLE]


def _falls(receiver: Receiver, size_bytes: int) -> Iterator[tuple[float, float]]:
    power = receiver.detection_dbm
    left = receiver.error_rate(power, size_bytes)
    yield power, 1.0 - left
    while left > _NEGLIGIBLE:
        power += _STEP_DB
        now = receiver.error_rate(power, size_bytes)
        yield power - _STEP_DB / 2, left - now
        left = now
