"""The application process of a node: thinks, asks for its critical section, stays in it, leaves."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from agents.contract import TICKS, Demand, Status
from testbed.durations import Duration
from testbed.randomness import Streams
from testbed.runtime.demands import DemandChoice


@dataclass(frozen=True)
class ScriptedRequest:
    """A request at a given time. What it leaves open is drawn as for any other request."""

    node: int
    at: int
    """In ticks. If the application is busy then, it asks when it has left its critical section."""
    units: int | None = None
    priority: int | None = None
    deadline: int | None = None
    """Ticks after the request."""
    cs_ticks: int | None = None


@dataclass(frozen=True)
class Load:
    """What the applications of a run do."""

    rates: Callable[[int], float]
    """Requests per time unit of a thinking node, by node; 0 for one that asks only by script."""
    cs_time: Duration
    demands: DemandChoice
    script: tuple[ScriptedRequest, ...] = ()


class Application:
    """One node's application. Its draws come from streams of its own, so they are the same for every algorithm."""

    def __init__(self, node: int, load: Load, streams: Streams) -> None:
        self.node = node
        self.status = Status.REMAINDER
        self.incarnation = 0  # how often its node has crashed
        self.stay = 0  # how often it has entered its critical section
        self.since = 0  # when its latest request was made
        self.demand = Demand()  # of its latest request
        self.wants = False  # whether it asks as soon as its node arrives in a neighbourhood
        self.plan = 0  # which of the requests that it planned while thinking is the current one
        self.rate = load.rates(node)
        self.script = tuple(sorted((one for one in load.script if one.node == node), key=lambda one: one.at))
        self.backlog: deque[ScriptedRequest] = deque()  # requests whose time came while it was busy
        self.cs_time = load.cs_time.sampler(streams.of("cs", node))
        self.scripted_stay: int | None = None  # how long it stays inside, if the script says so
        self.draw_demand = load.demands.sampler(node, streams)
        self._think = streams.of("think", node)

    def think_time(self) -> int:
        """Ticks until its next request."""
        return round(self._think.expovariate(self.rate) * TICKS)

    def scripted_demand(self, request: ScriptedRequest, now: int) -> Demand:
        """The demand of a request that the script asks for."""
        drawn = self.draw_demand(now, request.units, request.deadline)
        return drawn if request.priority is None else replace(drawn, priority=request.priority)
