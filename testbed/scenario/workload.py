"""What the applications ask for, and what a message costs in time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PlainSerializer, PlainValidator

from agents.contract import Demand
from testbed.durations import MAX_UNITS, Duration, parse_duration, to_ticks
from testbed.runtime.application import Load
from testbed.runtime.processing_costs import ProcessingCosts
from testbed.section import Section

Time = Annotated[Duration, PlainValidator(parse_duration), PlainSerializer(Duration.dump)]
Rate = Annotated[float, Field(ge=1 / MAX_UNITS, le=MAX_UNITS)]
Units = Annotated[float, Field(ge=0, le=MAX_UNITS)]
"""An amount of time, in time units."""


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

    rate: Rate
    """Requests per time unit of a thinking node: the mean time from leaving the CS to the next request is 1/rate."""
    cs_time: Time = Duration("fixed", (1.0,))
    units: Annotated[int, Field(ge=1)] = 1
    priority: int = 0

    def load(self) -> Load:
        """The workload in the form that an application takes."""
        return Load(self.rate, self.cs_time, Demand(self.units, self.priority))
