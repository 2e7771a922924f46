"""Neighbourhoods that nodes come into and leave: places, or groups without places."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from testbed.durations import MAX_UNITS
from testbed.mobility.fields import Metres, Place
from testbed.mobility.trajectory import Position
from testbed.network.stays import Neighbourhood
from testbed.scenario.workload import Time
from testbed.section import Section

Notice = Annotated[float, Field(gt=0, le=MAX_UNITS)]
"""How long before it leaves a node learns of that, in time units."""
DEFAULT_NOTICE = 1.0


class NeighbourhoodSection(Section):
    """A place with units of its own, which nodes within range can use."""

    centre: Place
    range: Metres
    k: Annotated[int, Field(ge=1)] | None = None
    """How many units; by default the algorithm's `k`."""

    def neighbourhood(self, k: int) -> Neighbourhood:
        """In the form that the engine takes; `k` is what the algorithm has."""
        return Neighbourhood(Position(*self.centre), self.range, self.k or k)


class ChurnSection(Section):
    """Groups without places, between which nodes travel."""

    groups: Annotated[int, Field(ge=1, le=10_000)]
    """At the start, node i is in group i modulo `groups`."""
    departures: Annotated[float, Field(ge=0, le=MAX_UNITS)]
    """Of each node that is in a group, per time unit."""
    away: Time
    """From leaving a group to the arrival in another one, or in the same if there is only one."""
