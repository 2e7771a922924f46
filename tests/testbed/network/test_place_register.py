"""The register of a place: visits are numbered, and the token lies there only while no node does."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from agents.groups import Member
from agents.message import Message
from testbed.network.place_register import PlaceRegister


@dataclass(frozen=True, slots=True)
class Token(Message):
    """What may lie at a place."""

    number: int


TOKEN = Token(1)


def test_the_first_node_takes_the_token_up() -> None:
    """And no other node does."""
    place = PlaceRegister(2, deposit=TOKEN)
    assert place.arrive(4) == (0, (), TOKEN)
    assert place.arrive(2) == (1, (Member(4, 0),), None)
    assert place.deposit is None


def test_members_come_in_the_order_of_their_numbers() -> None:
    """Not in that of their arrivals; the node that arrives is not among the others."""
    place = PlaceRegister(2)
    for node in (4, 2, 3):
        place.arrive(node)
    assert place.members() == (Member(2, 1), Member(3, 2), Member(4, 0))
    assert place.arrive(1)[1] == (Member(2, 1), Member(3, 2), Member(4, 0))


def test_every_visit_has_a_greater_number() -> None:
    """Those at the start, those that are over, and those of the same node."""
    place = PlaceRegister(2, (Member(5, 0), Member(7, 1)))
    assert place.arrive(3)[0] == 2
    place.leave(3, 2)
    assert place.arrive(3)[0] == 3
    place.leave(3, 3)
    place.leave(5, 0)
    place.leave(7, 1)
    assert place.arrive(5)[0] == 4


def test_a_node_that_leaves_is_no_member() -> None:
    """Only the visit that is over ends: what is said of an earlier one changes nothing."""
    place = PlaceRegister(2, (Member(5, 0), Member(7, 1)))
    place.leave(5, 0)
    assert place.members() == (Member(7, 1),)
    visit, _, _ = place.arrive(5)
    place.leave(5, 0)
    assert place.members() == (Member(5, visit), Member(7, 1))
    place.leave(3, 9)
    assert place.members() == (Member(5, visit), Member(7, 1))


def test_a_node_that_arrives_twice() -> None:
    """Its earlier visit ended without notice: it is one member, and not one of the others."""
    place = PlaceRegister(2, (Member(5, 0), Member(7, 1)))
    assert place.arrive(5) == (2, (Member(7, 1),), None)
    assert place.members() == (Member(5, 2), Member(7, 1))


def test_the_last_member_puts_the_token_down() -> None:
    """It leaves with that, and the next node that arrives takes it up, whether it is the same or another."""
    place = PlaceRegister(2, (Member(5, 0),))
    assert place.put_down(5, 0, TOKEN)
    assert place.members() == ()
    assert place.deposit == TOKEN
    assert place.arrive(5) == (1, (), TOKEN)
    assert place.put_down(5, 1, Token(2))
    assert place.arrive(6) == (2, (), Token(2))


@pytest.mark.parametrize(
    ("members", "node", "visit"),
    [
        pytest.param((Member(5, 0), Member(7, 1)), 5, 0, id="another is there"),
        pytest.param((Member(7, 1),), 5, 0, id="only another is there"),
        pytest.param((Member(5, 3),), 5, 0, id="in an earlier visit"),
        pytest.param((), 5, 0, id="it has left"),
    ],
)
def test_a_token_is_refused(members: tuple[Member, ...], node: int, visit: int) -> None:
    """And nothing changes."""
    place = PlaceRegister(2, members)
    assert not place.put_down(node, visit, TOKEN)
    assert (place.members(), place.deposit) == (members, None)
