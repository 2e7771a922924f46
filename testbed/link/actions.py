"""The actions that a link layer asks its driver to carry out, in the order of the requests."""

from __future__ import annotations

from typing import NamedTuple

from agents.message import Message
from testbed.link.frames import Beacon


class Transmit(NamedTuple):
    """Transmit a datagram to one node or, with None, to every node in reach."""

    to: int | None
    data: bytes
    kind: str
    """The type of the frame it carries, for counting."""


class Up(NamedTuple):
    """A session with a peer has begun: its link is up."""

    peer: int
    session: int


class Down(NamedTuple):
    """The session is over: the link is down."""

    peer: int
    session: int


class Deliver(NamedTuple):
    """Deliver the `number`th message of the peer in the session."""

    peer: int
    session: int
    number: int
    message: Message


class Return(NamedTuple):
    """Return the `number`th message to the peer: it was not delivered and never will be."""

    peer: int
    session: int
    number: int
    message: Message


class Lost(NamedTuple):
    """The peer has crashed, so it is unknown for good whether the `number`th message to it was delivered."""

    peer: int
    session: int
    number: int
    message: Message


class Heard(NamedTuple):
    """A beacon of a place was received."""

    peer: int
    beacon: Beacon


Action = Transmit | Up | Down | Deliver | Return | Lost | Heard
