"""When nodes that move are in the neighbourhoods of places, from trajectories that are known in advance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from testbed.mobility.crossings import Crossings
from testbed.mobility.trajectory import Position, Trajectory, standing


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A place, the distance within which its units can be used, and how many there are."""

    centre: Position
    range_m: float
    capacity: int


class Stay(NamedTuple):
    """A node is in a neighbourhood from one time to another, in seconds; `leaves` is inf if it is there at the end."""

    node: int
    group: int
    arrives: float
    leaves: float


def stays(trajectories: Sequence[Trajectory], places: Sequence[Neighbourhood], *, until: float) -> list[Stay]:
    """All stays of nodes in neighbourhoods, in the order of their arrivals. Neighbourhoods do not overlap."""
    nodes = len(trajectories)

    def range_of(a: int, b: int) -> float:
        return places[b - nodes].range_m if a < nodes <= b else 0.0  # nodes do not hear each other here

    crossings = Crossings(
        [*trajectories, *(standing(place.centre) for place in places)],
        range_of=range_of,
        max_range=max((place.range_m for place in places), default=0.0),
        until=until,
    )
    arrived: dict[tuple[int, int], float] = {(a, b - nodes): 0.0 for a, b in crossings.initial_links()}
    found: list[Stay] = []
    for crossing in crossings:
        stay = (crossing.a, crossing.b - nodes)
        if crossing.up:
            arrived[stay] = crossing.t
        else:
            found.append(Stay(*stay, arrived.pop(stay), crossing.t))
    found += [Stay(*stay, since, inf) for stay, since in arrived.items()]
    return sorted(found, key=lambda one: (one.arrives, one.node))
