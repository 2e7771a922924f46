"""The driver of algorithms that run in neighbourhoods: nodes join and leave them, and messages stay inside.

Who is in which neighbourhood is known to a `GroupService`: in the simulator's ideal model it knows all nodes at once,
over radio each station has one that learns it from the beacons of places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any, Protocol

from agents.contract import CRITICAL, REMAINDER, WAITING, Agent
from agents.groups import GroupAgent, GroupMessage, Member
from agents.message import Message, tokens_of
from agents.outputs import BROADCAST, DEPOSIT, EVICT, READY_TO_LEAVE, REGENERATE, SEND, Op, PackedOutput
from analysis.batched import BatchedListener
from testbed.runtime.application import Application
from testbed.runtime.breach import AgentError, Breach, called, held
from testbed.runtime.channel import Channel, Post
from testbed.runtime.driver import Driver, Host
from testbed.runtime.message_counts import MessageClass
from testbed.runtime.message_losses import Dropped

LEFT = "left"
"""Why a message is lost whose receiver is no longer in the visit that it was sent to."""


class GroupService(Protocol):
    """What the driver needs to know, and what it tells."""

    def members(self, node: int, group: int) -> tuple[Member, ...]:
        """The other members of a node's group, as it knows them, in ascending order."""

    def ready_to_leave(self, node: int, group: int) -> None:
        """The agent does not need to stay any longer."""

    def deposit(self, node: int, group: int, message: Message) -> None:
        """The agent puts a token down at the place; `GroupDriver.refuse_deposit` if it may not."""


class GroupDriver(Driver):
    """Steps agents in neighbourhoods. The host sets `groups` before anything happens."""

    groups: GroupService

    def __init__(
        self,
        agents: dict[int, Agent],
        applications: dict[int, Application],
        host: Host,
        listener: BatchedListener,
        *,
        nodes: int | None = None,
        entries: int | None = None,
    ) -> None:
        super().__init__(agents, applications, host, listener, nodes=nodes, entries=entries)
        for kind in type(next(iter(agents.values()))).messages:
            if not issubclass(kind, GroupMessage):
                raise AgentError(f"{kind.__name__} is no GroupMessage: messages in neighbourhoods name their visits")
        self.away = {node for node in agents if self.group_agent(node).group is None}
        self.on_moved: Callable[[], None] = lambda: None
        """Called when a node has joined or left a neighbourhood."""

    def group_agent(self, node: int) -> GroupAgent:
        """The agent of a node."""
        agent = self.agents[node]
        assert isinstance(agent, GroupAgent)
        return agent

    # -- what happens to a node --------------------------------------------------------------------------------------

    def join(self, node: int, group: int, visit: int, members: tuple[Member, ...], deposit: Message | None) -> None:
        """A node is in a neighbourhood. If its application still wants its critical section, it asks now."""
        application = self.applications[node]
        self.away.discard(node)
        if application.wants and not self.stopping:
            self._give_request(application)
        application.wants = False
        units, tokens = (0, 0) if deposit is None else (deposit.units, tokens_of(deposit))
        others = [[one.node, one.visit] for one in members]
        self._account.gain(node, units, tokens)
        self.listener.join(self.host.now, node, group, visit, others, units, tokens, _letter(deposit))
        self._step(node, "on_join", group, visit, members, deposit)
        self.on_moved()

    def leaving(self, node: int) -> None:
        """A node is about to leave its neighbourhood."""
        group = self.group_agent(node).group
        assert group is not None, "a node between two neighbourhoods cannot leave"
        self.away.add(node)
        self.listener.leaving(self.host.now, node, group)
        self._step(node, "on_leaving", group)

    def left(self, node: int, *, ready: bool) -> None:
        """A node has left its neighbourhood; what it still has of it is lost, and its request is abandoned."""
        agent, application = self.group_agent(node), self.applications[node]
        group = agent.group
        assert group is not None, "a node between two neighbourhoods cannot leave"
        self.away.add(node)
        if application.status is CRITICAL:
            self._evict(node)
        abandoned = application.status is WAITING
        if abandoned:
            self._give_up_request(application)
        taken = held(agent, node, t=self.host.now, event="on_left")
        self.listener.left(self.host.now, node, group, ready, abandoned, *taken)
        self._account.clear(node)
        self._step(node, "on_left", group)
        self.on_moved()
        self._halt_if_served()

    def refuse_deposit(self, node: int, message: Message) -> None:
        """Another node has arrived at the place: the token comes back."""
        group = self.group_agent(node).group
        assert group is not None
        units, tokens = message.units, tokens_of(message)
        self._account.gain(node, units, tokens)
        self.listener.refused(self.host.now, node, group, units, tokens, _letter(message))
        self._step(node, "on_return", node, message)

    def link_up(self, node: int, peer: int) -> None:
        """A link has formed; those of places are not of the algorithm's."""
        if node in self.agents and peer in self.applications:
            super().link_up(node, peer)

    def link_down(self, node: int, peer: int, lag: int) -> None:
        """A link has failed."""
        if node in self.agents and peer in self.applications:
            super().link_down(node, peer, lag)

    def receive(self, posts: list[Post]) -> None:
        """Messages arrive at the same time; those for a visit that is over are lost."""
        for post in posts:
            channel, message, number, _ = post
            if isinstance(message, Dropped) or self._is_for(channel.target, message):
                super().receive([post])
                continue
            channel.arrived = number
            self.lost(post, LEFT)
            if channel.on_arrival is not None:
                channel.on_arrival(channel)

    def _is_for(self, node: int, message: Any) -> bool:
        assert isinstance(message, GroupMessage), "messages in neighbourhoods name the visit that they are for"
        agent = self.group_agent(node)
        return (message.group, message.to_visit) == (agent.group, agent.visit)

    def crash(self, node: int) -> None:
        """The node stops at once and loses its state."""
        super().crash(node)
        self.away.add(node)

    def _watch(self, kind: MessageClass, channel: Channel, message: Message, number: int) -> Post:
        """Report a message that leaves; of a token also how many of its units are free, if it says so."""
        free, group = getattr(message, "free", None), self.group_agent(channel.source).group
        if free is not None and group is not None and tokens_of(message):
            self.listener.free(self.host.now, channel.source, group, free, message.units)
        return super()._watch(kind, channel, message, number)

    # -- what an agent asks for --------------------------------------------------------------------------------------

    def _apply(self, agent: Agent, node: int) -> None:
        """Carry out what an agent asks for. A broadcast becomes one message to every member, in its present visit.

        A departure comes last, after all messages of the step have left; no other message arrives in between.
        """
        now, first, last = self.host.now, list[PackedOutput](), list[PackedOutput]()
        for output in agent.outbox:
            op, group, message = output
            if op is BROADCAST:
                members = self.groups.members(node, group)
                first.append((BROADCAST, (group, len(members)), message))
                first += [(SEND, (one.node,), replace(message, to_visit=one.visit)) for one in members]
            else:
                (last if op in (READY_TO_LEAVE, DEPOSIT) else first).append(output)
        agent.outbox = first
        super()._apply(agent, node)
        for op, group, message in last:
            if op is READY_TO_LEAVE:
                self.groups.ready_to_leave(node, group)
            else:
                units, tokens = message.units, tokens_of(message)
                self._account.gain(node, -units, -tokens)
                self.listener.deposit(now, node, group, units, tokens, _letter(message))
                self.groups.deposit(node, group, message)

    def _obey(self, node: int, op: Op, a: Any, b: Any) -> None:
        if op is BROADCAST:
            group, receivers = a
            self.listener.broadcast(self.host.now, node, group, type(b).__name__, receivers, b)
        elif op is EVICT:
            self._evict(node)
        elif op is REGENERATE:
            group = self.group_agent(node).group
            if group is None:
                raise Breach(called("regenerate", a, b), "a node outside every neighbourhood has lost nothing")
            self._account.gain(node, a, b)
            self.listener.regenerate(self.host.now, node, group, a, b)
        else:
            super()._obey(node, op, a, b)

    def _evict(self, node: int) -> None:
        application = self.applications[node]
        if application.status is not CRITICAL:
            raise Breach("evict()", "its application is not in its critical section")
        self.listener.evict(self.host.now, node)
        self._give_up_request(application)

    def _give_up_request(self, application: Application) -> None:
        """The application is neither inside nor waiting; it asks again when its node arrives."""
        application.status = REMAINDER
        application.wants = True
        self._unreleased -= 1


def _letter(message: Message | None) -> list[Any] | None:
    """A token that lies at a place, as the log has it: its type and its fields."""
    return None if message is None else [type(message).__name__, astuple(message)]  # type: ignore[call-overload]
