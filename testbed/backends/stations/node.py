"""What a station runs: workload, driver, agent, and router or link layer, in real time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from agents.contract import Needs
from testbed.runtime.initial_state import Beginning
from testbed.runtime.channel import Post
from testbed.runtime.driver import Driver
from testbed.durations import to_ticks
from testbed.link.actions import Transmit
from testbed.link.endtoend import Direct
from testbed.link.layer import LinkLayer
from testbed.link.router import Router
from testbed.link.wire import Wire
from testbed.scenario.links import RadioChoice
from testbed.runtime.stack import Costs, LinkStack, RouterStack, Stack
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.station_log import StationLog
from testbed.backends.stations.real_time import RealTime
from testbed.randomness import Streams
from testbed.runtime.application import Application


class Node(RealTime):
    """One life of one node: the world that its driver sees, as `Simulation` is for all nodes at once."""

    def __init__(
        self,
        beginning: Beginning,
        node: int,
        life: int,
        clock: RunClock,
        log: StationLog,
        put: Callable[[Transmit], None],
    ) -> None:
        super().__init__(asyncio.get_running_loop(), clock)
        self._beginning = beginning
        self._node = node
        self._life = life
        self._log = log
        self._put = put
        self.frames: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        """Of the datagrams sent, by the frame they carry."""
        self.is_idle = False
        """Whether no request is open, and none will be made."""
        self._driver = self._make_driver()
        self._stack = self._make_stack()
        self._follow_absence()
        scenario = beginning.scenario
        self.at(max(self.now, to_ticks(scenario.warmup)), self._begin)
        if scenario.duration is not None:
            self.at(max(self.now, to_ticks(scenario.duration)), self._driver.stop)
        self.at(self.now, self._stack.begin)

    def _begin(self) -> None:
        """The load starts; what was sent to find links does not count."""
        self.frames.clear()
        self.bytes.clear()
        self._driver.begin()

    def _make_driver(self) -> Driver:
        beginning, node = self._beginning, self._node
        agent = beginning.agent(node) if self._life == 1 else beginning.reborn(node)
        streams = Streams(beginning.streams.seed, beginning.streams.repetition, self._life)
        application = Application(node, beginning.scenario.workload, streams)
        return Driver({node: agent}, {node: application}, self, self._log)

    def _make_stack(self) -> Stack:
        scenario, streams, life = self._beginning.scenario, self._beginning.streams, self._life
        agent, links = scenario.algorithm.agent, scenario.links
        assert isinstance(links, RadioChoice), "stations have no other links"
        wire = Wire(f"{scenario.name}/{streams.seed}/{streams.repetition}", agent.messages)
        costs = Costs.of(scenario.delays)
        settings, rng = links.settings(agent.assumes_connected), streams.of(f"link layer, life {life}", self._node)
        if agent.needs is Needs.LINKS:
            layer = LinkLayer(self._node, life, wire, settings, rng, self.now)
            return LinkStack(layer, self._driver, self, self._transmit, costs)
        kind = Router if scenario.routing == "builtin" else Direct
        ends = kind(self._node, life, wire, settings, rng, self.now)
        return RouterStack(ends, self._driver, self, self._transmit, costs, scenario.nodes)

    def _follow_absence(self) -> None:
        """A node that has not come yet, or has left, asks for nothing."""
        geometry = self._beginning.geometry
        if geometry is None:
            return
        absent, path = self._driver.absent, geometry.trajectories[self._node]
        if not path.is_there(0.0):
            absent.add(self._node)
        for seconds, happen in ((path.appears, absent.discard), (path.leaves, absent.add)):
            if 0 < seconds < geometry.seconds:
                self.at(to_ticks(seconds / self._beginning.scenario.time_unit), happen, self._node)

    # -- the driver's world ------------------------------------------------------------------------------------------

    def move(self, posts: list[Post]) -> None:
        """Give messages to the layer."""
        self._stack.move(posts)

    def halt(self) -> None:
        """Every request of this node is served; it still carries tokens and requests for others."""
        self.is_idle = True

    # -- from outside ------------------------------------------------------------------------------------------------

    def on_datagram(self, data: bytes) -> None:
        """Bytes came in."""
        self.look()
        self._stack.on_datagram(data)

    def stop(self) -> None:
        """No more requests."""
        self.look()
        self._driver.stop()

    @property
    def units(self) -> int:
        """What the agent holds."""
        return self._driver.agents[self._node].units

    @property
    def dropped(self) -> dict[str, int]:
        """Datagrams that were no use, by why."""
        return dict(self._stack.layer.dropped)

    def _transmit(self, node: int, transmit: Transmit) -> None:
        self.frames[transmit.kind] += 1
        self.bytes[transmit.kind] += len(transmit.data)
        self._log.flush()  # nobody hears of anything that a kill could take out of the log
        self._put(transmit)
