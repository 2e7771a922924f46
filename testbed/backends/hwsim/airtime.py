"""How long a transmission keeps the air busy: the wait before it, the frame, and its acknowledgement.

The constants are those of IEEE Std 802.11-2016, tables 15-5, 16-4, 17-21 and 18-5. An 802.11g network in which all
stations support OFDM has short slots.
"""

from __future__ import annotations

from dataclasses import dataclass

from testbed.radio.rates import RATES, Rate

ACK_BYTES = 14
_MBPS = (1.0, 2.0, 5.5, 11.0, 6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0)
_FIRST_5_GHZ = 4
_MAX_WINDOW = 1023


@dataclass(frozen=True)
class Access:
    """The rules by which stations share the air."""

    slot_us: int
    sifs_us: int
    window: int
    """The contention window before a first try, in slots; doubled for every further try."""

    def wait_us(self, retry: int) -> float:
        """How long a station waits on average before a try: DIFS and half of the window."""
        window = min(_MAX_WINDOW, ((self.window + 1) << min(retry, 10)) - 1)
        return self.sifs_us + 2 * self.slot_us + self.slot_us * window / 2


_DSSS, _ERP, _OFDM = Access(20, 10, 31), Access(9, 10, 15), Access(9, 16, 15)


@dataclass(frozen=True)
class AirRate:
    """One of the rates that the kernel knows by an index."""

    rate: Rate
    access: Access

    def busy_ns(self, frame_bytes: int, retry: int, is_acked: bool) -> int:
        """How long a try occupies the air, including the time of the acknowledgement if one is expected."""
        busy = self.access.wait_us(retry) + self.rate.airtime_us(frame_bytes)
        if is_acked:
            busy += self.access.sifs_us + self.rate.airtime_us(ACK_BYTES)
        return round(1000 * busy)


def rates_by_index(standard: str) -> list[AirRate]:
    """The rates of the band, in the order of the kernel's indices."""
    if standard == "802.11a":
        return [AirRate(RATES["802.11a"][mbps], _OFDM) for mbps in _MBPS[_FIRST_5_GHZ:]]
    return [AirRate(RATES["802.11g"][mbps], _DSSS if i < _FIRST_5_GHZ else _ERP) for i, mbps in enumerate(_MBPS)]
