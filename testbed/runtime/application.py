"""The application process of a node: thinks, asks for its critical section, stays in it, leaves."""

from __future__ import annotations

from agents.contract import Demand, Status
from analysis.events import TICKS
from testbed.scenario.schema import Workload
from testbed.randomness import Streams


class Application:
    """One node's application. Its draws come from streams of its own, so they are the same for every algorithm."""

    def __init__(self, node: int, workload: Workload, streams: Streams) -> None:
        self.node = node
        self.status = Status.REMAINDER
        self.incarnation = 0  # how often its node has crashed
        self.stay = 0  # how often it has entered its critical section
        self.since = 0  # when it last asked
        self.demand = Demand(workload.units, workload.priority)
        self.cs_time = workload.cs_time.sampler(streams.of("cs", node))
        self._rate = workload.rate
        self._think = streams.of("think", node)

    def think_time(self) -> int:
        """Ticks until it asks again."""
        return round(self._think.expovariate(self._rate) * TICKS)
