"""What the applications ask for, and what a message costs in time."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator
from pydantic_core import PydanticCustomError

from testbed.durations import MAX_UNITS, Duration, parse_duration, to_ticks
from testbed.runtime.application import Load
from testbed.runtime.demands import DemandChoice, PriorityChoice, UnitsChoice
from testbed.runtime.processing_costs import ProcessingCosts
from testbed.scenario.demands import PriorityOfDemand, RequestSection, UnitsOfDemand
from testbed.section import Section

Time = Annotated[Duration, PlainValidator(parse_duration), PlainSerializer(Duration.dump)]
RATE_ALLOWED = f"0, a number from {1 / MAX_UNITS:g} to {MAX_UNITS:g}, or a list with one for every node"
Units = Annotated[float, Field(ge=0, le=MAX_UNITS)]
"""An amount of time, in time units."""


def _parse_rate(value: Any) -> float | list[float] | None:
    if value is None:
        return None
    if isinstance(value, list):
        if all(map(_is_rate, value)) and value:
            return [float(one) for one in value]
    elif _is_rate(value):
        return float(value)
    raise PydanticCustomError("allowed", "{allowed}", {"allowed": RATE_ALLOWED})


def _is_rate(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (value == 0 or 1 / MAX_UNITS <= value <= MAX_UNITS)


class Delays(Section):
    """What a message costs in time: `send` and `receive` occupy the node, `hop` passes between the nodes."""

    hop: Time = Duration("fixed", (1.0,))
    send: Units = 0.0
    receive: Units = 0.0
    processor: Literal["fifo", "send-first", "none"] = "fifo"
    """In which order a node sends and receives; with `none` it does everything at the same time."""

    def costs(self) -> ProcessingCosts:
        """What occupies a node."""
        return ProcessingCosts(to_ticks(self.send), to_ticks(self.receive), self.processor)


class Workload(Section):
    """What the applications do: think for an exponential time, ask, stay in the critical section, leave."""

    rate: Annotated[float | list[float] | None, PlainValidator(_parse_rate)] = None
    """Requests per time unit of a thinking node: the mean time from leaving the CS to the next request is 1/rate.

    One for all nodes or one for each; 0 for a node that never asks, except by script.
    """
    contention: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Instead of a rate: the mean CS time as a share of it and the mean time that a node thinks (Joung)."""
    cs_time: Time = Duration("fixed", (1.0,))
    units: UnitsOfDemand = UnitsChoice((1,), (1.0,))
    priority: PriorityOfDemand = PriorityChoice("fixed", (0,))
    deadline: Time | None = None
    """From a request to the time by which its node wants to be inside."""
    requests: list[RequestSection] = Field([])
    """Requests at given times, beside or instead of those at a rate."""

    def load(self) -> Load:
        """The workload in the form that an application takes."""
        script = tuple(section.request() for section in self.requests)
        return Load(self.rate_of, self.cs_time, DemandChoice(self.units, self.priority, self.deadline), script)

    def rate_of(self, node: int) -> float:
        """The rate of one node."""
        if self.contention is not None:
            return self.contention / ((1 - self.contention) * self.cs_time.mean())
        return self.rate[node] if isinstance(self.rate, list) else self.rate or 0.0

    def has_priorities(self) -> bool:
        """Whether requests differ in priority."""
        kind, values = self.priority.kind, set(self.priority.values)
        scripted = {one.priority for one in self.requests if one.priority is not None}
        if kind == "fewest-first":
            return len(set(self.units.values) | {one.units for one in self.requests if one.units is not None}) > 1
        return kind == "deadline" or len(values | scripted) > 1
