"""Properties of a trajectory that tests check, and how far a mean may be from theory."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, stdev

from testbed.mobility.trajectory import Trajectory, Waypoint

SIGMAS = 4.0
"""A correct model fails a test of this width once in 16,000 seeds; the seeds are fixed."""

Leg = tuple[Waypoint, Waypoint]


def legs(trajectory: Trajectory) -> list[Leg]:
    """Each waypoint with the next, without jumps."""
    return [(a, b) for a, b in pairwise(trajectory.waypoints) if b.t > a.t]


def leg_at(trajectory: Trajectory, t: float) -> Leg:
    """The leg of a node at a time; at the end of the run, its last leg."""
    waypoints = trajectory.waypoints
    after = min(bisect_right(waypoints, t, key=lambda waypoint: waypoint.t), len(waypoints) - 1)
    while waypoints[after].t == waypoints[after - 1].t:
        after -= 1
    return waypoints[after - 1], waypoints[after]


def start_and_end(trajectories: Sequence[Trajectory]) -> list[list[Leg]]:
    """The legs of all nodes at the start of the run, and those at its end."""
    ends = (0.0, trajectories[0].waypoints[-1].t)
    return [[leg_at(trajectory, t) for trajectory in trajectories] for t in ends]


def velocity(leg: Leg) -> tuple[float, float, float]:
    """In m/s."""
    a, b = leg
    return (b.x - a.x) / (b.t - a.t), (b.y - a.y) / (b.t - a.t), (b.z - a.z) / (b.t - a.t)


def speed(leg: Leg) -> float:
    """In m/s."""
    return math.hypot(*velocity(leg))


def assert_mean(samples: Sequence[float], expected: float) -> None:
    """The mean of independent samples agrees with theory, within the error of so many samples."""
    error = stdev(samples) / math.sqrt(len(samples))
    assert abs(fmean(samples) - expected) <= SIGMAS * error, f"{fmean(samples):.5g} ± {error:.2g}, not {expected:.5g}"


def assert_share(hits: int, of: int, expected: float) -> None:
    """The same for a share of independent trials."""
    error = math.sqrt(expected * (1 - expected) / of)
    assert abs(hits / of - expected) <= SIGMAS * error, f"{hits / of:.5g} ± {error:.2g}, not {expected:.5g}"


def assert_uniform(values: Sequence[int], cells: int) -> None:
    """Independent draws of 0..cells-1 are equally frequent: chi-squared, by its cube root (Wilson, Hilferty 1931)."""
    expected = len(values) / cells
    squared = sum((values.count(cell) - expected) ** 2 / expected for cell in range(cells))
    spread = 2 / (9 * (cells - 1))
    sigmas = ((squared / (cells - 1)) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    assert sigmas <= SIGMAS, f"chi-squared {squared:.1f} with {cells - 1} degrees of freedom, {sigmas:.1f} sigma"


def assert_law(samples: Sequence[float], cdf: Callable[[float], float]) -> None:
    """Independent samples follow a law: Kolmogorov and Smirnov, at the probability of `SIGMAS`."""
    ordered, n = sorted(samples), len(samples)
    distance = max(max((i + 1) / n - cdf(x), cdf(x) - i / n) for i, x in enumerate(ordered))
    allowed = math.sqrt(-math.log(math.erfc(SIGMAS / math.sqrt(2)) / 2) / (2 * n))
    assert distance <= allowed, f"distance {distance:.4f} of {n} samples, allowed {allowed:.4f}"


def integral(f: Callable[[float], float], low: float, high: float, steps: int = 2000) -> float:
    """By the midpoint rule, in the logarithm: for power laws over decades."""
    width = math.log(high / low) / steps
    points = [low * math.exp((i + 0.5) * width) for i in range(steps)]
    return sum(f(x) * x * width for x in points)
