"""Bit errors of 802.11b: DSSS at 1 and 2 Mb/s, CCK at 5.5 and 11 Mb/s, as in ns-3's DsssErrorRateModel with GSL.

The chips take 22 MHz, so the energy of a symbol over the noise density is the signal-to-noise ratio (a ratio, not dB)
times 22 MHz over the symbols per second: 1 M for DSSS, 1.375 M for CCK.

Sources: G. Pei and T. Henderson, Validation of ns-3 802.11b PHY model; for DQPSK, G. Ferrari and G. Corazza, Tight
bounds and accurate approximations for DQPSK transmission bit error rate, Electronics Letters 40(20), 2004; for CCK,
M. Pursley and T. Royster, Properties and performance of the IEEE 802.11b complementary code key signal sets, IEEE
Trans. Communications 57(2), 2009, equations 17 and 18.
"""

from __future__ import annotations

from math import erfc, exp, expm1, log1p, pi, sqrt

_CHIPS = 22e6
_DSSS_SYMBOLS = 1e6
_CCK_SYMBOLS = 1.375e6
_DQPSK_SCALE = (sqrt(2) + 1) / sqrt(8 * pi * sqrt(2))
_GUESSING = 0.5  # the error rate of guessing: no receiver is worse


def dbpsk(snr: float) -> float:
    """1 Mb/s: one bit per symbol."""
    return 0.5 * exp(-snr * _CHIPS / _DSSS_SYMBOLS)


def dqpsk(snr: float) -> float:
    """2 Mb/s: two bits per symbol. The approximation is unbounded for weak signals, so it is cut at guessing."""
    energy = snr * _CHIPS / _DSSS_SYMBOLS / 2
    if energy <= 0.0:
        return _GUESSING
    return min(_GUESSING, _DQPSK_SCALE / sqrt(energy) * exp(-(2 - sqrt(2)) * energy))


def cck_5_5(snr: float) -> float:
    """5.5 Mb/s: four bits per symbol, one of 16."""
    return _per_bit(_symbol_error_rate(snr * _CHIPS / _CCK_SYMBOLS / 2), 4)


def cck_11(snr: float) -> float:
    """11 Mb/s: eight bits per symbol, as two symbols of 16 with half of the energy each."""
    return _per_bit(_symbol_error_rate(snr * _CHIPS / _CCK_SYMBOLS / 4), 4)


def _per_bit(symbol_error_rate: float, bits: int) -> float:
    """The error rate of independent bits that gives this symbol error rate."""
    return -expm1(log1p(-symbol_error_rate) / bits)


def _symbol_error_rate(energy: float) -> float:
    """The symbol error rate of 16 biorthogonal signals, 8 and their opposites.

    The right correlator reads b + a standard normal, b = sqrt(2 energy), and the other seven read standard normals; the
    symbol is right if the right one's reading y is positive and none of the seven is greater in size. So it is wrong
    with the probability

        P(y < 0) + integral over y > 0 of phi(y - b) * (1 - erf(y / sqrt 2)^7) dy

    and beyond y = 9 the second factor is negligible.
    """
    b = sqrt(2 * energy)
    total = 0.0
    for y, weight, wrong in _SIMPSON:
        offset = y - b
        total += weight * wrong * exp(-0.5 * offset * offset)
    return min(_MOST, 0.5 * erfc(b / sqrt(2)) + total / sqrt(2 * pi))


def _simpson(end: float, steps: int) -> list[tuple[float, float, float]]:
    """Simpson's rule from 0 to `end`: y, its weight, and the probability that one of the seven is greater than y."""
    h = end / steps
    weights = [h / 3 * (1 if i in (0, steps) else 4 if i % 2 else 2) for i in range(steps + 1)]
    return [(i * h, weight, _one_of_seven_beyond(i * h)) for i, weight in enumerate(weights)]


def _one_of_seven_beyond(y: float) -> float:
    return -expm1(7 * log1p(-erfc(y / sqrt(2)))) if y > 0 else 1.0


_SIMPSON = _simpson(9.0, 90)
_MOST = 15 / 16  # the error rate of guessing
