"""The driver: steps agents and carries out what they ask for, in every world.

A world (the simulator, a station process) tells the driver what happens to its nodes; the driver gives it to the agent
as one input, lets that run to completion, and applies the outbox in order. The driver also plays the applications, and
tells a listener everything, in the order it happens: a release before the messages of its step, an entry after the
receive that caused it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from agents.contract import CANCEL_TIMER, CRITICAL, ENTER, EVICT, REMAINDER, SEND, SET_TIMER, WAITING, Agent, Needs
from agents.message import Message, fixed_words
from analysis.audit import Live
from testbed.channel import Channel, Post
from testbed.errors import TestbedError
from testbed.workload import Application


class World(Protocol):
    """What a backend supplies."""

    @property
    def now(self) -> int:
        """The time in ticks."""

    def at(self, t: int, happen: Callable[..., None], *args: Any) -> None:
        """Call `happen(*args)` at time t."""

    def move(self, posts: list[Post]) -> None:
        """Move messages, which arrive by `Driver.receive`, each after those before it on its channel."""

    def halt(self) -> None:
        """End the run after what happens now."""


class Kind:
    """What the driver knows of a class of messages, and how many of them were sent."""

    __slots__ = ("name", "plain", "sent", "sent_words", "words")

    def __init__(self, kind: type[Message]) -> None:
        self.name = kind.__name__
        self.words = fixed_words(kind)
        self.plain = self.words is not None and kind.units == 0
        """Whether such messages are all of one size and carry no units."""
        self.sent = self.sent_words = 0


@dataclass(frozen=True, slots=True)
class Lost(Message):
    """Stands on the channel for a message that a fault has taken away."""

    message: Message


class AgentError(TestbedError):
    """An agent broke the contract or raised an exception, which is attached as the cause."""


class Driver:
    """Steps the agents of the nodes that live in this process."""

    def __init__(
        self,
        agents: dict[int, Agent],
        applications: dict[int, Application],
        world: World,
        listener: Live,
        *,
        entries: int | None = None,
    ) -> None:
        self.agents = agents
        self.applications = applications
        self.world = world
        self.listener = listener
        self.stopping = self._for_good = False
        self.on_stop: list[Callable[[], None]] = []
        self.entries = 0
        self.channels: dict[int, dict[int, Channel]] = {node: {} for node in agents}  # by sender, by receiver
        self._doomed: list[tuple[int | None, str | None]] = []  # messages to lose: by sender, by type
        self._enough_entries = entries
        self.absent: set[int] = set()  # nodes that have not come yet, or have left
        self.cut_off: frozenset[int] = frozenset()  # nodes that can reach no unit; what they send is counted apart
        self._sent_cut_off = 0
        self._open = 0  # requests made and not yet released
        self._incarnation = dict.fromkeys(agents, 0)
        self._timers: dict[tuple[int, str], int] = {}  # running timers, by the number of their latest setting
        self._timer_settings = 0
        self._any_node = next(iter(agents.values())).needs is Needs.ANY_NODE
        messages = next(iter(agents.values())).messages
        self._kinds = {kind: Kind(kind) for kind in (*messages, Lost)}
        # Messages of one size that carry no units are counted and otherwise left alone, unless somebody wants them all.
        self._plain = frozenset(
            kind for kind, facts in self._kinds.items() if facts.plain and not listener.each_message
        )

    # -- the life of a run -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Let every application think for the first time."""
        for node in self.applications:
            self._think(node)

    def stop(self, *, for_good: bool = False) -> None:
        """No more requests; the run ends when those that are open have been served.

        If the network will not change any more either, it ends when nobody is left who could be served.
        """
        if not self.stopping:
            self.stopping, self._for_good = True, for_good
            for hook in self.on_stop:
                hook()
            self._halt_if_served()

    def waiting(self) -> list[Application]:
        """The applications whose requests are open."""
        return [app for app in self.applications.values() if app.status is WAITING]

    def is_alive(self, node: int) -> bool:
        """Whether a node runs."""
        return node in self.agents

    def holders(self) -> list[int]:
        """The nodes that hold units, in ascending order."""
        return sorted(node for node, agent in self.agents.items() if agent.units)

    # -- what happens to a node --------------------------------------------------------------------------------------

    def receive(self, posts: list[Post]) -> None:
        """Messages arrive at the same time, each a step of its own."""
        agents, plain = self.agents, self._plain
        for channel, message, number in posts:
            if number <= channel.arrived:
                self._tell_disorder(channel, message, number)
            channel.arrived = number
            if message.__class__ in plain or self._tell_arrival(channel, message, number):
                agent = agents[channel.target]
                try:
                    agent.on_receive(channel.source, message)
                except Exception as error:
                    raise self._failed(agent.node, f"on_receive({channel.source}, {message})", error) from error
                if agent.outbox:
                    self._apply(agent)
            if channel.on_arrival is not None:
                channel.on_arrival(channel)

    def _tell_arrival(self, channel: Channel, message: Message, number: int) -> bool:
        """Tell of a message that is to be looked at; False if it is only the hole that a lost one left."""
        if isinstance(message, Lost):
            self.lost((channel, message.message, number), "fault")
            return False
        name = type(message).__name__
        self.listener.recv(self.world.now, channel.target, channel.source, number, name, message.units)
        return True

    def _tell_disorder(self, channel: Channel, message: Message, number: int) -> None:
        name = type(message).__name__
        self.listener.disorder(self.world.now, channel.target, channel.source, number, name, channel.arrived)

    def link_up(self, node: int, peer: int) -> None:
        """A link has formed."""
        self.listener.link_up(self.world.now, node, peer)
        self._step(node, "on_link_up", peer)

    def link_down(self, node: int, peer: int, lag: int) -> None:
        """A link has failed, `lag` ticks after it was to."""
        self.listener.link_down(self.world.now, node, peer, lag)
        self._step(node, "on_link_down", peer)

    def give_back(self, posts: list[Post]) -> None:
        """Messages come back to who sent them: their link has failed before they arrived."""
        for channel, message, number in posts:
            if isinstance(message, Lost):
                self.lost((channel, message.message, number), "fault")
                continue
            node, peer, name = channel.source, channel.target, type(message).__name__
            self.listener.returned(self.world.now, node, peer, number, name, message.units)
            self._step(node, "on_return", peer, message)

    def crash(self, node: int) -> None:
        """The node stops at once and forgets everything. Its links are the world's business."""
        agent, application = self.agents.pop(node), self.applications[node]
        self.listener.crash(self.world.now, node, agent.units)
        self._incarnation[node] += 1  # what was scheduled for the old process is void
        if application.status is not REMAINDER:
            self._open -= 1
        application.status = REMAINDER
        self._halt_if_served()

    def restart(self, node: int, agent: Agent) -> None:
        """The node comes back as a new incarnation with an empty state."""
        self.agents[node] = agent
        self.listener.restart(self.world.now, node, self._incarnation[node])
        if not self.stopping:
            self._think(node)

    # -- the application ---------------------------------------------------------------------------------------------

    def _think(self, node: int) -> None:
        world = self.world
        world.at(world.now + self.applications[node].think_time(), self._request, node, self._incarnation[node])

    def _request(self, node: int, incarnation: int) -> None:
        if self.stopping or incarnation != self._incarnation[node]:
            return
        if node in self.absent:  # nobody asks who is not there
            self._think(node)
            return
        application, now = self.applications[node], self.world.now
        application.status = WAITING
        application.since = now
        self._open += 1
        demand = application.demand
        self.listener.request(now, node, demand.units, demand.priority)
        self._step(node, "on_request", demand)

    def _enter(self, node: int) -> None:
        application, world = self.applications[node], self.world
        application.status = CRITICAL
        self.listener.enter(world.now, node, application.demand.units)
        world.at(world.now + application.cs_time(), self._release, node, self._incarnation[node])
        self.entries += 1
        if self.entries == self._enough_entries:
            self.stop()

    def _release(self, node: int, incarnation: int) -> None:
        application = self.applications[node]
        if incarnation != self._incarnation[node] or application.status is not CRITICAL:
            return
        application.status = REMAINDER
        self._open -= 1
        self.listener.exit(self.world.now, node, application.demand.units)
        self._step(node, "on_release")
        if self.stopping:
            self._halt_if_served()
        else:
            self._think(node)

    def _evict(self, node: int) -> None:
        self.listener.evict(self.world.now, node)
        self.applications[node].status = WAITING

    def _halt_if_served(self) -> None:
        if self.stopping and (not self._open or self._hopeless()):
            self.world.halt()

    def _hopeless(self) -> bool:
        """Whether the network stays as it is and all requests that are open are of nodes that can reach no unit."""
        if not self._for_good or not self.cut_off:
            return False
        asking = [app for app in self.applications.values() if app.status is not REMAINDER]
        return all(app.status is WAITING and app.node in self.cut_off for app in asking)

    def set_cut_off(self, nodes: frozenset[int]) -> None:
        """These nodes can reach no unit now."""
        self.cut_off = nodes
        self._halt_if_served()

    # -- one step of an agent ----------------------------------------------------------------------------------------

    def _step(self, node: int, event: str, *args: Any) -> None:
        agent = self.agents[node]
        try:
            getattr(agent, event)(*args)
        except Exception as error:
            raise self._failed(node, f"{event}{args}", error) from error
        if agent.outbox:
            self._apply(agent)

    def _failed(self, node: int, event: str, error: Exception) -> AgentError:
        return AgentError(f"node {node} failed in {event}: {type(error).__name__}: {error}")

    def _apply(self, agent: Agent) -> None:
        node, outbox = agent.node, agent.outbox
        posts: list[Post] = []
        for op, a, b in outbox:
            if op is SEND:
                self._post(node, a, b, posts)
            elif op is ENTER:
                self._enter(node)
            elif op is SET_TIMER:
                self._set_timer(node, a, b)
            elif op is CANCEL_TIMER:
                self._timers.pop((node, a), None)
            elif op is EVICT:
                self._evict(node)
            else:
                raise AgentError(f"node {node} asks for {op.name}, which no world here can do yet")
        outbox.clear()
        if posts:
            self.world.move(posts)

    def _post(self, node: int, peers: tuple[int, ...], message: Message, posts: list[Post]) -> None:
        """Count a message to some nodes, number it on its channels, and add it to what is to be moved."""
        kind = self._kinds.get(message.__class__)
        if kind is None:
            raise AgentError(f"node {node} sends a {type(message).__name__}, which its algorithm does not declare")
        if node in self.cut_off:
            self._sent_cut_off += len(peers)
        else:
            kind.sent += len(peers)
        channels, plain = self.channels[node], message.__class__ in self._plain
        for peer in peers:
            channel = channels.get(peer)
            if channel is None:
                channel = Channel(node, peer)
                if not self._any_node:
                    self.lost(self._watch(kind, channel, message, 0), "no link")
                    continue
                channels[peer] = channel
            channel.sent = number = channel.sent + 1
            posts.append((channel, message, number) if plain else self._watch(kind, channel, message, number))

    def _watch(self, kind: Kind, channel: Channel, message: Message, number: int) -> Post:
        """Tell of a message that leaves, and put it, or the hole it leaves, on its channel."""
        words = kind.words
        if words is None:
            words = message.words
            if channel.source not in self.cut_off:
                kind.sent_words += words
        node, peer = channel.source, channel.target
        self.listener.send(self.world.now, node, peer, number, kind.name, message.units, words, message)
        if self._doomed and self._is_doomed(node, message):
            return channel, Lost(message), number
        return channel, message, number

    def relayed(self, node: int, channel: Channel, message: Message, number: int) -> None:
        """A node on the way passes a message on, which is charged like one more message."""
        kind = self._kinds[message.__class__]
        words = message.words if kind.words is None else kind.words
        if node in self.cut_off:
            self._sent_cut_off += 1
        else:
            kind.sent += 1
            kind.sent_words += words if kind.words is None else 0
        self.listener.relay(self.world.now, node, channel.source, channel.target, number, type(message).__name__, words)

    def doom(self, sender: int | None, type_name: str | None) -> None:
        """Lose the next message of a node (or, for None, the next that carries units), of a type if one is named."""
        self._doomed.append((sender, type_name))
        self._plain = frozenset()  # from now on every message is looked at

    def _is_doomed(self, source: int, message: Message) -> bool:
        for index, (sender, type_name) in enumerate(self._doomed):
            by_sender = source == sender if sender is not None else message.units > 0
            if by_sender and type_name in (None, type(message).__name__):
                del self._doomed[index]
                return True
        return False

    def lost(self, post: Post, why: str) -> None:
        """A message will never arrive."""
        channel, message, number = post
        name = type(message).__name__
        self.listener.lost(self.world.now, channel.source, channel.target, number, name, message.units, why)

    def forget_counts(self) -> None:
        """The warmup is over: what was sent before does not count."""
        for kind in self._kinds.values():
            kind.sent = kind.sent_words = 0
        self._sent_cut_off = 0

    def tell_counts(self) -> None:
        """Tell the listener how many messages were sent since the warmup."""
        for kind in self._kinds.values():
            words = kind.sent_words if kind.words is None else kind.sent * kind.words
            if kind.sent:
                self.listener.sent(kind.name, kind.sent, words)
        self.listener.sent_cut_off(self._sent_cut_off)

    def _set_timer(self, node: int, name: str, delay: int) -> None:
        self._timer_settings += 1
        self._timers[node, name] = self._timer_settings
        self.world.at(self.world.now + delay, self._timer, node, name, self._timer_settings)

    def _timer(self, node: int, name: str, setting: int) -> None:
        if node in self.agents and self._timers.get((node, name)) == setting:
            del self._timers[node, name]
            self.listener.timer(self.world.now, node, name)
            self._step(node, "on_timer", name)
