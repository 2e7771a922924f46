"""When every pair of nodes comes within range and leaves it, exactly, from trajectories that are known in advance.

The state of an instant is the state just after it, as in `Trajectory`: at a jump, it is where the node has jumped to.
All changes of an instant happen together, and a pair is reported if it was linked before and is not linked after, or
the other way round, so no pair changes twice at one instant. In particular

- a touch (nodes pass at exactly their range, or turn back exactly there) is no crossing;
- nodes at exactly their range at t = 0 are linked if they stay there or come closer, and not linked if they separate;
- nodes that jump and are in range before and after stay linked.

Method: trajectories consist of legs, on which nodes move in straight lines, so for two nodes on their legs the instants
are roots of a quadratic (`encounter`). A pair is examined only when one of its nodes begins a leg or enters another
cell of a grid, and their cells touch (`grid`); links change about as often as that. Everything planned for a pair lies
before the end of both legs, so no plan is ever revoked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

from testbed.mobility.encounter import END_OF_TIME, SLACK, Leg, Motion, is_out, leg_at, time_to_fall, time_to_form
from testbed.mobility.grid import Cell, Grid
from testbed.mobility.trajectory import Trajectory
from testbed.pairs import Link, link_of

CELL_MARGIN = 1.001  # nodes in range are in cells that touch, despite rounding errors
MIN_CELL_M = 1.0  # a range of 0 must not make infinitely many cells


class Crossing(NamedTuple):
    """A link forms (up) or falls between a and b (a < b), at t seconds."""

    t: float
    a: int
    b: int
    up: bool


class Crossings:
    """All changes of links up to a time, in the order (t, a, b); computed during each iteration.

    A link forms when the distance of two nodes becomes at most `range_of(a, b)`, which is symmetric, always the same
    for a pair and at most `max_range`; it falls when the distance becomes more than that times (1 + hysteresis). A node
    that is absent has no links.
    """

    def __init__(
        self,
        trajectories: Sequence[Trajectory],
        *,
        range_of: Callable[[int, int], float],
        max_range: float,
        hysteresis: float = 0.0,
        until: float,
    ) -> None:
        assert until < END_OF_TIME
        self._sweep = partial(_Sweep, trajectories, range_of=range_of, max_range=max_range, hysteresis=hysteresis)
        self._until = until

    def initial_links(self) -> list[Link]:
        """The links at t = 0, sorted."""
        return self._sweep().settle(0.0)

    def __iter__(self) -> Iterator[Crossing]:
        """The changes with 0 < t <= until."""
        sweep = self._sweep()
        sweep.settle(0.0)
        while (now := sweep.next_instant()) <= self._until:
            for a, b in sweep.settle(now):
                yield Crossing(now, a, b, b in sweep.links[a])


class _Sweep:
    """One pass through time: the state of all nodes just after `now`, and planned changes."""

    def __init__(
        self,
        trajectories: Sequence[Trajectory],
        *,
        range_of: Callable[[int, int], float],
        max_range: float,
        hysteresis: float,
    ) -> None:
        self.trajectories = trajectories
        self.range_of = range_of
        self.max_range = max_range
        self.stretch = 1.0 + hysteresis
        self.now = 0.0
        self.legs: list[Leg] = [leg_at(trajectory, 0.0) for trajectory in trajectories]
        self.links: list[set[int]] = [set() for _ in trajectories]
        self.changed: set[Link] = set()  # at this instant: linked before and not linked now, or the other way round
        self.grid = Grid(trajectories, max(MIN_CELL_M, CELL_MARGIN * max_range))
        # Two heaps, neither ever empty. For each node: when it begins a leg (no step) or steps into another cell.
        self.turns: list[tuple[float, int, Cell]] = [(inf, -1, 0)]
        self.turns += [(max(0.0, trajectory.appears), node, 0) for node, trajectory in enumerate(trajectories)]
        heapify(self.turns)
        # For pairs on their present legs: when a link forms and when it falls again, or only when it falls.
        self.plans: list[tuple[float, int, int, bool, float]] = [(inf, -1, -1, False, inf)]

    def next_instant(self) -> float:
        """The time of the next event; inf if there is none."""
        return min(self.turns[0][0], self.plans[0][0])

    def settle(self, now: float) -> list[Link]:
        """Apply all events of an instant; returns the pairs whose link has changed, sorted."""
        self.now = now
        self.changed.clear()
        while self.turns[0][0] <= now:  # several times if a leg begins at the edge of a cell
            self._turn()
        plans = self.plans
        while plans[0][0] <= now:
            _, a, b, up, falls = heappop(plans)
            if (b in self.links[a]) is not up:  # False if planned twice: the cells had separated and touched again
                self._change(a, b)
                if falls < inf:
                    heappush(plans, (falls, a, b, False, inf))
        return sorted(self.changed)

    def _turn(self) -> None:
        """Move nodes into their next cells and onto their next legs."""
        turns, starting = self.turns, []
        while turns[0][0] <= self.now:
            _, node, step = heappop(turns)
            if step:
                self._examine(node, self.grid.step(node, step))
                self._plan_turn(node)
            else:
                starting.append(node)
        self._begin_legs(starting)

    def _begin_legs(self, nodes: Iterable[int]) -> None:
        """Put nodes on their legs, all of them before any pair is examined: two may jump at one instant."""
        present = []
        for node in nodes:
            self.grid.leave(node)
            trajectory = self.trajectories[node]
            if trajectory.is_there(self.now):
                self.legs[node] = leg_at(trajectory, self.now)
                present.append(node)
            else:
                for peer in sorted(self.links[node]):
                    self._change(*link_of(node, peer))
        for node in present:
            self._enter(node)

    def _enter(self, node: int) -> None:
        """Put a node on a new leg into its cell. If several do so, each pair is examined once, for the later node."""
        grid = self.grid
        cell = grid.at(self._place(node))
        peers = {peer for peer in self.links[node] if peer in grid.cell_of}  # after a jump some are far away
        self._examine(node, peers.union(grid.around(cell)))
        grid.enter(node, cell)
        self._plan_turn(node)

    def _plan_turn(self, node: int) -> None:
        leg = self.legs[node]
        ends = leg[-1]
        t, step = self.grid.next_step(node, leg)
        heappush(self.turns, (t, node, step) if t < ends else (ends, node, 0))

    def _place(self, node: int) -> tuple[float, float, float]:
        t, x, y, z, u, v, w, _ = self.legs[node]
        s = self.now - t
        return x + s * u, y + s * v, z + s * w

    def _examine(self, a: int, others: Iterable[int]) -> None:
        """Plan the link changes between a node and others while they are on their present legs.

        The order of the others does not matter, because plans are ordered by (t, a, b).
        """
        now, legs, linked = self.now, self.legs, self.links[a]
        reach2 = (self.max_range + SLACK) ** 2
        xa, ya, za = self._place(a)
        *_, ua, va, wa, end_a = legs[a]
        for b in others:
            t, x, y, z, u, v, w, end = legs[b]
            s = now - t
            x += s * u - xa
            y += s * v - ya
            z += s * w - za
            u -= ua
            v -= va
            w -= wa
            distance2 = x * x + y * y + z * z
            parting = x * u + y * v + z * w
            speed2 = u * u + v * v + w * w
            if b in linked:
                self._plan_fall(*link_of(a, b), min(end, end_a), (distance2, parting, speed2))
            elif distance2 <= reach2 or (parting < 0.0 and parting * parting > speed2 * (distance2 - reach2)):
                self._plan_link(*link_of(a, b), min(end, end_a), (distance2, parting, speed2))

    def _plan_link(self, a: int, b: int, end: float, motion: Motion) -> None:
        """Plan that a link forms and falls again, if that happens before the end."""
        now, reach = self.now, self.range_of(a, b)
        assert reach <= self.max_range
        if reach <= 0.0:  # they never hear each other, not even at the same place
            return
        forms = now + time_to_form(reach, motion, end - now)
        if forms < end:  # a time that rounding has put at the very end is found when the next leg begins
            falls = now + time_to_fall(reach * self.stretch, motion, end - now)
            heappush(self.plans, (forms, a, b, True, falls if falls < end else inf))

    def _plan_fall(self, a: int, b: int, end: float, motion: Motion) -> None:
        """Plan that a link falls, if that happens before the end."""
        now, reach = self.now, self.range_of(a, b) * self.stretch
        if is_out(reach, motion[0]):  # one of them has jumped
            self._change(a, b)
            self._plan_link(a, b, end, motion)
            return
        falls = now + time_to_fall(reach, motion, end - now)
        if falls < end:
            heappush(self.plans, (falls, a, b, False, inf))

    def _change(self, a: int, b: int) -> None:
        """Add the link if there is none, else remove it."""
        peers = self.links[a]
        if b in peers:
            peers.remove(b)
            self.links[b].remove(a)
        else:
            peers.add(b)
            self.links[b].add(a)
        self.changed ^= {(a, b)}
