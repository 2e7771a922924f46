"""Neighbourhoods in the papers' model: every node knows at once who is in its own, and places are always in reach."""

from __future__ import annotations

from collections.abc import Callable

from agents.groups import Member
from agents.message import Message
from testbed.event_queue import EventQueue
from testbed.network.place_register import PlaceRegister
from testbed.runtime.group_driver import GroupDriver


class IdealGroups:
    """Who is where. Serves the driver, and what makes nodes travel."""

    def __init__(self, queue: EventQueue, driver: GroupDriver, places: list[PlaceRegister]) -> None:
        self._queue = queue
        self._driver = driver
        self._places = places
        self._of: dict[int, tuple[int, int]] = {}  # node -> its group and visit
        for group, place in enumerate(places):
            self._of.update({node: (group, visit) for node, visit in place.visits.items()})
        self._deadlines: dict[int, int] = {}  # nodes that are leaving, and until when they may stay
        self.on_left: Callable[[int], None] = lambda node: None

    def group_of(self, node: int) -> int | None:
        """The neighbourhood that a node is in."""
        return self._of[node][0] if node in self._of else None

    # -- for the driver ----------------------------------------------------------------------------------------------

    def members(self, node: int, group: int) -> tuple[Member, ...]:
        """The other members of a node's group."""
        return tuple(one for one in self._places[group].members() if one.node != node)

    def ready_to_leave(self, node: int, group: int) -> None:
        """The agent does not need to stay."""
        self._leave(node, self._of[node], ready=True)

    def deposit(self, node: int, group: int, message: Message) -> None:
        """The agent puts a token down at the place, and leaves; if others are there, it comes back."""
        where = self._of[node]
        if self._places[group].put_down(node, where[1], message):
            self._leave(node, where, ready=True)
        else:
            self._driver.refuse_deposit(node, message)

    # -- for what makes nodes travel ---------------------------------------------------------------------------------

    def arrive(self, node: int, group: int) -> None:
        """A node comes into a neighbourhood, unless it has crashed."""
        if node not in self._driver.agents:
            return
        self.vanish(node)  # two places touch, and this instant is its last in the other one
        visit, members, deposit = self._places[group].arrive(node)
        self._of[node] = (group, visit)
        self._driver.join(node, group, visit, members, deposit)

    def announce(self, node: int, deadline: int) -> None:
        """A node learns that it leaves: when it is ready, or else at that time."""
        if node in self._of and node not in self._deadlines:
            self._deadlines[node] = deadline
            self._queue.at(deadline, self._leave, node, self._of[node], False)
            self._driver.leaving(node)

    def vanish(self, node: int) -> None:
        """A node leaves at once, without notice."""
        if node in self._of:
            self._leave(node, self._of[node], ready=False)

    def crash(self, node: int) -> None:
        """A node has crashed: it is nowhere."""
        self._remove(node)

    def _leave(self, node: int, where: tuple[int, int], ready: bool) -> None:
        if self._of.get(node) == where:
            self._remove(node)
            self._driver.left(node, ready=ready)
            self.on_left(node)

    def _remove(self, node: int) -> None:
        group, visit = self._of.pop(node, (0, -1))
        self._places[group].leave(node, visit)
        self._deadlines.pop(node, None)
