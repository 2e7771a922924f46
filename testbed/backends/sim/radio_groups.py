"""Neighbourhoods over radio links in the simulator: a station at every place, and a membership for every node."""

from __future__ import annotations

from collections.abc import Callable

from agents.groups import Member
from agents.message import Message
from testbed.backends.repetition import Repetition
from testbed.backends.sim.radio_links import RadioLinks, TrackedStack
from testbed.event_queue import EventQueue
from testbed.network.graph import Graph
from testbed.runtime.group_driver import GroupDriver
from testbed.runtime.registered_groups import RegisteredGroups
from testbed.runtime.stack import GroupStack, Stack


class TrackedGroupStack(TrackedStack, GroupStack):
    """A stack whose messages, but for those to and from places, are entered in a ledger."""


class RadioGroups:
    """The memberships of all nodes, by node."""

    def __init__(self, queue: EventQueue, driver: GroupDriver, repetition: Repetition) -> None:
        self._queue = queue
        self._driver = driver
        self.repetition = repetition
        self._of: dict[int, RegisteredGroups] = {}
        self.on_left: Callable[[int], None] = lambda node: None

    def start(self, stack: GroupStack, incarnation: int) -> None:
        """A node starts, or starts again."""
        make, node = self.repetition.registered_groups, stack.node
        groups = make(node, incarnation, self._driver, self._queue, stack.send_to_place)
        self._of[node] = stack.groups = groups

    def members(self, node: int, group: int) -> tuple[Member, ...]:
        """The other members of a node's group, as it knows them."""
        return self._of[node].members(node, group)

    def ready_to_leave(self, node: int, group: int) -> None:
        """The agent does not need to stay any longer."""
        self._of[node].ready_to_leave(node, group)

    def deposit(self, node: int, group: int, message: Message) -> None:
        """The agent puts a token down at the place."""
        self._of[node].deposit(node, group, message)

    def group_of(self, node: int) -> int | None:
        """The neighbourhood that a node is in."""
        return self._of[node].group_of(node) if node in self._of else None

    def arrive(self, node: int, group: int) -> None:
        """A node comes within range of a place, unless it has crashed."""
        if node in self._of:
            self._of[node].arrive(node, group)

    def announce(self, node: int, deadline: int) -> None:
        """A node learns that it leaves."""
        if node in self._of:
            self._of[node].announce(node, deadline)

    def vanish(self, node: int) -> None:
        """A node leaves at once, without notice."""
        if node in self._of:
            self._of[node].vanish(node)

    def crash(self, node: int) -> None:
        """A node has crashed: what was planned for its membership does not happen."""
        self._of.pop(node).end()


class GroupRadioLinks(RadioLinks):
    """The routers of all nodes, and the stations of all places."""

    def __init__(
        self, queue: EventQueue, driver: GroupDriver, graph: Graph, *settings: object, groups: RadioGroups
    ) -> None:
        self._groups = groups
        super().__init__(queue, driver, graph, *settings)  # type: ignore[arg-type]

    def _make_stack(self, node: int) -> Stack:
        queue, nodes, repetition = self._queue, len(self._driver.applications), self._groups.repetition
        router = self._router(node)
        if node >= nodes:
            return repetition.place_station(node, router, queue, self._transmit)
        stack = TrackedGroupStack(router, self._driver, queue, self._transmit, self._costs, nodes)
        self._groups.start(stack, self._incarnations[node])
        return stack
