"""Which nodes hear a transmitter, and with what power.

Where nodes have positions, the radio model gives the power. Powers are cached: those of nodes that stand still for the
whole run, those of nodes that move for `REFRESH_NS`, in which even a train moves only 5 m.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import dist

from testbed.mobility.trajectory import Position, Trajectory, standing
from testbed.radio.air import Air

REFRESH_NS = 50_000_000
FADING_MARGIN_DB = 20.0
"""If frames fade, how far below the threshold of detection a mean power may be: one frame in 10^32 gains 20 dB."""
FLAT_DBM = -50.0
"""The power of all frames, where nodes have no positions."""

Pair = tuple[int, int]
Hearer = tuple[int, float, float | None]
"""A node, the mean power at which it hears, and the shape of the fading, if there is any."""


def both_ways(pairs: Iterable[Sequence[int]]) -> set[Pair]:
    """Pairs in either order."""
    return {pair for a, b in pairs for pair in ((a, b), (b, a))}


class Hearing:
    """Which nodes hear each other; `forbidden` pairs never do."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.forbidden: set[Pair] = set()

    def forbid(self, pairs: Iterable[Sequence[int]]) -> None:
        """Set the complete list of pairs that faults keep apart."""
        self.forbidden = both_ways(pairs)

    def listeners(self, sender: int, run_ns: int) -> list[Hearer]:
        """All nodes that hear the sender at a time of the run."""
        raise NotImplementedError

    def lasts_ns(self) -> int | None:
        """How long that may be cached; None if it holds until `forbid` or `allow` is called."""
        raise NotImplementedError


class GivenPairs(Hearing):
    """Pairs that are given, for topologies without positions."""

    def __init__(self, nodes: int, allowed: Collection[Sequence[int]]) -> None:
        super().__init__(nodes)
        self.allow(allowed)

    def allow(self, pairs: Iterable[Sequence[int]]) -> None:
        """Set the complete list of pairs that hear each other."""
        self._allowed = both_ways(pairs)

    def listeners(self, sender: int, run_ns: int) -> list[Hearer]:
        """The sender's peers, all at the same power."""
        ways = self._allowed - self.forbidden
        return [(node, FLAT_DBM, None) for node in range(self.nodes) if (sender, node) in ways]

    def lasts_ns(self) -> int | None:
        """Until `forbid` or `allow` is called."""
        return None


class Places(Hearing):
    """Which nodes hear each other by their positions."""

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
        """Put nodes elsewhere than the scenario does, and all others where it does: to test the medium."""
        self._paths = [
            standing(positions[node]) if node in positions else path for node, path in enumerate(self._given)
        ]
        self._moving = [node for node, path in enumerate(self._paths) if _moves(path)]
        self._positions = [path.at(0.0) for path in self._paths]
        self._here = [path.is_there(0.0) for path in self._paths]
        self._powers.clear()
        self._counted_to = -1

    def lasts_ns(self) -> int | None:
        """`REFRESH_NS` if any node moves."""
        return REFRESH_NS if self._moving else None

    def listeners(self, sender: int, run_ns: int) -> list[Hearer]:
        """All nodes that are present and receive enough power from the sender."""
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
        """The positions that are used at a time of the run."""
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
    """Whether a node ever moves, appears or leaves."""
    return len({waypoint[1:] for waypoint in path.waypoints}) > 1 or path.appears > 0.0 or path.leaves < float("inf")
