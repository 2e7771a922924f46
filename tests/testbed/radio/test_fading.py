"""Nakagami fading against closed forms and against draws."""

from __future__ import annotations

from math import erf, exp, log1p, log10, sqrt
from random import Random
from statistics import fmean, pvariance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.radio.fading import chance_below, draw_gain_db
from testbed.radio.radio import Radio

GAINS = [0.0, 1e-6, 0.01, 0.3, 1.0, 2.5, 7.0, 30.0, 500.0]


def test_special_shapes_have_closed_forms() -> None:
    for gain in GAINS:
        assert chance_below(gain, 1.0) == pytest.approx(1 - exp(-gain), rel=1e-9)  # Rayleigh
        assert chance_below(gain, 2.0) == pytest.approx(1 - exp(-2 * gain) * (1 + 2 * gain), rel=1e-4, abs=1e-15)
        assert chance_below(gain, 0.5) == pytest.approx(erf(sqrt(gain / 2)), rel=1e-9)  # the square of a normal


@pytest.mark.parametrize("m", [0.5, 0.75, 1.5, 20.0])
def test_draws_have_mean_1_and_variance_1_over_m(m: float) -> None:
    rng = Random(2)
    gains = [10 ** (draw_gain_db(m, rng) / 10) for _ in range(8000)]
    assert fmean(gains) == pytest.approx(1, abs=4 / sqrt(m * 8000))
    assert pvariance(gains) == pytest.approx(1 / m, rel=0.15)
    for gain in (0.2, 0.8, 1.5):
        assert sum(one < gain for one in gains) / 8000 == pytest.approx(
            chance_below(gain, m), abs=4 * sqrt(0.25 / 8000)
        )


def test_an_error_rate_over_fading_with_a_hard_threshold() -> None:
    # Detected from -82 dBm and then free of errors: a mean of -79 dBm is missed with a gain of less than -3 dB, which
    # Rayleigh fading has with probability 1 - exp(-10^-0.3) = 0.394189.
    assert Radio().receiver.faded_error_rate(-79.0, 100, 1.0) == pytest.approx(0.394189, abs=1e-6)


@pytest.mark.parametrize("mean_dbm", [-76.0, -72.0, -66.0])
def test_an_error_rate_over_fading_without_a_hard_threshold(mean_dbm: float) -> None:
    """Averaged over the quantiles of Rayleigh fading, -log(1 - u)."""
    receiver, steps = Radio(rate=54.0).receiver, 5000
    gains = (-log1p(-(i + 0.5) / steps) for i in range(steps))
    average = fmean(receiver.error_rate(mean_dbm + 10 * log10(gain), 100) for gain in gains)
    assert receiver.faded_error_rate(mean_dbm, 100, 1.0) == pytest.approx(average, abs=1e-4)


@given(st.floats(0, 1e4), st.floats(0, 1e3), st.floats(0.5, 100))
def test_a_probability_is_at_most_one_and_rises(gain: float, more: float, m: float) -> None:
    assert 0 <= chance_below(gain, m) <= chance_below(gain + more, m) + 1e-12 <= 1 + 1e-12


@given(st.floats(0.5, 99), st.floats(0.01, 1))
def test_the_median_gain_rises_with_the_shape(m: float, more: float) -> None:
    """So a radio has one range although the shape falls from field to field: a greater shape needs less mean power."""
    median = next(gain / 1000 for gain in range(1, 1001) if chance_below(gain / 1000, m) >= 0.5)
    assert chance_below(median - 0.001, m + more) <= 0.5
