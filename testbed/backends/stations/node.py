"""What a station runs: application, driver, agent, and router or link layer, in real time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from agents.contract import Needs
from testbed.backends.repetition import Repetition
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.real_time import RealTime
from testbed.backends.stations.station_log import StationLog
from testbed.durations import to_ticks
from testbed.link.actions import Transmit
from testbed.link.endtoend import Direct
from testbed.link.layer import LinkLayer
from testbed.link.router import Router
from testbed.link.wire import Wire
from testbed.runtime.channel import Post
from testbed.runtime.driver import Driver
from testbed.runtime.stack import LinkStack, RouterStack, Stack


class Node(RealTime):
    """One incarnation of one node: the host of its driver, as `Simulation` is for all nodes at once."""

    def __init__(
        self,
        repetition: Repetition,
        node: int,
        incarnation: int,
        clock: RunClock,
        log: StationLog,
        put: Callable[[Transmit], None],
    ) -> None:
        super().__init__(asyncio.get_running_loop(), clock)
        self._repetition = repetition
        self._node = node
        self._incarnation = incarnation
        self._log = log
        self._put = put
        self.frames: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        """Of the datagrams sent, by the frame they carry."""
        self.is_idle = False
        """Whether no request is pending, and none will be made."""
        self._since = 0 if incarnation == 1 else self.now  # requests scripted for an earlier incarnation are not made
        self._driver = self._make_driver()
        self._stack = self._make_stack()
        self._follow_absence()
        scenario = repetition.scenario
        self.at(max(self.now, to_ticks(scenario.warmup)), self._begin)
        if scenario.duration is not None:
            self.at(max(self.now, to_ticks(scenario.duration)), self._driver.stop)
        self.at(self.now, self._stack.begin)

    def _begin(self) -> None:
        """The load starts; frames that were sent to find links do not count."""
        self.frames.clear()
        self.bytes.clear()
        self._driver.begin(self._since)

    def _make_driver(self) -> Driver:
        repetition, node = self._repetition, self._node
        is_first = self._incarnation == 1
        agent = repetition.agent(node) if is_first else repetition.initial_state.restarted(node)
        application = repetition.application(node, self._incarnation)
        return Driver({node: agent}, {node: application}, self, self._log)

    def _make_stack(self) -> Stack:
        repetition, scenario, incarnation = self._repetition, self._repetition.scenario, self._incarnation
        agent, costs, settings = scenario.algorithm.agent, scenario.delays.costs(), repetition.link_settings()
        wire = Wire(repetition.wire_name(), agent.messages)
        rng = repetition.streams.of(f"link layer, life {incarnation}", self._node)
        if agent.needs is Needs.LINKS:
            layer = LinkLayer(self._node, incarnation, wire, settings, rng, self.now)
            return LinkStack(layer, self._driver, self, self._transmit, costs)
        kind = Router if scenario.routing == "builtin" else Direct
        ends = kind(self._node, incarnation, wire, settings, rng, self.now)
        return RouterStack(ends, self._driver, self, self._transmit, costs, scenario.nodes)

    def _follow_absence(self) -> None:
        """A node that has not appeared yet, or has left, makes no requests."""
        geometry, absent = self._repetition.geometry, self._driver.absent
        for seconds, node, is_present in geometry.absences() if geometry is not None else ():
            if node != self._node or geometry is None:
                continue
            if seconds == 0:
                absent.add(node)
            elif seconds < geometry.seconds:
                change = absent.discard if is_present else absent.add
                self.at(to_ticks(seconds / self._repetition.scenario.time_unit), change, node)

    # -- the driver's host -------------------------------------------------------------------------------------------

    def move(self, posts: list[Post]) -> None:
        """Give messages to the link layer or router."""
        self._stack.move(posts)

    def halt(self) -> None:
        """Every request of this node is served; it still carries tokens and requests for others."""
        self.is_idle = True

    # -- called by the station ---------------------------------------------------------------------------------------

    def on_datagram(self, data: bytes) -> None:
        """A datagram has arrived."""
        self.read_clock()
        self._stack.on_datagram(data)

    def stop(self) -> None:
        """No more requests."""
        self.read_clock()
        self._driver.stop()

    @property
    def units(self) -> int:
        """The units that the agent holds."""
        return self._driver.agents[self._node].units

    @property
    def tokens(self) -> int:
        """The tokens that the agent holds."""
        return self._driver.agents[self._node].tokens

    @property
    def awaits(self) -> list[int]:
        """The nodes that the agent waits for."""
        return sorted(self._driver.agents[self._node].awaits())

    @property
    def spares(self) -> int:
        """How many of them it can do without."""
        return self._driver.agents[self._node].spares

    @property
    def dropped(self) -> dict[str, int]:
        """Datagrams that were dropped, by the reason."""
        return dict(self._stack.layer.dropped)

    def _transmit(self, node: int, transmit: Transmit) -> None:
        self.frames[transmit.kind] += 1
        self.bytes[transmit.kind] += len(transmit.data)
        self._log.flush()  # before the datagram leaves: what others have heard of must be in the log even after a kill
        self._put(transmit)
