"""The application process of a node: thinks, asks for its critical section, stays in it, leaves."""

from __future__ import annotations

from dataclasses import dataclass

from agents.contract import TICKS, Demand, Status
from testbed.durations import Duration
from testbed.randomness import Streams


@dataclass(frozen=True)
class Load:
    """What the applications of a run do."""

    rate: float
    """Requests per time unit of a thinking node."""
    cs_time: Duration
    demand: Demand


class Application:
    """One node's application. Its draws come from streams of its own, so they are the same for every algorithm."""

    def __init__(self, node: int, load: Load, streams: Streams) -> None:
        self.node = node
        self.status = Status.REMAINDER
        self.incarnation = 0  # how often its node has crashed
        self.stay = 0  # how often it has entered its critical section
        self.since = 0  # when its latest request was made
        self.demand = load.demand
        self.cs_time = load.cs_time.sampler(streams.of("cs", node))
        self._rate = load.rate
        self._think = streams.of("think", node)

    def think_time(self) -> int:
        """Ticks until its next request."""
        return round(self._think.expovariate(self._rate) * TICKS)
