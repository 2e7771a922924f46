"""The points of the KRL paper's experiments, those that its text needs besides, and what was measured at them.

The figures are run under the text's reading of link changes. What the paper says of mobility is run under every reading
(`testbed.network.link_changes`), and under the text's with the other rate that the paper prints for low mobility. The
paper does not say how long its runs were, so the cells of its main claim are run in several lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from testbed.experiments.reproduce.cells import NODES, Cell, CellResult
from testbed.experiments.reproduce.claims import Interval, NotMeasured

K = 3
KRL, KRLF = "krl", "krlf"
NAMES = {KRL: "KRL", KRLF: "KRLF", "krlf-adaptive": "KRLF-adaptive"}
ZERO, LOW, HIGH, PRINTED_LOW = "zero", "low", "high", "low (50^-2)"
MOBILITY = {ZERO: 0.0, LOW: 1 / 500, HIGH: 1 / 50}
RATES_OF_CHANGE = {**MOBILITY, PRINTED_LOW: 50.0**-2}
FIXED_RATE = 0.1  # of Figures 8 and 9
FIXED_CONNECTIVITIES = (0.2, 0.8)  # of Figures 6 and 7
LENGTHS = {1e-3: 10_000.0, 3e-3: 5000.0, 1e-2: 2000.0, 3e-2: 2000.0, 1e-1: 2000.0, 3e-1: 2000.0, 1.0: 2000.0}
QUICK_LENGTHS = {1e-3: 3000.0, 1e-2: 1000.0, 1e-1: 1000.0, 1.0: 600.0}
RUN_LENGTHS = (300.0, 1000.0, 2000.0, 5000.0)
"""In which the cells of the main claim are run."""
FORWARDING_RATES = (1e-2, 1e-1)
CHOICES = ("lowest", "other", "random", "highest")
HOPS = (2, 4, 16)
WATCHED_CONNECTIVITIES = (0.1, *FIXED_CONNECTIVITIES)
"""Sparse graphs too: there a node has few neighbours, and soon none below it."""
WATCHED_RATES = (3e-2, 1e-1, 3e-1)
QUICK_WATCHED_RATES = (1e-1,)
CUT_RATE, CUT_LENGTH = 1e-2, 500.0
CUTS = {"three tokens and none": tuple(range(15)), "one token and two": (0, *range(K, 17))}
"""Which half is cut off at the start, when nodes 0, 1 and 2 hold a token each."""
DETECTS = (("detect_partitions", True),)


class Reading(NamedTuple):
    """How link changes are read: by which rule links change, and what low mobility is."""

    name: str
    rule: str = "text"
    low: str = LOW

    def mobilities(self) -> tuple[str, str, str]:
        """From static to the highest mobility."""
        return (ZERO, self.low, HIGH)


TEXT = Reading("text")
READINGS = (
    TEXT,
    Reading("text, low mobility 50^-2", "text", PRINTED_LOW),
    Reading("per-pair", "per-pair"),
    Reading("thinning", "thinning"),
)


class Place(NamedTuple):
    """Where an algorithm is run: everything but the algorithm."""

    mobility: str
    connectivity: float
    rate: float
    rule: str = "text"
    length: float | None = None
    """None for the usual one at that load."""


# -- the cells ---------------------------------------------------------------------------------------------------------


def cell(algorithm: str, place: Place, length: float, **more: Any) -> Cell:
    """A cell of this paper; `repeated` says how often it is run."""
    rule = "text" if place.mobility == ZERO else place.rule
    change_rate = RATES_OF_CHANGE[place.mobility]
    return Cell(
        algorithm, place.connectivity, place.rate, length, 0.0, 5, place.mobility, change_rate, rule, k=K, **more
    )


def cells(quick: bool) -> list[Cell]:
    """Every point, once."""
    lengths = QUICK_LENGTHS if quick else LENGTHS
    every = (
        *figure_cells(quick, lengths), *reading_cells(quick, lengths), *length_cells(lengths),
        *forwarding_cells(lengths), *partition_cells(),
    )  # fmt: skip
    return [repeated(one, quick) for one in dict.fromkeys(every)]


def repeated(one: Cell, quick: bool) -> Cell:
    """The paper has five repetitions of each point. What claims compare has ten, for smaller intervals."""
    return replace(one, repeat=4 if quick else 10 if one.algorithm in (KRL, KRLF) else 5)


def connectivities(quick: bool) -> tuple[float, ...]:
    """Those of Figures 8 and 9."""
    return (0.1, 0.2, 0.8) if quick else tuple(tenth / 10 for tenth in range(1, 9))


def figure_cells(quick: bool, lengths: dict[float, float]) -> Iterator[Cell]:
    """The points of Figures 6 to 9."""
    points = [(rate, connectivity) for rate in lengths for connectivity in FIXED_CONNECTIVITIES]
    points += [(FIXED_RATE, connectivity) for connectivity in connectivities(quick)]
    for algorithm in NAMES:
        for mobility in MOBILITY:
            for rate, connectivity in dict.fromkeys(points):
                yield cell(algorithm, Place(mobility, connectivity, rate), lengths[rate])


def reading_cells(quick: bool, lengths: dict[float, float]) -> Iterator[Cell]:
    """The mobile points of Figures 8 and 9, which are those of 6 and 7 at the same load, under every reading."""
    for reading in READINGS:
        for algorithm in (KRL, KRLF):
            for mobility in reading.mobilities()[1:]:
                for connectivity in connectivities(quick):
                    place = Place(mobility, connectivity, FIXED_RATE, reading.rule)
                    yield cell(algorithm, place, lengths[FIXED_RATE])


def length_cells(lengths: dict[float, float]) -> Iterator[Cell]:
    """The static cells of the main claim, in several lengths."""
    for algorithm in (KRL, KRLF):
        for connectivity in FIXED_CONNECTIVITIES:
            for length in RUN_LENGTHS:
                yield cell(algorithm, Place(ZERO, connectivity, FIXED_RATE), length)


def forwarding_cells(lengths: dict[float, float]) -> Iterator[Cell]:
    """To which neighbour idle tokens go, and how far, in a static network."""
    for rate in FORWARDING_RATES:
        for connectivity in FIXED_CONNECTIVITIES:
            place = Place(ZERO, connectivity, rate)
            for algorithm, parameters in VARIANTS.values():
                yield cell(algorithm, place, lengths[rate], parameters=parameters)


_NAMED = {"lowest": "to the lowest", "other": "to another", "random": "to a random one", "highest": "to the highest"}
VARIANTS: dict[str, tuple[str, tuple[tuple[str, Any], ...]]] = {
    **{_NAMED[one]: (KRLF, (("forward_to", one),) if one != CHOICES[0] else ()) for one in CHOICES},
    **{f"to the lowest, at most {hops} hops": ("krlf-adaptive", (("hops", hops),)) for hops in HOPS},
}
"""Ways to forward idle tokens, as tables name them; the first is the printed one."""


def partition_cells() -> Iterator[Cell]:
    """A network that is cut in two from the start, and the same network whole."""
    place = Place(ZERO, FIXED_CONNECTIVITIES[-1], CUT_RATE)
    for algorithm in (KRL, KRLF):
        yield cell(algorithm, place, CUT_LENGTH)
        for group in CUTS.values():
            for parameters in ((), DETECTS):
                yield cell(algorithm, place, CUT_LENGTH, cut=group, parameters=parameters)


def watched_cells(quick: bool) -> list[Cell]:
    """Static runs in which the heights and the waiting time of every node are watched (`krl_watched`)."""
    lengths, rates = (QUICK_LENGTHS, QUICK_WATCHED_RATES) if quick else (LENGTHS, WATCHED_RATES)
    return [
        repeated(cell(algorithm, Place(ZERO, connectivity, rate), lengths[rate]), quick)
        for algorithm in (KRL, KRLF)
        for rate in rates
        for connectivity in WATCHED_CONNECTIVITIES
    ]


# -- what was measured -------------------------------------------------------------------------------------------------


def _key(one: Cell) -> Cell:
    """A cell without its number of repetitions, which `--quick` changes."""
    return replace(one, repeat=0, connectivity=round(one.connectivity, 3))


Values = list[float | None]
"""A quantity in every repetition; None where one was lost, or measured nothing."""


def combined(compute: Callable[..., float], *values: Values) -> Values:
    """A quantity computed from others, repetition by repetition: repetition r has the same draws everywhere."""
    repetitions = zip(*values, strict=True)
    return [None if None in one else compute(*one) for one in repetitions]


class Measured:
    """Looks up what was measured, repetition by repetition."""

    def __init__(self, points: list[CellResult], watched: list[CellResult]) -> None:
        self.points, self.watched = points, watched
        self._results = {_key(point.cell): point for point in points}
        self._watched = {_key(point.cell): point for point in watched}
        figures = [point.cell for point in points if not point.cell.parameters and not point.cell.cut]
        self.rates = sorted({one.rate for one in figures})
        self.connectivities = sorted({one.connectivity for one in figures})
        self.lengths: dict[float, float] = {}
        for one in figures:
            self.lengths.setdefault(one.rate, one.duration)  # those of the figures come first

    def point(self, algorithm: str, place: Place, **more: Any) -> CellResult:
        """The results of a cell."""
        wanted = cell(algorithm, place, place.length or self._length(place.rate), **more)
        found = self._results.get(_key(wanted))
        if found is None:
            raise NotMeasured(f"{wanted}: not run")
        return found

    def _length(self, rate: float) -> float:
        if rate not in self.lengths:
            raise NotMeasured(f"load {rate:g}: not run")
        return self.lengths[rate]

    def values(self, metric: str, algorithm: str, place: Place, **more: Any) -> Values:
        """A metric in every repetition."""
        return known(metric, self.point(algorithm, place, **more))

    def sent(self, kind: str, algorithm: str, place: Place, **more: Any) -> Values:
        """Messages of a kind per entry, in every repetition."""
        result = self.point(algorithm, place, **more).result
        by_repetition = {one["repetition"]: one["metrics"]["messages_per_cs_by_type"] for one in result.repetitions}
        every = range(result.point.scenario.repeat)
        return [(by_repetition.get(repetition) or {}).get(kind) for repetition in every]

    def ratio(self, metric: str, place: Place) -> Interval:
        """KRLF over KRL."""
        return interval(self.ratio_values(metric, place), f"{NAMES[KRL]} and {NAMES[KRLF]} at {place}")

    def ratio_values(self, metric: str, place: Place) -> Values:
        """KRLF over KRL, in every repetition."""
        return combined(lambda a, b: a / b, self.values(metric, KRLF, place), self.values(metric, KRL, place))

    def difference(self, metric: str, place: Place) -> Interval:
        """KRLF minus KRL."""
        return interval(self.difference_values(metric, place), f"{metric} at {place}")

    def difference_values(self, metric: str, place: Place) -> Values:
        """KRLF minus KRL, in every repetition."""
        mine, base = (self.values(metric, one, place) for one in (KRLF, KRL))
        return combined(lambda a, b: a - b, mine, base)

    def watched_values(self, metric: str, algorithm: str, rate: float, connectivity: float) -> list[Any]:
        """What was watched in every repetition of a static run; None for one that was lost."""
        of_place = cell(algorithm, Place(ZERO, connectivity, rate), self._length(rate))
        found = self._watched.get(_key(of_place))
        if found is None:
            raise NotMeasured(f"{of_place}: not run")
        repetitions = {one["repetition"]: one["metrics"].get(metric) for one in found.result.repetitions}
        return [repetitions.get(repetition) for repetition in range(found.result.point.scenario.repeat)]

    def watched_rates(self) -> list[float]:
        """The loads of watched runs."""
        return sorted({point.cell.rate for point in self.watched})

    def figure_6(self, rates: Callable[[float], bool] = lambda rate: True, reading: Reading = TEXT) -> list[Place]:
        """The places of Figures 6 and 7 at some of the loads."""
        return [
            Place(mobility, connectivity, rate, reading.rule)
            for mobility in reading.mobilities()
            for connectivity in FIXED_CONNECTIVITIES
            for rate in self.rates
            if rates(rate)
        ]

    def figure_8(self, mobility: str, reading: Reading = TEXT) -> list[Place]:
        """The places of Figures 8 and 9 at a mobility."""
        return [Place(mobility, one, FIXED_RATE, reading.rule) for one in self.connectivities]


def known(metric: str, point: CellResult) -> Values:
    """A metric in every repetition; None if this version of the analysis does not have it."""
    repetitions = point.result.repetitions
    if repetitions and metric not in repetitions[0]["metrics"]:
        return [None] * point.result.point.scenario.repeat
    return point.result.values(metric)


def interval(values: Values, what: str) -> Interval:
    """Over the repetitions; raises `NotMeasured` that says what has no value."""
    try:
        return Interval.of(values)
    except NotMeasured:
        raise NotMeasured(f"no value of {what}") from None


def pending_share(waiting: float) -> float:
    """The share of their time that nodes wait at a load of 1: then one unit inside and one, on average, of thinking."""
    return waiting / (waiting + 2)


def pending_nodes(waiting: float, rate: float) -> float:
    """How many nodes wait on average."""
    return NODES * waiting / (waiting + 1 + 1 / rate)
