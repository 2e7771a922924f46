"""Nakagami fading: the power of a frame is its mean power times a gain that is drawn for each frame.

The gain has a gamma distribution of shape m and mean 1: m = 1 is Rayleigh fading, and the power varies less the
greater m is (M. Nakagami, The m-distribution, 1960).
"""

from __future__ import annotations

from math import exp, lgamma, log, log10
from random import Random

_NEGLIGIBLE = 1e-17
_FLOOR = 1e-30  # a gain that no receiver can distinguish from 0


def draw_gain_db(m: float, rng: Random) -> float:
    """The gain of one frame."""
    return 10.0 * log10(max(_FLOOR, rng.gammavariate(m, 1.0 / m)))


def chance_below(gain: float, m: float) -> float:
    """The probability that the gain (a ratio, not dB) is less than this: the incomplete gamma function P(m, m gain).

    All terms of the series x^m e^-x / Gamma(m + 1) * (1 + x/(m + 1) + x^2/((m + 1)(m + 2)) + ...) are positive, so it
    is accurate for any x; for an x far above m the probability is 1 within the precision of a float.
    """
    x = m * gain
    if x <= 0.0:
        return 0.0
    if x > m + 40.0 + 10.0 * m**0.5:
        return 1.0
    total = term = 1.0
    above = m
    while term > _NEGLIGIBLE * total:
        above += 1.0
        term *= x / above
        total += term
    return min(1.0, total * exp(m * log(x) - x - lgamma(m + 1.0)))
