"""An agent in a cluster: it knows the nodes of its cluster by their numbers inside it, and no other nodes.

Driver, log and network know every node by its number in the scenario. Numbers are translated here, between the two, so
that an algorithm runs in clusters without knowing it. What is inside a message is left as its sender wrote it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Self

from agents.contract import Agent, Demand
from agents.message import Message
from agents.outputs import SEND
from agents.snapshot import frozen


class ClusterMember(Agent):
    """Passes inputs to an agent and its outputs to the driver, with the numbers of nodes translated."""

    def __init__(self, agent: Agent, members: tuple[int, ...]) -> None:
        """`members`: the nodes of the cluster, ascending."""
        super().__init__(members[agent.node])
        self.agent = agent
        self.members = members
        self.numbers = {node: number for number, node in enumerate(members)}  # of nodes inside the cluster
        self.spares = agent.spares

    def on_request(self, demand: Demand) -> None:
        self.agent.on_request(demand)
        self._pass_on()

    def on_release(self) -> None:
        self.agent.on_release()
        self._pass_on()

    def on_receive(self, peer: int, message: Message) -> None:
        if peer not in self.numbers:
            raise self.refuse(peer, message)
        self.agent.on_receive(self.numbers[peer], message)
        self._pass_on()

    def on_link_up(self, peer: int) -> None:
        self._if_known(peer, self.agent.on_link_up)

    def on_link_down(self, peer: int) -> None:
        self._if_known(peer, self.agent.on_link_down)

    def on_return(self, peer: int, message: Message) -> None:
        self.agent.on_return(self.numbers[peer], message)
        self._pass_on()

    def on_timer(self, name: str) -> None:
        self.agent.on_timer(name)
        self._pass_on()

    @property
    def units(self) -> int:
        return self.agent.units

    @property
    def tokens(self) -> int:
        return self.agent.tokens

    def awaits(self) -> frozenset[int]:
        return frozenset(self.members[number] for number in self.agent.awaits())

    def state(self) -> tuple[Any, ...]:
        return (self.members, frozen(self.outbox), self.agent.state())

    def clone(self) -> Self:
        twin = type(self)(self.agent.clone(), self.members)
        twin.outbox = list(self.outbox)
        return twin

    def _if_known(self, peer: int, event: Callable[[int], None]) -> None:
        """A link to another cluster does not concern the agent."""
        if peer in self.numbers:
            event(self.numbers[peer])
            self._pass_on()

    def _pass_on(self) -> None:
        """Move the agent's outputs to the outbox that the driver reads."""
        for op, a, b in self.agent.outbox:
            self.outbox.append((op, tuple(map(self._node, a)) if op is SEND else a, b))
        self.agent.outbox.clear()

    def _node(self, number: int) -> int:
        """The node that has a number inside the cluster."""
        if not 0 <= number < len(self.members):  # a negative number would be an index from the end
            raise LookupError(f"a message to node {number} of a cluster of {len(self.members)}")
        return self.members[number]


@cache
def member_class(algorithm: type[Agent]) -> type[ClusterMember]:
    """A class of members that declares what the algorithm declares: drivers ask the class."""
    names = (
        "needs",
        "shares",
        "assumes_connected",
        "survives",
        "never_rests",
        "is_reconstruction",
        "messages",
        "parameters",
        "summary",
    )
    declared = {name: getattr(algorithm, name) for name in names}
    return type(f"{algorithm.__name__}InCluster", (ClusterMember,), declared)
