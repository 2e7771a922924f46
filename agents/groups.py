"""The contract of algorithms that run in neighbourhoods (k-local mutual exclusion), which nodes join and leave.

A neighbourhood, or group, is a place with `capacity` units of its own. Its place numbers the arrivals: a visit is one
stay of one node, and its number is greater than that of every earlier visit to the same group. A message names the
group and the visits of sender and receiver, and only that visit of the receiver gets it: what arrives after the
receiver has left is lost.

On arrival the driver calls `on_join`; if the application still wants its critical section, `on_request` comes before
it. Before a departure it calls `on_leaving`, and the node stays until the agent is ready (`ready_to_leave`) or its
notice is over; then it calls `on_left`. The last node to leave puts the token down at the place (`deposit`), which
gives it to the next node that arrives. If another node has arrived meanwhile, the deposit comes back by `on_return`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agents.contract import Agent, Graph, MultipleEntries, Needs
from agents.message import ADDED, Message
from agents.outputs import BROADCAST, DEPOSIT, EVICT, READY_TO_LEAVE, REGENERATE

TO_MEMBERS = -1
"""Instead of the receiver's visit, in a message to all members: the driver fills in the visit of each."""


@dataclass(frozen=True, slots=True)
class GroupMessage(Message):
    """Base of the messages that are sent in a group. The fields say which visits it is from and for."""

    group: int = field(metadata=ADDED)
    visit: int = field(metadata=ADDED)
    to_visit: int = field(metadata=ADDED)


@dataclass(frozen=True, slots=True)
class Member:
    """A node in one of its visits."""

    node: int
    visit: int


@dataclass(frozen=True, slots=True)
class Group:
    """A neighbourhood at the start of a run: its number, its units, and who is there, in the order of visits."""

    number: int
    capacity: int
    members: tuple[Member, ...] = ()


class GroupAgent(Agent):
    """Base of the algorithms that run in groups."""

    needs = Needs.GROUPS
    assumes_connected: ClassVar[bool] = False

    def __init__(self, node: int) -> None:
        super().__init__(node)
        self.group: int | None = None
        """The group that the node is in; None between two groups."""
        self.visit = 0
        """The number of its stay there."""

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Any]:
        """What every node starts with if all are in one group."""
        members = tuple(Member(node, node) for node in range(len(graph)))
        return cls.initial_in([Group(0, cls.capacity(parameters), members)], len(graph), parameters)

    @classmethod
    def initial_in(cls, groups: Sequence[Group], nodes: int, parameters: Any) -> list[Any]:
        """What every node starts with, given who is in which group. A node in no group starts outside."""
        raise NotImplementedError

    @classmethod
    def first_deposit(cls, group: Group, parameters: Any) -> Message:
        """The token that lies at the place of a group in which no node starts."""
        raise NotImplementedError

    @classmethod
    def capacity(cls, parameters: Any) -> int:
        """How many units a group has, unless the scenario says so for each place."""
        assert isinstance(parameters, MultipleEntries)
        return parameters.k

    # -- inputs ------------------------------------------------------------------------------------------------------

    def on_join(self, group: int, visit: int, members: tuple[Member, ...], deposit: Message | None) -> None:
        """The node is in a group: its visit, the others that are there, and what lay at the place, if anything."""
        raise NotImplementedError

    def on_leaving(self, group: int) -> None:
        """The node is about to leave its group."""
        raise NotImplementedError

    def on_left(self, group: int) -> None:
        """The node has left its group, ready or not; what the agent still held is lost."""
        raise NotImplementedError

    # -- outputs -----------------------------------------------------------------------------------------------------

    def broadcast(self, message: GroupMessage) -> None:
        """Send a message to all other members of its group."""
        self.outbox.append((BROADCAST, message.group, message))

    def evict(self) -> None:
        """Take the application out of its critical section: the node is leaving. It asks again on arrival."""
        self.outbox.append((EVICT, None, None))

    def ready_to_leave(self, group: int) -> None:
        """The node need not stay any longer."""
        self.outbox.append((READY_TO_LEAVE, group, None))

    def deposit(self, group: int, message: Message) -> None:
        """Put a token down at the place of the group, as its last member, and leave."""
        self.outbox.append((DEPOSIT, group, message))

    def regenerate(self, units: int, tokens: int = 1) -> None:
        """Make a token anew that is known to be lost."""
        self.outbox.append((REGENERATE, units, tokens))
