"""The frames that link layers exchange. Declared like the messages of agents, so the same codec encodes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, TypeVar

from agents.message import Message


class Stage(IntEnum):
    """The stage of an end of a link in its session."""

    OPENING = 0  # the end that opens sessions has asked for one, and does not know yet whether the other end has joined
    UP = 1
    CLOSING = 2  # it sends nothing new; what was sent may still be delivered
    DONE = 3  # it delivers nothing more: its count of delivered messages is final


OPENING, UP, CLOSING, DONE = Stage


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """The sender is present, and has lately heard these nodes, by node and incarnation. Broadcast now and then.

    With very many neighbours a hello is split over several frames of the same number.
    """

    number: int
    heard: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class State(Message):
    """The state of the sender's end of a link. It opens sessions, acknowledges, closes and settles doubts; receiving it
    twice, late or out of order does no harm, as no value in it ever decreases within a session.
    """

    to: int
    incarnation: int  # of the receiver, as far as the sender knows
    session: int
    stage: int
    delivered: int  # how many messages of this session it has delivered, which acknowledges them
    before: int  # how many of the session before, which is over, so this is final
    cut: int | None  # once it closes: how many messages it sends in this session
    ask: bool  # whether it wants the receiver's state as an answer


@dataclass(frozen=True, slots=True)
class Data(Message):
    """The `number`th message of a session; the message follows."""

    to: int
    incarnation: int
    session: int
    number: int


@dataclass(frozen=True, slots=True)
class Relay(Message):
    """A datagram of `origin` for `target`, relayed for at most `hops` more hops; the datagram follows."""

    origin: int
    incarnation: int  # of the origin
    target: int
    number: int  # distinguishes the relays of one origin
    hops: int


@dataclass(frozen=True, slots=True)
class Advert(Message):
    """A router's hello, or a part of it: the nodes it has lately heard, and its distances, its own entry first."""

    heard: tuple[tuple[int, int], ...]
    vector: tuple[tuple[int, int, int, int], ...]  # node, its incarnation, sequence, hops


@dataclass(frozen=True, slots=True)
class Packet(Message):
    """The `number`th message from an incarnation of one node to an incarnation of another; the message follows."""

    source: int
    incarnation: int  # of the source
    target: int
    target_incarnation: int
    number: int
    since: int  # the number of the last message that was for the target's incarnation before
    hops: int  # how many it may still travel


@dataclass(frozen=True, slots=True)
class Receipt(Message):
    """The first `delivered` packets from `target` have been delivered at `source`."""

    source: int
    incarnation: int  # of the source
    target: int
    target_incarnation: int
    delivered: int
    hops: int


@dataclass(frozen=True, slots=True)
class Who(Message):
    """Asks `target` for its incarnation. The answer is a receipt."""

    target: int


@dataclass(frozen=True, slots=True)
class Beacon(Message):
    """The sender is the station of a neighbourhood's place; these are its members, by node and visit. Broadcast."""

    group: int
    members: tuple[tuple[int, int], ...]


class Arrival(NamedTuple):
    """A message in a received datagram: its source, and how many messages must be delivered before it."""

    source: int
    missing: int


T = TypeVar("T")


def chunks(whole: Sequence[T], most: int) -> list[tuple[T, ...]]:
    """A list in chunks of at most so many items, to fit into a datagram; an empty list gives one empty chunk."""
    return [tuple(whole[start : start + most]) for start in range(0, len(whole), most)] or [()]


FRAMES: tuple[type[Message], ...] = (Hello, State, Data, Relay, Advert, Packet, Receipt, Who, Beacon)
