"""How likely a frame is lost at a receiver, and how long it takes, at the rates that the kernel knows by an index.

This is needed for every frame, so everything is cached.
"""

from __future__ import annotations

from math import inf
from random import Random

from testbed.backends.hwsim.airtime import rates_by_index
from testbed.backends.hwsim.hearing import Hearer
from testbed.radio.boundary import boundary
from testbed.radio.fading import draw_gain_db
from testbed.radio.radio import Radio
from testbed.radio.receiver import Receiver

_STEPS_PER_DB = 50
"""Error rates are computed for powers in these steps; where they are steepest, the error is below 1 % of the frames."""
_MAX_CACHED = 100_000
_NEGLIGIBLE = 1e-9
_LONGEST = 2400  # bytes of a frame
_STRONG_DB = 100.0  # above the weakest signal that is detected: no frame is lost at any rate


class ErrorRates:
    """The error rates and airtimes of one radio."""

    def __init__(self, radio: Radio, rng: Random) -> None:
        self.rates = rates_by_index(radio.standard)
        self._rng = rng
        ear = radio.receiver
        self._receivers = [Receiver(one.rate, ear.noise_dbm, ear.detection_dbm) for one in self.rates]
        self._detection_dbm = ear.detection_dbm
        self._error_rates: dict[tuple[int, int, int], float] = {}
        self._safe_dbm = [inf] * len(self.rates)
        self._busy_ns: dict[tuple[int, int, int, bool], int] = {}

    def index(self, given: int) -> int:
        """The index of a rate; that of the lowest rate if there is no such index."""
        return given if 0 <= given < len(self.rates) else 0

    def busy_ns(self, index: int, size: int, retry: int, is_acked: bool) -> int:
        """How long a try occupies the air."""
        key = (index, size, retry, is_acked)
        busy = self._busy_ns.get(key)
        if busy is None:
            busy = self._busy_ns[key] = self.rates[index].busy_ns(size, retry, is_acked)
        return busy

    def error_rate(self, index: int, size: int, power: float) -> float:
        """The chance that a frame of this power is lost; exact at the threshold of detection."""
        if power < self._detection_dbm:
            return 1.0
        if power >= self._safe_dbm[index] and size <= _LONGEST:
            return 0.0
        key = (index, size, round(power * _STEPS_PER_DB))
        rate = self._error_rates.get(key)
        if rate is None:
            if len(self._error_rates) > _MAX_CACHED:
                self._error_rates.clear()
            if self._safe_dbm[index] == inf:
                self._safe_dbm[index] = self._find_safe(index)
            rounded = max(self._detection_dbm, key[2] / _STEPS_PER_DB)
            rate = self._error_rates[key] = self._receivers[index].error_rate(rounded, size)
        return rate

    def _find_safe(self, index: int) -> float:
        """The power from which on less than one frame in 10^9 is lost."""

        def is_safe(power: float) -> bool:
            return self._receivers[index].error_rate(power, _LONGEST) < _NEGLIGIBLE

        weakest = self._detection_dbm
        return weakest if is_safe(weakest) else boundary(is_safe, inside=weakest + _STRONG_DB, outside=weakest)

    def fade(self, listener: Hearer) -> Hearer:
        """The listener with the power of one frame, drawn at random if frames fade."""
        node, mean, m = listener
        return listener if m is None else (node, mean + draw_gain_db(m, self._rng), m)

    def received(self, listener: Hearer, index: int, size: int) -> Hearer | None:
        """The listener with the power of one frame, or None if the frame is lost there."""
        listener = self.fade(listener)
        chance = self.error_rate(index, size, listener[1])
        return None if chance and self._rng.random() < chance else listener
