"""The points of the RL paper's experiments: which are run, for how long, how often, and under which readings.

The paper gives neither the length of its runs nor a warm-up, and some results depend on them. So every cell has a
length and a warm-up of its own, and every table shows them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from testbed.experiments.reproduce.cells import Cell

RL, RR = "rl", "raymond-tree"
ALGORITHMS = (RR, RL)
NAMES = {RL: "RL", RR: "RR"}
TEXT, PER_PAIR, THINNING = READINGS = ("text", "per-pair", "thinning")
MOBILITY = {"zero": 0.0, "low": 1e-2, "high": 1e-1}
STATIC, MOBILE = ("zero",), ("low", "high")
HIGH, LOW = 1.0, 1e-3
LOADS = {"high": HIGH, "low": LOW}
RATES = (1e-4, LOW, 1e-2, 1e-1, HIGH)
CONNECTIVITIES = (0.2, 0.8)
TENTHS = tuple(tenth / 10 for tenth in range(1, 11))
QUICK_TENTHS = (0.1, 0.2, 0.5, 0.8, 1.0)
SHORT_RUN = 370.0  # time units after which the paper's 75 comes out, ramp-up included


class Length(NamedTuple):
    """How long a run is, and how much of it does not count, in time units."""

    duration: float
    warmup: float = 0.0


LENGTHS = {
    1e-4: Length(30_000.0),
    LOW: Length(10_000.0),
    1e-2: Length(5000.0, 500.0),
    1e-1: Length(2500.0, 500.0),
    HIGH: Length(2500.0, 500.0),
}
QUICK_LENGTHS = {
    1e-4: Length(10_000.0),
    LOW: Length(4000.0),
    1e-2: Length(1500.0, 150.0),
    1e-1: Length(600.0, 150.0),
    HIGH: Length(600.0, 150.0),
}
# Every pair of nodes changes by itself: 43 link changes a time unit at high mobility, so these runs are shorter.
OFTEN = {1e-4: Length(4000.0), LOW: Length(2000.0), 1e-2: Length(1000.0, 250.0)}
OFTEN |= {1e-1: Length(1000.0, 250.0), HIGH: Length(1000.0, 250.0)}
QUICK_OFTEN = {1e-4: Length(2000.0), LOW: Length(800.0), 1e-2: Length(300.0, 100.0)}
QUICK_OFTEN |= {1e-1: Length(300.0, 100.0), HIGH: Length(300.0, 100.0)}
LONG = {HIGH: Length(30_000.0), LOW: Length(100_000.0)}  # of the reading under which the graph thins out slowly
QUICK_LONG = {HIGH: Length(5000.0), LOW: Length(10_000.0)}
CHARGED = {HIGH: Length(600.0, 100.0), 1e-2: Length(1200.0, 100.0)}
QUICK_CHARGED = {HIGH: Length(300.0, 100.0), 1e-2: Length(500.0, 100.0)}


def cell(
    algorithm: str,
    reading: str,
    mobility: str,
    connectivity: float,
    rate: float,
    duration: float,
    warmup: float = 0.0,
    repeat: int = 6,
) -> Cell:
    """A cell of this paper."""
    return Cell(algorithm, connectivity, rate, duration, warmup, repeat, mobility, MOBILITY[mobility], reading)


def points(quick: bool) -> list[tuple[float, float]]:
    """The loads and connectivities of Figures 5 and 7 (against load) and 6 and 8 (against connectivity)."""
    by_load = [(rate, connectivity) for rate in RATES for connectivity in CONNECTIVITIES]
    by_links = [(rate, one) for rate in (HIGH, LOW) for one in (QUICK_TENTHS if quick else TENTHS)]
    return list(dict.fromkeys([*by_load, *by_links]))


def repetitions(quick: bool, reading: str, mobility: str) -> int:
    """Static runs are the cheapest and decide between close values; those with many link changes take longest."""
    if quick:
        return 2 if reading == PER_PAIR else 3
    return 20 if mobility == "zero" else 6 if reading == PER_PAIR else 10


def figure_cells(quick: bool) -> list[Cell]:
    """Every point of the figures and so every cell of the tables, under every reading."""
    return [
        cell(algorithm, reading, mobility, connectivity, rate, *length(quick, reading, mobility, rate),
            repeat=repetitions(quick, reading, mobility))
        for mobility in MOBILITY
        for reading in readings(mobility)
        for rate, connectivity in points(quick)
        for algorithm in ALGORITHMS
    ]  # fmt: skip


def readings(mobility: str) -> tuple[str, ...]:
    """Without mobility the readings are one."""
    return READINGS[:1] if mobility == "zero" else READINGS


def length(quick: bool, reading: str, mobility: str, rate: float) -> Length:
    """The length of a point of the figures."""
    if reading == PER_PAIR and mobility == "high":
        return (QUICK_OFTEN if quick else OFTEN)[rate]
    return (QUICK_LENGTHS if quick else LENGTHS)[rate]


def long_cells(quick: bool) -> list[Cell]:
    """The mobile cells of the tables in long runs from time 0, under the reading by which the graph thins out."""
    return [
        cell(algorithm, THINNING, mobility, connectivity, rate, *run, repeat=2 if quick else 6)
        for mobility in MOBILE
        for rate, run in (QUICK_LONG if quick else LONG).items()
        for connectivity in CONNECTIVITIES
        for algorithm in ALGORITHMS
    ]


def short_cells(quick: bool) -> list[Cell]:
    """RL at high load for as long as the paper's runs seem to have been."""
    repeat = repetitions(quick, TEXT, "zero")
    return [cell(RL, TEXT, "zero", connectivity, HIGH, SHORT_RUN, repeat=repeat) for connectivity in CONNECTIVITIES]


def charged_cells(quick: bool) -> list[Cell]:
    """RL over the link layer and RR over its router, which have to find and keep neighbours and routes."""
    lengths = QUICK_CHARGED if quick else CHARGED
    places = [(mobility, one, rate) for mobility in MOBILITY for one in CONNECTIVITIES for rate in lengths]
    # At 10 % and high load RL sends fewer messages than RR over ideal routes.
    places += [(mobility, 0.1, HIGH) for mobility in MOBILITY]
    return [
        replace(
            cell(algorithm, TEXT, mobility, connectivity, rate, *lengths[rate], repeat=2 if quick else 5), links="radio"
        )
        for algorithm in ALGORITHMS[::-1]
        for mobility, connectivity, rate in places
    ]
