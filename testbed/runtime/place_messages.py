"""What nodes and the stations of places say to each other over radio. Agents and logs see nothing of it.

A token that lies at a place is carried as the bytes that the algorithm's codec makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.message import Message

Bytes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Register(Message):
    """A node has come within range, and asks to be a member. `attempt` tells its registrations apart."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Registered(Message):
    """The node is a member: its visit, the other members as (node, visit), and the token if it lay at the place."""

    attempt: int
    visit: int
    members: tuple[tuple[int, int], ...]
    token: Bytes | None


@dataclass(frozen=True, slots=True)
class Leave(Message):
    """The visit is over."""

    visit: int


@dataclass(frozen=True, slots=True)
class PutDown(Message):
    """The node wants to leave, and to leave the token at the place."""

    visit: int
    token: Bytes


@dataclass(frozen=True, slots=True)
class PutDownAnswer(Message):
    """Whether the place has taken the token; if so, the visit is over."""

    visit: int
    is_taken: bool


PLACE_MESSAGES: tuple[type[Message], ...] = (Register, Registered, Leave, PutDown, PutDownAnswer)
