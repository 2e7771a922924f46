"""What the station of a node runs: application, driver, agent, and router or link layer, in real time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.contract import Needs
from testbed.backends.repetition import Repetition
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.radio_node import RadioNode
from testbed.backends.stations.station_log import StationLog
from testbed.durations import to_ticks
from testbed.link.actions import Transmit
from testbed.runtime.breach import awaited, held
from testbed.runtime.channel import Post
from testbed.runtime.driver import Driver
from testbed.runtime.group_driver import GroupDriver
from testbed.runtime.registered_groups import RegisteredGroups
from testbed.runtime.stack import GroupStack, LinkStack, RouterStack, Stack


class Node(RadioNode):
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
        super().__init__(repetition, node, incarnation, clock, log, put)
        self._since = 0 if incarnation == 1 else self.now  # requests scripted for an earlier incarnation are not made
        self._groups: RegisteredGroups | None = None
        self._driver = self._make_driver()
        self._stack = self._make_stack()
        self._follow_absence()
        self.begin()
        scenario = repetition.scenario
        if scenario.duration is not None:
            self.at(max(self.now, to_ticks(scenario.duration)), self._driver.stop)

    def on_warm(self) -> None:
        """The load starts; frames that were sent to find links do not count."""
        super().on_warm()
        self._driver.begin(self._since)

    def _make_driver(self) -> Driver:
        repetition, node = self._repetition, self._node
        is_first = self._incarnation == 1
        agent = repetition.agent(node) if is_first else repetition.initial_state.restarted(node)
        application = repetition.application(node, self._incarnation)
        kind = GroupDriver if agent.needs is Needs.GROUPS else Driver
        driver = kind({node: agent}, {node: application}, self, self._log, nodes=repetition.scenario.nodes)
        if not is_first:
            driver.came_back(node)
        return driver

    def _make_stack(self) -> Stack:
        scenario = self._repetition.scenario
        agent, costs = scenario.algorithm.agent, scenario.delays.costs()
        if agent.needs is Needs.LINKS:
            return LinkStack(self._link_layer(), self._driver, self, self._transmit, costs)
        kind = GroupStack if isinstance(self._driver, GroupDriver) else RouterStack
        stack = kind(self._end_to_end(), self._driver, self, self._transmit, costs, scenario.nodes)
        if isinstance(stack, GroupStack) and isinstance(self._driver, GroupDriver):
            self._join_groups(stack, self._driver)
        return stack

    def _join_groups(self, stack: GroupStack, driver: GroupDriver) -> None:
        """Follow the node's own path past the places."""
        make = self._repetition.registered_groups
        groups = make(self._node, self._incarnation, driver, self, stack.send_to_place)
        self._groups = stack.groups = driver.groups = groups
        self._repetition.travel(self, groups, self._node).begin()

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

    def stop(self) -> None:
        """No more requests."""
        self.read_clock()
        self._driver.stop()

    def vanish(self) -> None:
        """Leave its neighbourhood at once."""
        self.read_clock()
        if self._groups is not None:
            self._groups.vanish(self._node)

    def holdings(self) -> dict[str, Any]:
        """What the agent holds, and which nodes it waits for."""
        agent, nodes = self._driver.agents[self._node], range(self._repetition.scenario.nodes)
        units, tokens = held(agent, self._node, t=self.now)
        peers, spares = awaited(agent, self._node, nodes, t=self.now)
        return {"units": units, "tokens": tokens, "awaits": peers, "spares": spares}
