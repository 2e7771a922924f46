"""What a link layer asks of the world around it, in the order it asks."""

from __future__ import annotations

from typing import NamedTuple

from agents.message import Message


class Transmit(NamedTuple):
    """Put a datagram on the air, for one node or, with None, for whoever hears it."""

    to: int | None
    data: bytes
    kind: str
    """The frame it carries, for counting."""


class Up(NamedTuple):
    """A session with a peer has begun: its link is up."""

    peer: int
    session: int


class Down(NamedTuple):
    """The session is over: the link is down."""

    peer: int
    session: int


class Deliver(NamedTuple):
    """The `number`th message of the peer's in the session."""

    peer: int
    session: int
    number: int
    message: Message


class Return(NamedTuple):
    """The `number`th message to the peer was not delivered and never will be."""

    peer: int
    session: int
    number: int
    message: Message


class Lost(NamedTuple):
    """Whether the `number`th message to the peer was delivered died with the process that knew."""

    peer: int
    session: int
    number: int
    message: Message


Action = Transmit | Up | Down | Deliver | Return | Lost
