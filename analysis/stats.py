"""Means, 95 % confidence intervals and percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence

# Student's t, two-sided 95 %, for 1 to 30 degrees of freedom.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_Z95 = 1.959964


def t95(freedom: int) -> float:
    """The 97.5 % quantile of Student's t; above the table by its expansion in 1/freedom, good to four digits."""
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    z = _Z95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def mean(values: Sequence[float]) -> float | None:
    """The mean, or None without values."""
    return math.fsum(values) / len(values) if values else None


def ci95(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % confidence interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    centre = math.fsum(values) / len(values)
    variance = math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)
    return t95(len(values) - 1) * math.sqrt(variance / len(values))


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The value below which `share` of the ordered values lie, interpolated between neighbours."""
    if not ordered:
        return None
    position = share * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def jain(values: Sequence[float]) -> float | None:
    """Jain's fairness index: 1 if all are equal, 1/n if one of n has all."""
    squares = math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares else None


def spread(ordered: Sequence[float]) -> dict[str, float | None]:
    """The mean, two percentiles and the greatest of ordered values."""
    return {
        "mean": mean(ordered),
        "p50": percentile(ordered, 0.50),
        "p95": percentile(ordered, 0.95),
        "max": ordered[-1] if ordered else None,
    }
