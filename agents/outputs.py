"""What an agent may ask of its driver: as named classes for reading, and packed as tuples for speed.

A run makes millions of outputs, and a tuple costs a third of an object, so an agent's outbox holds tuples (op, a, b).
Agents fill it by `Agent.send`, `Agent.enter` and so on; tests and tools read it by `Agent.take_outputs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from agents.message import Message


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to a node."""

    peer: int
    message: Message


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Send a message to the members of a group at send time, reliably and in order with unicasts."""

    group: int
    message: Message


@dataclass(frozen=True, slots=True)
class Enter:
    """The application may enter its critical section."""


@dataclass(frozen=True, slots=True)
class Evict:
    """The application leaves its critical section because its node is leaving; it asks again where the node arrives."""


@dataclass(frozen=True, slots=True)
class ReadyToLeave:
    """The node has handed over what it had to, and may leave its neighbourhood before its notice is over."""

    group: int


@dataclass(frozen=True, slots=True)
class Deposit:
    """Put a token down at the place of a neighbourhood, and leave: possible for its last member only."""

    group: int
    message: Message


@dataclass(frozen=True, slots=True)
class Regenerate:
    """The node makes a token anew that it knows to be lost."""

    units: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `on_timer(name)` after a delay in ticks."""

    name: str
    delay: int


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Stop a timer."""

    name: str


Output = Send | Broadcast | Enter | Evict | SetTimer | CancelTimer | ReadyToLeave | Deposit | Regenerate
"""What an agent may ask of its driver."""


class Op(IntEnum):
    """The first item of a packed output."""

    SEND = 0  # a: tuple of peers, b: message to each of them, in that order
    BROADCAST = 1  # a: group, b: message
    ENTER = 2
    EVICT = 3
    SET_TIMER = 4  # a: name, b: delay in ticks
    CANCEL_TIMER = 5  # a: name
    READY_TO_LEAVE = 6  # a: group
    DEPOSIT = 7  # a: group, b: message
    REGENERATE = 8  # a: units, b: tokens


PackedOutput = tuple[Op, Any, Any]
SEND, BROADCAST, ENTER, EVICT, SET_TIMER, CANCEL_TIMER, READY_TO_LEAVE, DEPOSIT, REGENERATE = Op


def unpacked(output: PackedOutput) -> list[Output]:
    """A packed output as named ones: a message to several peers is one for each."""
    op, a, b = output
    if op is SEND:
        return [Send(peer, b) for peer in a]
    if op is BROADCAST:
        return [Broadcast(a, b)]
    if op is SET_TIMER:
        return [SetTimer(a, b)]
    if op is CANCEL_TIMER:
        return [CancelTimer(a)]
    if op is READY_TO_LEAVE:
        return [ReadyToLeave(a)]
    if op is DEPOSIT:
        return [Deposit(a, b)]
    if op is REGENERATE:
        return [Regenerate(a, b)]
    return [Enter() if op is ENTER else Evict()]
