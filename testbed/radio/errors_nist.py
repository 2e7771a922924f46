"""Bit errors of OFDM after decoding: the NIST model, as in ns-3's NistErrorRateModel.

A modulation gives the share p of coded bits that are wrong at a signal-to-noise ratio (a ratio, not dB). The decoder is
a hard-decision Viterbi for the code of 802.11 (constraint length 7, generators 133 and 171 octal), punctured to the
rates 2/3 and 3/4. Its bit error rate is bounded by the union of all paths that leave the right one: with c_d wrong bits
in total on paths of weight d, and b bits entering the encoder at a time,

    p_bit <= 1/(2 b) * sum over d of c_d * D^d,    D = sqrt(4 p (1 - p))    (Chernoff's bound on one path)

Sources: L. E. Miller, Validation of 802.11a/UWB Coexistence Simulation, NIST technical report, 2003; G. Pei and T.
Henderson, Validation of OFDM error rate model in ns-3; for the c_d, P. Frenger, P. Orten and T. Ottosson, Multi-rate
Convolutional Codes, Chalmers 1998, the tables that Pei and Henderson cite as 3.1.1 and 3.1.2. Ten weights are kept, as
in ns-3; for 1/2, whose odd weights are empty, nine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erfc, log2, sqrt

BitErrors = Callable[[float], float]
"""From a signal-to-noise ratio to the share of wrong bits."""


@dataclass(frozen=True)
class Code:
    """A punctured convolutional code, given by the number of wrong bits on its wrong paths of each weight d_i."""

    bits_in: int  # b
    free_distance: int  # d_0, the weight of the lightest path
    step: int  # d_i = d_0 + i * step
    errors: tuple[int, ...]  # c_d

    def bit_error_rate(self, coded: float) -> float:
        """The share of wrong decoded bits, if a share `coded` of the received bits is wrong."""
        d_squared = 4.0 * coded * (1.0 - coded)  # D^2
        d = sqrt(d_squared)
        step = d_squared if self.step == 2 else d
        total = 0.0
        for errors in reversed(self.errors):
            total = total * step + errors
        return min(1.0, total * d**self.free_distance / (2 * self.bits_in))


CODE_1_2 = Code(1, 10, 2, (36, 211, 1404, 11633, 77433, 502690, 3322763, 21292910, 134365911))
CODE_2_3 = Code(2, 6, 1, (3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123))
CODE_3_4 = Code(3, 5, 1, (42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675))


def bpsk(snr: float) -> float:
    """One bit per symbol."""
    return 0.5 * erfc(sqrt(snr))


def qpsk(snr: float) -> float:
    """Two bits per symbol, one on each axis, each with half of the power."""
    return 0.5 * erfc(sqrt(snr / 2.0))


def qam(points: int) -> BitErrors:
    """Square QAM with Gray coding: sqrt(points) levels on each axis; an error is a neighbouring level."""
    levels = sqrt(points)
    weight = (levels - 1) / (levels * log2(levels))
    spread = 2.0 * (points - 1) / 3.0
    return lambda snr: weight * erfc(sqrt(snr / spread))


def coded(modulation: BitErrors, code: Code) -> BitErrors:
    """The bit errors that remain after decoding."""
    return lambda snr: code.bit_error_rate(modulation(snr))
