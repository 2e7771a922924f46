"""What link layers say to each other. Declared like the messages of agents, so the same codec spells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeVar

from agents.message import Message


class Stage(IntEnum):
    """Where an end of a link stands in its session."""

    OPENING = 0  # the end that opens sessions has asked for one, and does not know yet whether the other has it
    UP = 1
    CLOSING = 2  # it sends nothing new; what was sent is still to arrive
    DONE = 3  # it delivers nothing more: what it has delivered is final


OPENING, UP, CLOSING, DONE = Stage


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """I am here, and these I have heard lately, by node and incarnation. Broadcast now and then.

    With very many neighbours it comes in parts, all of one number.
    """

    number: int
    heard: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class State(Message):
    """How the sender's end of a link stands. It opens sessions, acknowledges, closes and settles; hearing it twice,
    late or out of order does no harm, as nothing in it ever goes back within a session.
    """

    to: int
    incarnation: int  # of the receiver, as far as the sender knows
    session: int
    stage: int
    delivered: int  # how many messages of this session it has delivered, so that it acknowledges them
    before: int  # how many of the session before, which is over: that is final
    cut: int | None  # how many it sends in this session at most, once it closes
    ask: bool  # whether it waits for the receiver's state


@dataclass(frozen=True, slots=True)
class Data(Message):
    """The `number`th message of a session; the message follows."""

    to: int
    incarnation: int
    session: int
    number: int


@dataclass(frozen=True, slots=True)
class Relay(Message):
    """A datagram of `origin` for `target`, carried by others for at most `hops` more hops; the datagram follows."""

    origin: int
    incarnation: int  # of the origin
    target: int
    number: int  # tells the origin's relays apart
    hops: int


@dataclass(frozen=True, slots=True)
class Advert(Message):
    """A router's hello: whom it has heard lately, and how far it is to whom, its own entry first; or a part of it."""

    heard: tuple[tuple[int, int], ...]
    vector: tuple[tuple[int, int, int, int], ...]  # node, its incarnation, sequence, hops


@dataclass(frozen=True, slots=True)
class Packet(Message):
    """The `number`th message from a life of one node to a life of another; the message follows."""

    source: int
    incarnation: int
    target: int
    life: int  # the target's incarnation
    number: int
    since: int  # the number of the last message that was for the life before
    hops: int  # that it may still go


@dataclass(frozen=True, slots=True)
class Receipt(Message):
    """Of the packets from `target`, the first so many have been delivered at `source`."""

    source: int
    incarnation: int
    target: int
    life: int  # the target's incarnation
    delivered: int
    hops: int


@dataclass(frozen=True, slots=True)
class Who(Message):
    """In which life are you, `target`? It is answered with a receipt."""

    target: int


class Brought(NamedTuple):
    """A message that has come: whose it is, and how many must come before it."""

    source: int
    missing: int


T = TypeVar("T")


def parts(whole: Sequence[T], most: int) -> list[tuple[T, ...]]:
    """A list in parts that fit into a datagram; of nothing, one part that is empty."""
    return [tuple(whole[start : start + most]) for start in range(0, len(whole), most)] or [()]


FRAMES: tuple[type[Message], ...] = (Hello, State, Data, Relay, Advert, Packet, Receipt, Who)
