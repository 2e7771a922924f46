"""What changes the links besides faults: the papers' Poisson process, or nodes that move.

Neither depends on traffic: the planned links change at once, and only the fall of a busy link waits
(`testbed.backends.sim.ideal_links`). So every algorithm meets the same changes.

The RL paper's text has "link changes modeled as a Poisson process with arrival rate λ", each "the deletion of a link
chosen at random (whose loss did not disconnect the graph) and the formation of a link chosen at random". Its figures do
not follow from one reading of that, so there are three:

- `text`: one change at a time in the whole network at rate λ. The link that forms is one that is not there, so the
  number of links stays as it was.
- `per-pair`: every pair of nodes changes at rate λ of its own: its link falls if it is there and the network stays
  connected without it, and forms if it is not there. Changes come n(n-1)/2 times as often, and in the long run about
  half of all links are there.
- `thinning`: as `text`, but the link that forms is any pair of nodes, and nothing forms if it is linked already. The
  graph thins out until hardly more than a tree is left.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from agents.contract import TICKS
from testbed.event_queue import Scheduler
from testbed.mobility.crossings import Crossing, Crossings
from testbed.network.graph import Graph
from testbed.network.interfaces import Links
from testbed.pairs import Link, link_of


class PoissonChanges:
    """Draws changes and carries them out, under one of the readings."""

    def __init__(self, queue: Scheduler, links: Links, plan: Graph, rate: float, reading: str, rng: Random) -> None:
        self._queue = queue
        self.links = links
        self._plan = plan
        self._rng = rng
        self._draw = {"text": self._replace, "per-pair": self._flip, "thinning": self._replace_or_thin}[reading]
        self._rate = rate * (plan.nodes * (plan.nodes - 1) / 2 if reading == "per-pair" else 1)
        self._stopped = False
        self.forbidden: list[Callable[[int, int], bool]] = []  # true for two nodes between which no link may form

    def begin(self) -> None:
        """Plan the first change."""
        if self._rate > 0:
            self._queue.at(self._queue.now + round(self._rng.expovariate(self._rate) * TICKS), self._change)

    def stop(self) -> None:
        """No more changes."""
        self._stopped = True

    def may_form(self, a: int, b: int) -> bool:
        """Whether no fault forbids a link between two nodes."""
        return not any(forbids(a, b) for forbids in self.forbidden)

    def restorable(self, severed: list[Link], forbids: Callable[[int, int], bool]) -> list[Link]:
        """The links that come back when a fault no longer forbids them: those that it took away."""
        return severed

    def _change(self) -> None:
        if not self._stopped:
            self._draw()
            self.begin()

    def _replace(self) -> None:
        old = self._plan.draw_removable(self._rng)
        if old is not None:
            new = self._plan.draw_absent(self._rng, self.may_form) or old  # a complete graph has nothing else to form
            self._remove(*old)
            self._form(*new)

    def _flip(self) -> None:
        a, b = link_of(*self._rng.sample(range(self._plan.nodes), 2))
        if (a, b) not in self._plan:
            if self.may_form(a, b):
                self._form(a, b)
        elif not self._plan.is_bridge(a, b):
            self._remove(a, b)

    def _replace_or_thin(self) -> None:
        old = self._plan.draw_removable(self._rng)
        a, b = link_of(*self._rng.sample(range(self._plan.nodes), 2))
        if old is not None:
            self._remove(*old)
        if (a, b) not in self._plan and self.may_form(a, b):
            self._form(a, b)

    def _remove(self, a: int, b: int) -> None:
        self._plan.remove(a, b)
        self.links.down(a, b)

    def _form(self, a: int, b: int) -> None:
        self._plan.add(a, b)
        self.links.up(a, b)


class RangeChanges:
    """A link forms when two nodes come within range and is to fall when they leave it."""

    def __init__(self, queue: Scheduler, links: Links, plan: Graph, crossings: Crossings, *, time_unit: float) -> None:
        self._queue = queue
        self.links = links
        self._plan = plan  # the links that should exist: those in range that no fault forbids
        self._crossings = iter(crossings)
        self._in_range = set(plan.links())
        self._ticks_per_second = TICKS / time_unit
        self.forbidden: list[Callable[[int, int], bool]] = []  # true for two nodes between which no link may form

    def begin(self) -> None:
        """Plan the next crossing, if there is one."""
        crossing = next(self._crossings, None)
        if crossing is not None:
            self._queue.at(round(crossing.t * self._ticks_per_second), self._cross, crossing)

    def stop(self) -> None:
        """The nodes come to a stop by themselves, when their trajectories end."""

    def may_form(self, a: int, b: int) -> bool:
        """Whether no fault forbids a link between two nodes."""
        return not any(forbids(a, b) for forbids in self.forbidden)

    def restorable(self, severed: list[Link], forbids: Callable[[int, int], bool]) -> list[Link]:
        """The links that come back when a fault no longer forbids them: those in range now, since whenever."""
        return sorted(link for link in self._in_range if forbids(*link))

    def _cross(self, crossing: Crossing) -> None:
        _, a, b, up = crossing
        if up:
            self._in_range.add((a, b))
            if self.may_form(a, b):
                self._plan.add(a, b)
                self.links.up(a, b)
        else:
            self._in_range.discard((a, b))
            if (a, b) in self._plan:
                self._plan.remove(a, b)
                self.links.down(a, b)
        self.begin()
