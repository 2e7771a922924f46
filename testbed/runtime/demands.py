"""What an application asks for, drawn for each request: units, priority and deadline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from agents.contract import TICKS, Demand
from testbed.durations import Duration
from testbed.randomness import Streams

PRIORITIES_PER_UNIT = 1000
"""Where deadlines are priorities: so many steps of priority to a time unit."""


@dataclass(frozen=True)
class UnitsChoice:
    """How many units a request asks for: one of some numbers, with weights."""

    values: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class PriorityChoice:
    """How urgent a request is: a greater priority is more urgent."""

    kind: Literal["fixed", "per node", "uniform", "deadline", "fewest-first"]
    values: tuple[int, ...] = ()
    """One number; or one for every node; or the least and the greatest of those to draw from."""


class DemandSampler(Protocol):
    """Draws the demand of a request made at a given time."""

    def __call__(self, now: int, units: int | None = None, allowance: int | None = None) -> Demand:
        """`units` and `allowance`, the time from the request to its deadline, are drawn where they are not given."""


@dataclass(frozen=True)
class DemandChoice:
    """How the demands of all applications are drawn."""

    units: UnitsChoice
    priority: PriorityChoice
    deadline: Duration | None = None
    """From the request to the time by which the application wants to be inside."""

    def sampler(self, node: int, streams: Streams) -> DemandSampler:
        """What draws the demands of a node."""
        draw_units, draw_priority = self._units_sampler(node, streams), self._priority_sampler(node, streams)
        is_constant = len(self.units.values) == 1 and self.priority.kind in ("fixed", "per node")
        constant = None
        if is_constant and self.deadline is None:
            constant = Demand(draw_units(), draw_priority(0, None))
        draw_allowance = None if self.deadline is None else self.deadline.sampler(streams.of("deadline", node))

        def draw(now: int, units: int | None = None, allowance: int | None = None) -> Demand:
            if constant is not None and units is None and allowance is None:
                return constant
            units = draw_units() if units is None else units
            if allowance is None and draw_allowance is not None:
                allowance = draw_allowance()
            deadline = None if allowance is None else now + allowance
            return Demand(units, draw_priority(units, deadline), deadline)

        return draw

    def _units_sampler(self, node: int, streams: Streams) -> Callable[[], int]:
        values, weights = self.units.values, self.units.weights
        if len(values) == 1:
            return lambda: values[0]
        rng = streams.of("units", node)
        return lambda: rng.choices(values, weights)[0]

    def _priority_sampler(self, node: int, streams: Streams) -> Callable[[int, int | None], int]:
        kind, values = self.priority.kind, self.priority.values
        if kind in ("fixed", "per node"):
            own = values[node if kind == "per node" else 0]
            return lambda units, deadline: own
        if kind == "uniform":
            rng = streams.of("priority", node)
            return lambda units, deadline: rng.randint(*values)
        if kind == "deadline":
            return lambda units, deadline: -round((deadline or 0) * PRIORITIES_PER_UNIT / TICKS)
        return lambda units, deadline: -units
