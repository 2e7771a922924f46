"""What makes nodes arrive in neighbourhoods and leave them: churn, or trajectories past places.

Neither depends on what an algorithm does, but for one thing: a node that is ready before its notice is over leaves at
once, so under churn its next arrival comes sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from random import Random
from typing import Protocol

from agents.contract import TICKS
from testbed.event_queue import Scheduler
from testbed.network.stays import Stay


class Travellers(Protocol):
    """The nodes that arrive and leave, as the testbed carries it out."""

    on_left: Callable[[int], None]
    """Called with a node that has left its neighbourhood."""

    def arrive(self, node: int, group: int) -> None:
        """A node comes into a neighbourhood, unless it has crashed."""

    def announce(self, node: int, deadline: int) -> None:
        """A node, if it is in a neighbourhood, learns that it leaves: when it is ready, or else at that time."""

    def group_of(self, node: int) -> int | None:
        """The neighbourhood that a node is in."""


class Travel(Protocol):
    """What makes nodes travel."""

    def begin(self) -> None:
        """Plan the first departures and arrivals."""

    def stop(self) -> None:
        """No more departures."""

    def return_of(self, node: int) -> None:
        """A node that had crashed runs again."""


class Churn:
    """Every node leaves its group at a rate, is away for some time, and joins another group, or the only one."""

    def __init__(
        self,
        queue: Scheduler,
        travellers: Travellers,
        groups: int,
        departures: float,
        notice: int,
        away: Callable[[int], Callable[[], int]],
        rng_of: Callable[[int], Random],
        nodes: int,
    ) -> None:
        """`departures`: per node and time unit. `away` makes the sampler of a node's times between two groups."""
        self._queue = queue
        self._travellers = travellers
        self._groups = groups
        self._departures = departures
        self._notice = notice
        self._rngs = [rng_of(node) for node in range(nodes)]
        self._away = [away(node) for node in range(nodes)]
        self._stay = [0] * nodes  # counts the stays, so that what was planned for an earlier one does not happen
        self._last: dict[int, int] = {}  # the group that a node was in
        self._stopped = False
        travellers.on_left = self._after_leaving

    def begin(self) -> None:
        """Plan the first departure of every node."""
        for node in range(len(self._rngs)):
            self._plan(node)

    def stop(self) -> None:
        """No more departures; nodes that are away still arrive."""
        self._stopped = True

    def return_of(self, node: int) -> None:
        """A node that had crashed arrives after some time."""
        self._after_leaving(node)

    def _plan(self, node: int) -> None:
        self._stay[node] += 1
        group = self._travellers.group_of(node)
        if group is not None:
            self._last[node] = group
        if self._departures:
            after = round(self._rngs[node].expovariate(self._departures) * TICKS)
            self._queue.at(self._queue.now + after, self._depart, node, self._stay[node])

    def _depart(self, node: int, stay: int) -> None:
        if stay == self._stay[node] and not self._stopped:
            self._travellers.announce(node, self._queue.now + self._notice)

    def _after_leaving(self, node: int) -> None:
        self._stay[node] += 1
        self._queue.at(self._queue.now + self._away[node](), self._arrive, node, self._stay[node])

    def _arrive(self, node: int, stay: int) -> None:
        if stay == self._stay[node]:
            last = self._last.get(node, 0)
            others = [group for group in range(self._groups) if group != last] or [last]
            self._travellers.arrive(node, self._rngs[node].choice(others))
            self._plan(node)


class PlannedStays:
    """Nodes arrive and leave as their trajectories have it."""

    def __init__(
        self,
        queue: Scheduler,
        travellers: Travellers,
        stays: Sequence[Stay],
        notice: int,
        ticks_per_second: float,
        *,
        starts_inside: bool,
    ) -> None:
        """`starts_inside`: whether those that are in a neighbourhood at the start are known to be there."""
        self._queue = queue
        self._travellers = travellers
        self._stays = stays
        self._notice = notice
        self._ticks_per_second = ticks_per_second
        self._starts_inside = starts_inside

    def begin(self) -> None:
        """Plan all arrivals and departures that are still to come."""
        now = self._queue.now
        for stay in self._stays:
            arrives = max(now, self._ticks(stay.arrives))
            leaves = self._ticks(stay.leaves) if stay.leaves < inf else None
            if leaves is not None and leaves <= now:
                continue
            if stay.arrives or not self._starts_inside:
                self._queue.at(arrives, self._travellers.arrive, stay.node, stay.group)
            if leaves is not None:
                self._queue.at(max(arrives, leaves - self._notice), self._travellers.announce, stay.node, leaves)

    def stop(self) -> None:
        """The nodes come to a stop by themselves, when their trajectories end."""

    def return_of(self, node: int) -> None:
        """A node that had crashed is where it is."""
        now = self._queue.now
        for stay in self._stays:
            leaves = stay.leaves * self._ticks_per_second
            if stay.node == node and self._ticks(stay.arrives) <= now < leaves - self._notice:
                self._travellers.arrive(node, stay.group)

    def _ticks(self, seconds: float) -> int:
        return round(seconds * self._ticks_per_second)
