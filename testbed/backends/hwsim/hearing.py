"""Who is in reach of a transmitter, and with what power.

Where nodes have places, it is the radio module that says so, from where they are. Powers are remembered: those of nodes
that stand still for ever, those of nodes that move for `REFRESH_NS`, in which even a train goes no farther than 5 m.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import dist

from testbed.mobility.trajectory import Position, Trajectory, standing
from testbed.radio.air import Air

REFRESH_NS = 50_000_000
FADING_MARGIN_DB = 20.0
"""How far below the threshold of detection a mean may be, if frames fade: a gain of 20 dB is once in 10^32 frames."""
FLAT_DBM = -50.0
"""The power of everything, where nodes have no places."""

Pair = tuple[int, int]
Listener = tuple[int, float, float | None]
"""A node, the mean power it hears with, and the shape of the fading, if there is any."""


def both_ways(pairs: Iterable[Sequence[int]]) -> set[Pair]:
    """Pairs in either order."""
    return {pair for a, b in pairs for pair in ((a, b), (b, a))}


class Hearing:
    """Who hears whom; `forbidden` pairs do not, whatever else holds."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.forbidden: set[Pair] = set()

    def forbid(self, pairs: Iterable[Sequence[int]]) -> None:
        """The complete list of pairs that a fault keeps apart."""
        self.forbidden = both_ways(pairs)

    def listeners(self, sender: int, run_ns: int) -> list[Listener]:
        """All whom a frame reaches at a time of the run."""
        raise NotImplementedError

    def lasts_ns(self) -> int | None:
        """How long that may be taken to hold; None for as long as nothing is forbidden or allowed anew."""
        raise NotImplementedError


class GivenPairs(Hearing):
    """The pairs by name, for topologies that know no places."""

    def __init__(self, nodes: int, allowed: Collection[Sequence[int]]) -> None:
        super().__init__(nodes)
        self.allow(allowed)

    def allow(self, pairs: Iterable[Sequence[int]]) -> None:
        """The complete list of pairs that hear each other."""
        self._allowed = both_ways(pairs)

    def listeners(self, sender: int, run_ns: int) -> list[Listener]:
        """Its peers, at one power."""
        ways = self._allowed - self.forbidden
        return [(node, FLAT_DBM, None) for node in range(self.nodes) if (sender, node) in ways]

    def lasts_ns(self) -> int | None:
        """For as long as nobody says otherwise."""
        return None


class Places(Hearing):
    """What follows from where the nodes are."""

    def __init__(self, trajectories: Sequence[Trajectory], air: Air) -> None:
        super().__init__(len(trajectories))
        self._given = list(trajectories)
        self._air = air
        self._fading_m = air.radio.propagation.fading_m if air.is_fading else None
        self._weakest = air.radio.receiver.detection_dbm - (FADING_MARGIN_DB if air.is_fading else 0.0)
        self._powers: dict[Pair, tuple[float, float | None]] = {}
        self._counted_to = -1
        self.place({})

    def place(self, positions: dict[int, Position]) -> None:
        """Put nodes elsewhere than the scenario has them, all others where it does: to try the medium out."""
        self._paths = [
            standing(positions[node]) if node in positions else path for node, path in enumerate(self._given)
        ]
        self._moving = [node for node, path in enumerate(self._paths) if _moves(path)]
        self._positions = [path.at(0.0) for path in self._paths]
        self._here = [path.is_there(0.0) for path in self._paths]
        self._powers.clear()
        self._counted_to = -1

    def lasts_ns(self) -> int | None:
        """For ever if nobody moves."""
        return REFRESH_NS if self._moving else None

    def listeners(self, sender: int, run_ns: int) -> list[Listener]:
        """All who are there, and to whom its power reaches."""
        self._move_to(run_ns)
        if not self._here[sender]:
            return []
        found, weakest, powers, forbidden = [], self._weakest, self._powers, self.forbidden
        for node in range(self.nodes):
            pair = (sender, node) if sender < node else (node, sender)
            known = powers.get(pair)
            if known is None:
                if node == sender:
                    continue
                known = powers[pair] = self._power(*pair)
            if known[0] >= weakest and self._here[node] and pair not in forbidden:
                found.append((node, *known))
        return found

    def where(self, run_ns: int) -> list[Position]:
        """Where it takes the nodes to be at a time, moved there first if it has been a while."""
        self._move_to(run_ns)
        return self._positions

    def _power(self, a: int, b: int) -> tuple[float, float | None]:
        at_a, at_b = self._positions[a], self._positions[b]
        power = self._air.rx_power_dbm(a, b, at_a, at_b)
        return power, None if self._fading_m is None else self._fading_m(dist(at_a, at_b))

    def _move_to(self, run_ns: int) -> None:
        step = run_ns // REFRESH_NS
        if step == self._counted_to or not self._moving:
            return
        self._counted_to = step
        seconds = run_ns / 1e9
        moved = set()
        for node in self._moving:
            path = self._paths[node]
            self._here[node] = path.is_there(seconds)
            position = path.at(seconds)
            if position != self._positions[node]:
                self._positions[node] = position
                moved.add(node)
        if len(moved) == self.nodes:
            self._powers.clear()
        elif moved:
            self._powers = {pair: known for pair, known in self._powers.items() if not moved.intersection(pair)}


def _moves(path: Trajectory) -> bool:
    """Whether a node is ever elsewhere, or not there at all."""
    return len({waypoint[1:] for waypoint in path.waypoints}) > 1 or path.appears > 0.0 or path.leaves < float("inf")
