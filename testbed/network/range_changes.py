"""Link changes of nodes that move: a link forms when two come within range and is to fall when they leave it.

When that happens follows from the trajectories alone, so every algorithm meets the same changes.
"""

from __future__ import annotations

from collections.abc import Callable

from analysis.events import TICKS
from testbed.event_queue import EventQueue
from testbed.network.graph import Graph, Link
from testbed.network.interfaces import Links
from testbed.mobility.crossings import Crossing, Crossings


class RangeChanges:
    """Carries out crossings of the range as they come."""

    def __init__(self, queue: EventQueue, links: Links, plan: Graph, crossings: Crossings, *, time_unit: float) -> None:
        self._queue = queue
        self._links = links
        self._plan = plan  # the links that there are to be: those in range that no fault forbids
        self._crossings = iter(crossings)
        self._in_range = set(plan.links())
        self._ticks_per_second = TICKS / time_unit
        self.forbidden: list[Callable[[int, int], bool]] = []  # say of two nodes whether no link may form between them

    def begin(self) -> None:
        """Plan the next crossing, if there is one."""
        crossing = next(self._crossings, None)
        if crossing is not None:
            self._queue.at(round(crossing.t * self._ticks_per_second), self._cross, crossing)

    def stop(self) -> None:
        """The nodes come to a stop by themselves, when their trajectories end."""

    def may_form(self, a: int, b: int) -> bool:
        """Whether no fault stands between two nodes."""
        return not any(forbids(a, b) for forbids in self.forbidden)

    def restorable(self, severed: list[Link], forbids: Callable[[int, int], bool]) -> list[Link]:
        """The links that come back when a fault no longer forbids them: those in range now, whenever they came."""
        return sorted(link for link in self._in_range if forbids(*link))

    def _cross(self, crossing: Crossing) -> None:
        _, a, b, up = crossing
        if up:
            self._in_range.add((a, b))
            if self.may_form(a, b):
                self._plan.add(a, b)
                self._links.up(a, b)
        else:
            self._in_range.discard((a, b))
            if (a, b) in self._plan:
                self._plan.remove(a, b)
                self._links.down(a, b)
        self.begin()
