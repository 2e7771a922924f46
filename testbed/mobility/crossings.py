"""When every pair of nodes comes within range and leaves it, exactly, from trajectories that are known in advance.

What counts is what holds just after an instant, as in `Trajectory`, which at a jump is where the node has jumped to.
All that happens at an instant happens together, and a pair is reported if it was linked before and is not after, or the
other way round: so no pair changes twice at one instant. In particular

- a touch (nodes pass at exactly their range, or turn back exactly there) is no crossing;
- nodes that are at exactly their range at t = 0 and part are not linked; if they stay there or come closer, they are;
- nodes that jump and are in range before and after stay linked.

How it is done: trajectories consist of legs, on which nodes move in straight lines, so that for two nodes on their legs
the instants are roots of a quadratic (`encounter`). A pair is looked at only when one of them begins a leg or steps
into another cell of a grid, and their cells touch (`grid`); links change about as often as that. What is planned for a
pair is before the end of both legs, so nothing planned is ever revoked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

from testbed.network.graph import Link, link_of
from testbed.mobility.encounter import END_OF_TIME, SLACK, Leg, Motion, is_out, leg_at, time_to_fall, time_to_form
from testbed.mobility.grid import Cell, Grid
from testbed.mobility.trajectory import Trajectory

CELL_MARGIN = 1.001  # who comes within range is in a cell that touches, whatever the rounding
MIN_CELL_M = 1.0  # a range of nothing must not make infinitely many cells


class Crossing(NamedTuple):
    """A link forms (up) or falls between a and b (a < b), at t seconds."""

    t: float
    a: int
    b: int
    up: bool


class Crossings:
    """All changes of links up to a time, in the order (t, a, b); worked out while iterating, anew every time.

    A link forms when the distance of two nodes becomes at most `range_of(a, b)`, which is symmetric, always the same
    for a pair and at most `max_range`; it falls when the distance becomes more than that times (1 + hysteresis). A node
    that is not there has no links.
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
    """One pass through time: all nodes as they are just after `now`, and what is planned."""

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
        self.changed: set[Link] = set()  # at this instant: linked before and not now, or the other way round
        self.grid = Grid(trajectories, max(MIN_CELL_M, CELL_MARGIN * max_range))
        # Two heaps, of which neither runs out. For each node: when it begins a leg (no step) or steps into a cell.
        self.turns: list[tuple[float, int, Cell]] = [(inf, -1, 0)]
        self.turns += [(max(0.0, trajectory.appears), node, 0) for node, trajectory in enumerate(trajectories)]
        heapify(self.turns)
        # For pairs on their present legs: when a link forms, and when it falls thereafter; or just when it falls.
        self.plans: list[tuple[float, int, int, bool, float]] = [(inf, -1, -1, False, inf)]

    def next_instant(self) -> float:
        """When something happens next; inf if nothing ever does."""
        return min(self.turns[0][0], self.plans[0][0])

    def settle(self, now: float) -> list[Link]:
        """Let everything happen that does at an instant; returns the pairs that this changes, sorted."""
        self.now = now
        self.changed.clear()
        while self.turns[0][0] <= now:  # again if a leg begins at the edge of a cell
            self._turn()
        plans = self.plans
        while plans[0][0] <= now:
            _, a, b, up, falls = heappop(plans)
            if (b in self.links[a]) is not up:  # it is if planned twice: their cells had parted and touched again
                self._change(a, b)
                if falls < inf:
                    heappush(plans, (falls, a, b, False, inf))
        return sorted(self.changed)

    def _turn(self) -> None:
        """Let nodes step into cells and begin legs."""
        turns, beginners = self.turns, []
        while turns[0][0] <= self.now:
            _, node, step = heappop(turns)
            if step:
                self._look_at(node, self.grid.step(node, step))
                self._plan_turn(node)
            else:
                beginners.append(node)
        self._begin_legs(beginners)

    def _begin_legs(self, nodes: Iterable[int]) -> None:
        """Put nodes on their legs, all of them before any pair is looked at: two may jump at one instant."""
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
        """Put a node on a new leg into its cell. Of several that do so, each pair is looked at once, by the later."""
        grid = self.grid
        cell = grid.at(self._place(node))
        peers = {peer for peer in self.links[node] if peer in grid.cell_of}  # not all are near: there are jumps
        self._look_at(node, peers.union(grid.around(cell)))
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

    def _look_at(self, a: int, others: Iterable[int]) -> None:
        """Plan what happens between a node and others while they are on their present legs.

        The order of the others does not matter, since that of what is planned is (t, a, b).
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
        """Plan that a link forms, and that it falls again, as far as that happens before the end."""
        now, reach = self.now, self.range_of(a, b)
        assert reach <= self.max_range
        if reach <= 0.0:  # they never hear each other, not even at one place
            return
        forms = now + time_to_form(reach, motion, end - now)
        if forms < end:  # what rounding has put at the very end is found when the next leg begins
            falls = now + time_to_fall(reach * self.stretch, motion, end - now)
            heappush(self.plans, (forms, a, b, True, falls if falls < end else inf))

    def _plan_fall(self, a: int, b: int, end: float, motion: Motion) -> None:
        """Plan that a link falls, if it does so before the end."""
        now, reach = self.now, self.range_of(a, b) * self.stretch
        if is_out(reach, motion[0]):  # one of them has jumped
            self._change(a, b)
            self._plan_link(a, b, end, motion)
            return
        falls = now + time_to_fall(reach, motion, end - now)
        if falls < end:
            heappush(self.plans, (falls, a, b, False, inf))

    def _change(self, a: int, b: int) -> None:
        """Make a link where there is none, or none where there is one."""
        peers = self.links[a]
        if b in peers:
            peers.remove(b)
            self.links[b].remove(a)
        else:
            peers.add(b)
            self.links[b].add(a)
        self.changed ^= {(a, b)}
