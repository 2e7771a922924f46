"""The bit rates of 802.11 a, b and g: the time of a frame on the air, and the probability of an error in it.

A frame is what the radio transmits after its preamble and header: the MAC header, the data and the checksum. The
number of bits that can be wrong is its time on the air times the rate, as in ns-3: this includes the padding to whole
symbols, and the 6 microseconds of silence that 802.11g appends to an OFDM frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, expm1, inf, log1p

from testbed.radio.errors_dsss import cck_5_5, cck_11, dbpsk, dqpsk
from testbed.radio.errors_nist import CODE_1_2, CODE_2_3, CODE_3_4, BitErrors, bpsk, coded, qam, qpsk


@dataclass(frozen=True)
class Framing:
    """The preamble, header and padding of a frame (IEEE Std 802.11-2016, sections 15.2, 16.2, 17.3 and 18.3)."""

    preamble_us: int
    header_us: int
    header_mbps: int
    header_bit_errors: BitErrors
    symbol_us: int
    service_and_tail: int = 0
    """Bits that are added to those of the frame."""
    extension_us: int = 0
    """Silence at the end, which gives receivers time for decoding."""

    @property
    def header_bits(self) -> int:
        """The bits of the header, which has its own rate."""
        return self.header_us * self.header_mbps


@dataclass(frozen=True)
class Rate:
    """One of the bit rates of a standard."""

    mbps: float
    bit_errors: BitErrors
    framing: Framing

    def payload_us(self, size_bytes: int) -> float:
        """How long the bits of a frame are on the air."""
        framing = self.framing
        symbols = ceil((framing.service_and_tail + 8 * size_bytes) / (self.mbps * framing.symbol_us))
        return symbols * framing.symbol_us + framing.extension_us

    def airtime_us(self, size_bytes: int) -> float:
        """How long a frame is on the air, with its preamble and header."""
        return self.framing.preamble_us + self.framing.header_us + self.payload_us(size_bytes)

    def bits(self, size_bytes: int) -> int:
        """How many bits of a frame can be wrong."""
        return int(self.mbps * self.payload_us(size_bytes))


def packet_error_rate(snr_db: float, size_bytes: int, rate: Rate) -> float:
    """The probability of an error in the header or the bits of a frame whose preamble was detected."""
    snr = 10.0 ** (snr_db / 10.0)
    framing = rate.framing
    header = _log_success(framing.header_bit_errors(snr), framing.header_bits)
    return -expm1(header + _log_success(rate.bit_errors(snr), rate.bits(size_bytes)))


def _log_success(bit_error_rate: float, bits: int) -> float:
    return bits * log1p(-bit_error_rate) if bit_error_rate < 1.0 else -inf


_BPSK_1_2 = coded(bpsk, CODE_1_2)
_OFDM_BIT_ERRORS: dict[float, BitErrors] = {
    6.0: _BPSK_1_2,
    9.0: coded(bpsk, CODE_3_4),
    12.0: coded(qpsk, CODE_1_2),
    18.0: coded(qpsk, CODE_3_4),
    24.0: coded(qam(16), CODE_1_2),
    36.0: coded(qam(16), CODE_3_4),
    48.0: coded(qam(64), CODE_2_3),
    54.0: coded(qam(64), CODE_3_4),
}
_DSSS_BIT_ERRORS: dict[float, BitErrors] = {1.0: dbpsk, 2.0: dqpsk, 5.5: cck_5_5, 11.0: cck_11}

_DSSS = Framing(144, 48, 1, dbpsk, 1)
_OFDM = Framing(16, 4, 6, _BPSK_1_2, 4, 16 + 6)
_ERP_OFDM = Framing(16, 4, 6, _BPSK_1_2, 4, 16 + 6, 6)


def _rates(bit_errors: dict[float, BitErrors], framing: Framing) -> dict[float, Rate]:
    return {mbps: Rate(mbps, errors, framing) for mbps, errors in bit_errors.items()}


RATES: dict[str, dict[float, Rate]] = {
    "802.11b": _rates(_DSSS_BIT_ERRORS, _DSSS),
    "802.11g": _rates(_DSSS_BIT_ERRORS, _DSSS) | _rates(_OFDM_BIT_ERRORS, _ERP_OFDM),
    "802.11a": _rates(_OFDM_BIT_ERRORS, _OFDM),
}
"""The rates of each standard, by their Mb/s."""
