"""The statistics against published values and hand computation."""

from __future__ import annotations

from itertools import pairwise

import pytest

from analysis.stats import ci95, jain, mean, percentile, t95


@pytest.mark.parametrize(
    ("freedom", "published"),
    [
        (1, 12.706),
        (2, 4.303),
        (4, 2.776),
        (9, 2.262),
        (19, 2.093),
        (29, 2.045),
        (30, 2.042),
        (40, 2.021),  # beyond the table from here on
        (60, 2.000),
        (120, 1.980),
        (1000, 1.962),
        (10**9, 1.960),
    ],
)
def test_t95(freedom: int, published: float) -> None:
    """Student's t as the tables of textbooks print it, with three decimals."""
    assert round(t95(freedom), 3) == published


@pytest.mark.parametrize(("freedom", "published"), [(31, 2.0395), (40, 2.0211), (60, 2.0003), (120, 1.9799)])
def test_t95_beyond_the_table(freedom: int, published: float) -> None:
    """The expansion is good to a ten-thousandth, worst where the table ends."""
    assert t95(freedom) == pytest.approx(published, abs=1e-4)


def test_t95_falls() -> None:
    """More degrees of freedom never widen the interval, also where the table ends."""
    values = [t95(freedom) for freedom in range(1, 200)]
    assert all(next_one < one for one, next_one in pairwise(values))


def test_mean() -> None:
    """The mean, exact in spite of cancellation, and None of nothing."""
    assert mean([1, 2, 6]) == 3
    assert mean([1e16, 1.0, -1e16]) == pytest.approx(1 / 3)
    assert mean([]) is None


def test_ci95() -> None:
    """Of 2, 4, 4, 4, 6: variance 2, so t(4) · sqrt(2 / 5)."""
    assert ci95([2, 4, 4, 4, 6]) == pytest.approx(2.776 * 0.4**0.5)


def test_ci95_of_equal_values() -> None:
    """The interval of equal values has no width."""
    assert ci95([3, 3, 3]) == 0


@pytest.mark.parametrize("values", [[], [7]])
def test_ci95_of_too_few(values: list[float]) -> None:
    """One value says nothing of how values scatter."""
    assert ci95(values) is None


@pytest.mark.parametrize(("share", "expected"), [(0, 10), (0.25, 15), (0.5, 20), (0.75, 30), (0.95, 38), (1, 40)])
def test_percentile(share: float, expected: float) -> None:
    """Between neighbours it is interpolated: positions 0, 1 and 2 are 10, 20 and 40."""
    assert percentile([10, 20, 40], share) == pytest.approx(expected)


def test_percentile_of_few() -> None:
    """One value is all its percentiles; nothing has none."""
    assert percentile([5], 0.95) == 5
    assert percentile([], 0.5) is None


@pytest.mark.parametrize(("values", "expected"), [([3, 3, 3], 1), ([7, 0, 0, 0], 0.25), ([1, 2, 3], 36 / 42), ([5], 1)])
def test_jain(values: list[float], expected: float) -> None:
    """1 if all are equal, 1/n if one node has all, and in between (Σx)² / (n Σx²)."""
    assert jain(values) == pytest.approx(expected)


@pytest.mark.parametrize("values", [[], [0, 0]])
def test_jain_of_nothing(values: list[float]) -> None:
    """Where no node has anything, there is no fairness to measure."""
    assert jain(values) is None
