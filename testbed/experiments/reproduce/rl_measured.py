"""What the RL paper's experiments measured, looked up by place, and how a claim on many places is judged.

Repetition r has the same draws for both algorithms, so two places are compared repetition by repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from analysis.tables import number
from testbed.experiments.grid import PointResult
from testbed.experiments.reproduce.cells import CellResult
from testbed.experiments.reproduce.claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Bounds,
    ClaimPoint,
    Interval,
    NotMeasured,
    all_of,
)
from testbed.experiments.reproduce.rl_cells import (
    CONNECTIVITIES,
    HIGH,
    LOW,
    MOBILE,
    NAMES,
    READINGS,
    RL,
    RR,
    STATIC,
    TEXT,
)

WAITING, MESSAGES, FRAMES, FAIRNESS = "waiting_time", "messages_per_cs", "frames_per_cs", "fairness"
LONG_RUNS = "thinning, long runs"
STEPS = (0.1, 0.2, 0.5, 1.0)  # connectivities between which a trend must show
BELOW_ONE, ABOVE_ONE, ABOVE_ZERO = Bounds(high=1.0), Bounds(low=1.0), Bounds(low=0.0)


@dataclass(frozen=True)
class Place:
    """Where something was measured."""

    algorithm: str
    mobility: str
    connectivity: float
    rate: float
    reading: str = TEXT

    def __str__(self) -> str:
        """As claims name it; their text says under which reading."""
        return f"{self.mobility} mobility, {self.connectivity:.0%}, load {self.rate:g}"

    @property
    def key(self) -> Place:
        """Without mobility the readings are one."""
        return replace(self, connectivity=round(self.connectivity, 3), reading=self.reading if self.is_mobile else TEXT)

    @property
    def is_mobile(self) -> bool:
        """Whether links change."""
        return self.mobility in MOBILE

    @property
    def rl(self) -> Place:
        """The same for RL."""
        return replace(self, algorithm=RL)

    @property
    def rr(self) -> Place:
        """The same for RR."""
        return replace(self, algorithm=RR)


class Scope(NamedTuple):
    """Some panels of the figures: the static one, or the mobile ones under a reading."""

    name: str
    reading: str
    mobilities: tuple[str, ...]


STATIC_SCOPE = Scope("static", TEXT, STATIC)
MOBILE_SCOPES = tuple(Scope(reading, reading, MOBILE) for reading in READINGS)
LONG_SCOPE = Scope(f"{LONG_RUNS} (cells of the tables)", LONG_RUNS, MOBILE)
ALL_SCOPES = (STATIC_SCOPE, *MOBILE_SCOPES)


class Measured:
    """Looks up what was measured at a place, repetition by repetition.

    Repetition r has the same draws for both algorithms, so quantities of two places are compared repetition by
    repetition, as far as both have it.
    """

    def __init__(
        self,
        points: Sequence[CellResult],
        charged: Sequence[CellResult] = (),
        short: Sequence[CellResult] = (),
        long: Sequence[CellResult] = (),
        routes: dict[float, list[float]] | None = None,
    ) -> None:
        self._tables = {
            "ideal": {
                **{_place(point).key: point.result for point in points},
                **{replace(_place(point), reading=LONG_RUNS).key: point.result for point in long},
            },
            "radio": {_place(point).key: point.result for point in charged},
            "short": {_place(point).key: point.result for point in short},
        }
        self.routes = routes or {}
        """The average route length of every repetition, by connectivity."""

    def places(self, table: str = "ideal") -> list[Place]:
        """Every place that has results, for RL."""
        return [place for place in self._tables[table] if place.algorithm == RL]

    def values(self, metric: str, place: Place, table: str = "ideal") -> list[float | None]:
        """A metric of every repetition."""
        result: PointResult | None = self._tables[table].get(place.key)
        if result is None:
            raise NotMeasured(f"no run of {NAMES[place.algorithm]} at {place}")
        return result.values(metric)

    def interval(self, metric: str, place: Place, table: str = "ideal") -> Interval:
        """A metric of a place."""
        return Interval.of(self.values(metric, place, table))

    def ratio(self, metric: str, place: Place, other: Place, table: str = "ideal") -> Interval:
        """How many times as much a place has of a metric as another."""
        return self._over_both(lambda a, b: a / b, metric, place, other, table)

    def _over_both(
        self, of: Callable[[float, float], float], metric: str, place: Place, other: Place, table: str
    ) -> Interval:
        pairs = zip(self.values(metric, place, table), self.values(metric, other, table), strict=False)
        return Interval.of([None if a is None or b is None else of(a, b) for a, b in pairs])

    def advantages(self, place: Place, *, as_ratio: bool) -> list[float | None]:
        """By how much RL waits less than RR in every repetition: RR's waiting over RL's, or less RL's."""
        pairs = zip(self.values(WAITING, place.rr), self.values(WAITING, place.rl), strict=True)
        return [None if a is None or b is None else a / b if as_ratio else a - b for a, b in pairs]

    def gain(self, place: Place, other: Place, *, as_ratio: bool) -> Interval:
        """How much greater RL's advantage is at a place than at another."""
        pairs = zip(self.advantages(place, as_ratio=as_ratio), self.advantages(other, as_ratio=as_ratio), strict=False)
        return Interval.of([None if a is None or b is None else a - b for a, b in pairs])

    def by_load(self, scope: Scope) -> list[Place]:
        """The points of Figures 5 and 7, for RL."""
        return [one for one in self._of(scope) if one.connectivity in CONNECTIVITIES]

    def by_links(self, scope: Scope, rates: Sequence[float] = (HIGH, LOW)) -> list[Place]:
        """The points of Figures 6 and 8, for RL, at some of their loads."""
        return [one for one in self._of(scope) if one.rate in rates]

    def all_points(self, scope: Scope) -> list[Place]:
        """The points of all figures, for RL."""
        return list(self._of(scope))

    def _of(self, scope: Scope) -> Iterator[Place]:
        return (
            one
            for one in self.places()
            if one.mobility in scope.mobilities and (not one.is_mobile or one.reading == scope.reading)
        )


def _place(point: CellResult) -> Place:
    cell = point.cell
    return Place(cell.algorithm, cell.mobility, cell.connectivity, cell.rate, cell.reading)


# -- judging -----------------------------------------------------------------------------------------------------------

Verdict = tuple[str, str, tuple[ClaimPoint, ...]]
At = tuple[str, Interval]
"""A quantity, and where it was measured."""


def near(value: float, share: float) -> Bounds:
    """Within a share of a value."""
    return Bounds(value * (1 - share), value * (1 + share))


def point_of(at: At, bounds: Bounds) -> ClaimPoint:
    """A quantity against bounds."""
    place, quantity = at

    def finite(value: float) -> float | None:
        return None if abs(value) == float("inf") else value

    return ClaimPoint(
        place, quantity.mean, finite(quantity.ci95), finite(bounds.low), finite(bounds.high), bounds.verdict(quantity)
    )


def every(what: str, quantities: Sequence[At], bounds: Bounds) -> Verdict:
    """The verdict on a claim that speaks of every point."""
    points = tuple(point_of(at, bounds) for at in quantities)
    return described(what, points), all_of(point.verdict for point in points), points


def described(what: str, points: Sequence[ClaimPoint]) -> str:
    """The points if they are few; otherwise their range, how many hold, and the one that is worst."""
    if not points:
        raise NotMeasured("no point")
    if len(points) <= 2:
        return f"{what} " + ", ".join(f"{value_of(point)} ({point.place})" for point in points)
    means = [point.mean for point in points]
    counts = [sum(point.verdict == verdict for point in points) for verdict in (HOLDS, FAILS, UNDECIDED)]
    words = f"{what} {number(min(means))} to {number(max(means))}; {len(points)} points: {counts[0]} within the bounds"
    words += f", {counts[1]} outside" * bool(counts[1]) + f", {counts[2]} undecided" * bool(counts[2])
    worst = min(points, key=_margin)
    return f"{words}; {'worst' if counts[1] else 'closest'}: {value_of(worst)} ({worst.place})"


def value_of(point: ClaimPoint) -> str:
    """A point's mean and interval, in words."""
    return f"{number(point.mean)} ± {'∞' if point.ci95 is None else number(point.ci95)}"


def _margin(point: ClaimPoint) -> float:
    """How far the mean is within the bounds; negative if it is outside."""
    below = float("inf") if point.high is None else point.high - point.mean
    above = float("inf") if point.low is None else point.mean - point.low
    return min(below, above)


def rl_over_rr(found: Measured, metric: str, places: Sequence[Place], table: str = "ideal") -> list[At]:
    """RL's share of RR's waiting time or messages."""
    return [(str(one), found.ratio(metric, one.rl, one.rr, table)) for one in places]


def named(place: Place) -> str:
    """With the algorithm, for claims on both."""
    return f"{NAMES[place.algorithm]}, {place}"


def of_both(places: Sequence[Place]) -> list[Place]:
    """Each for RL and for RR."""
    return [one for place in places for one in (place.rl, place.rr)]


def over_load(found: Measured, metric: str, places: Sequence[Place]) -> list[At]:
    """A metric at high load over that at low load."""
    return [(f"{named(one)} over {LOW:g}", found.ratio(metric, one, replace(one, rate=LOW))) for one in places]


def at_high_load(found: Measured, scope: Scope) -> list[Place]:
    """The points of Figures 5 and 7 at a load of 1."""
    return [one for one in found.by_load(scope) if one.rate == HIGH]


def over_steps(found: Measured, metric: str, algorithm: str, scope: Scope) -> list[At]:
    """A metric at a connectivity over that at the connectivity before, at both loads."""
    return [
        (
            f"{mobility} mobility, load {rate:g}, {more:.0%} over {less:.0%}",
            found.ratio(
                metric,
                Place(algorithm, mobility, more, rate, scope.reading),
                Place(algorithm, mobility, less, rate, scope.reading),
            ),
        )
        for mobility in scope.mobilities
        for rate in (HIGH, LOW)
        for less, more in pairwise(STEPS)
    ]


def over_mean(found: Measured, metric: str, places: Sequence[Place]) -> list[At]:
    """A metric at every place over its mean at those that differ in connectivity only, repetition by repetition."""
    return _relative(found, metric, places, lambda xs, ys: [sum(ys) / len(ys)] * len(ys))


def over_line(found: Measured, metric: str, places: Sequence[Place]) -> list[At]:
    """A metric at every place over the straight line that fits it best against connectivity."""
    return _relative(found, metric, places, _fitted)


def _fitted(xs: Sequence[float], ys: Sequence[float]) -> list[float]:
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / sum((x - x_mean) ** 2 for x in xs)
    return [y_mean + slope * (x - x_mean) for x in xs]


def _relative(
    found: Measured,
    metric: str,
    places: Sequence[Place],
    expected: Callable[[Sequence[float], Sequence[float]], list[float]],
) -> list[At]:
    quantities = []
    for mobility, rate in dict.fromkeys((one.mobility, one.rate) for one in places):
        line = sorted(
            (one for one in places if (one.mobility, one.rate) == (mobility, rate)), key=lambda one: one.connectivity
        )
        shares: list[list[float]] = [[] for _ in line]
        for values in zip(*(found.values(metric, one) for one in line), strict=True):
            known = [value for value in values if value is not None]
            if len(known) == len(line):
                fit = expected([one.connectivity for one in line], known)
                for share, value, by_fit in zip(shares, known, fit, strict=True):
                    share.append(value / by_fit)
        quantities += [(str(one), Interval.of(share)) for one, share in zip(line, shares, strict=True)]
    return quantities
