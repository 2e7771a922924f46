"""A node's membership over radio, message by message: what it hears, what it says, and what its driver is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.codec import Codec
from agents.groups import Group, Member
from agents.klme import KLME
from agents.klme_leader import KLMEParameters
from agents.klme_messages import IAmHere
from agents.message import Message
from testbed.event_queue import EventQueue
from testbed.link.frames import Beacon
from testbed.runtime.place_messages import Leave, PutDown, PutDownAnswer, Register, Registered
from testbed.runtime.registered_groups import RegisteredGroups

NODES, NOTICE = 5, 100
PLACE = NODES + 1  # the station of group 1
TOKEN = KLME.first_deposit(Group(1, 2), KLMEParameters())
CODEC = Codec(KLME.messages)
BYTES = tuple(CODEC.encode(TOKEN))


@dataclass
class Told:
    """A driver that keeps what it is told."""

    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def join(self, *arguments: Any) -> None:
        self.calls.append(("join", *arguments))

    def leaving(self, node: int) -> None:
        self.calls.append(("leaving", node))

    def left(self, node: int, *, ready: bool) -> None:
        self.calls.append(("left", node, ready))

    def refuse_deposit(self, node: int, message: Message) -> None:
        self.calls.append(("refused", node, message))


class Station:
    """Node 3 in its second incarnation."""

    def __init__(self) -> None:
        self.queue, self.driver, self.sent = EventQueue(), Told(), []
        self.groups = RegisteredGroups(
            3, 2, self.driver, self.queue, lambda to, what: self.sent.append((to, what)), CODEC, NODES, NOTICE
        )

    def take(self) -> list[tuple[int, Message]]:
        sent, self.sent = self.sent, []
        return sent

    def join(self, *members: tuple[int, int], token: Any = None) -> None:
        """Come within range of place 1, and be its member for the eighth visit."""
        self.groups.arrive(3, 1)
        self.groups.on_beacon(PLACE, Beacon(1, members))
        ((_, register),) = self.take()
        assert isinstance(register, Register)
        self.groups.on_answer(PLACE, Registered(register.attempt, 8, members, token))
        self.driver.calls.clear()

    def pass_time(self, until: int) -> None:
        """Let what is planned up to a time happen."""
        while self.queue.heap and self.queue.heap[0][0] <= until:
            self.queue.now, _, happen, args = self.queue.heap.pop(0)
            happen(*args)


@pytest.fixture
def station() -> Station:
    return Station()


def test_it_registers_when_it_is_in_range_and_hears_the_beacon(station: Station) -> None:
    station.groups.on_beacon(PLACE, Beacon(1, ()))
    assert station.take() == []  # it hears the place, and is not within its range
    station.groups.arrive(3, 1)
    station.groups.on_beacon(PLACE - 1, Beacon(0, ()))
    assert station.take() == []  # another place
    station.groups.on_beacon(PLACE, Beacon(1, ()))
    ((to, register),) = station.take()
    assert to == PLACE
    station.groups.on_beacon(PLACE, Beacon(1, ()))
    assert station.take() == []  # once is enough
    assert isinstance(register, Register)
    station.groups.on_answer(PLACE, Registered(register.attempt, 8, ((0, 5),), BYTES))
    assert station.driver.calls == [("join", 3, 1, 8, (Member(0, 5),), TOKEN)]


def test_it_learns_members_from_beacons_and_from_messages(station: Station) -> None:
    station.join((0, 5))
    assert station.groups.members(3, 1) == (Member(0, 5),)
    station.groups.note_sender(4, IAmHere(1, 9, 8, 0))
    assert station.groups.members(3, 1) == (Member(0, 5), Member(4, 9))
    station.groups.on_beacon(PLACE, Beacon(1, ((0, 5), (2, 3))))
    assert station.groups.members(3, 1) == (Member(0, 5), Member(4, 9)), "older than its own registration"
    station.groups.on_beacon(PLACE, Beacon(1, ((2, 10), (3, 8))))
    assert station.groups.members(3, 1) == (Member(2, 10),)


def test_it_leaves_when_ready(station: Station) -> None:
    station.join()
    station.groups.announce(3, NOTICE)
    assert station.driver.calls == [("leaving", 3)]
    station.groups.ready_to_leave(3, 1)
    assert station.driver.calls[1:] == [("left", 3, True)]
    assert station.take() == [(PLACE, Leave(8))]
    station.pass_time(NOTICE)
    assert len(station.driver.calls) == 2


def test_it_leaves_when_its_notice_is_over(station: Station) -> None:
    station.join()
    station.groups.announce(3, NOTICE)
    station.pass_time(NOTICE - 1)
    assert station.driver.calls == [("leaving", 3)]
    station.pass_time(NOTICE)
    assert station.driver.calls[1:] == [("left", 3, False)]
    assert station.take() == [(PLACE, Leave(8))]


def test_a_deposit_ends_the_visit_or_comes_back(station: Station) -> None:
    for is_taken, told in ((False, ("refused", 3, TOKEN)), (True, ("left", 3, True))):
        station = Station()
        station.join()
        station.groups.deposit(3, 1, TOKEN)
        assert station.take() == [(PLACE, PutDown(8, BYTES))]
        station.groups.on_answer(PLACE, PutDownAnswer(8, is_taken))
        assert station.driver.calls == [told]


def test_an_answer_that_comes_too_late_is_followed_by_a_departure(station: Station) -> None:
    """The node is out of range already, but the place lists it: it may even have the token."""
    station.groups.arrive(3, 1)
    station.groups.on_beacon(PLACE, Beacon(1, ()))
    ((_, register),) = station.take()
    assert isinstance(register, Register)
    station.groups.announce(3, NOTICE)
    station.groups.on_answer(PLACE, Registered(register.attempt, 8, (), BYTES))
    assert [one[0] for one in station.driver.calls] == ["join", "leaving"]


def test_answers_to_an_earlier_incarnation_are_not_for_it(station: Station) -> None:
    station.groups.on_answer(PLACE, Registered(1, 4, (), None))
    assert station.driver.calls == []
    assert station.take() == [(PLACE, Leave(4))]


def test_a_place_that_still_lists_it_is_told(station: Station) -> None:
    station.join()
    station.groups.vanish(3)
    assert station.driver.calls == [("left", 3, False)]
    assert station.take() == []  # without notice, not even to the place
    station.groups.on_beacon(PLACE, Beacon(1, ((3, 8),)))
    assert station.take() == [(PLACE, Leave(8))]
