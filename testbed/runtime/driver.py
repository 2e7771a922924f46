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

from agents.contract import CANCEL_TIMER, CRITICAL, ENTER, EVICT, REMAINDER, SEND, SET_TIMER, WAITING, Agent, Needs, Op
from agents.message import Message, fixed_words
from analysis.batches import ENTERED, EXITED, RECEIVED, REQUESTED, SENT, Noting
from testbed.runtime.channel import Channel, Post
from testbed.errors import TestbedError
from testbed.runtime.application import Application


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


def _leave_alone(agent: Agent, peer: int, message: Message) -> None:
    """Receive what an agent is not to see."""


class Kind:
    """What the driver knows of a class of messages, and how many of them were sent."""

    __slots__ = ("name", "plain", "receive", "sent", "sent_words", "units", "watched", "words")

    def __init__(self, kind: type[Message], algorithm: type[Agent]) -> None:
        self.name = kind.__name__
        self.receive = algorithm.receiver(kind) if kind is not Lost else _leave_alone
        self.words = fixed_words(kind)
        self.units = kind.units if isinstance(kind.units, int) else None  # else it is a property, each has its own
        self.plain = self.words is not None and self.units == 0
        """Whether messages of this class need only be counted: they are of one size and carry no units."""
        self.watched = self.words is None or self.units is None
        """Whether each is looked at: they differ, or somebody wants to know of all."""
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
        listener: Noting,
        *,
        entries: int | None = None,
    ) -> None:
        self.agents = agents
        self.applications = applications
        self.world = world
        self.listener = listener
        # What happens most is noted for the audit, which takes it later, and told only to others, if there are any.
        self._note_step, self._note_move, self._others = listener.note_step, listener.note_move, listener.others
        self._ask, self._leave = self._request, self._release  # bound once: they are planned for every critical section
        self.stopping = self._for_good = self._has_begun = False
        self.on_stop: list[Callable[[], None]] = []
        self.on_units_lost: Callable[[], None] = lambda: None
        """Called when a message that carries units is lost: somebody may be cut off from all of them now."""
        self.entries = 0
        self.channels: dict[int, dict[int, Channel]] = {node: {} for node in agents}  # by sender, by receiver
        self._doomed: list[tuple[int | None, str | None]] = []  # messages to lose: by sender, by type
        self._enough_entries = entries
        self.absent: set[int] = set()  # nodes that have not come yet, or have left
        self.cut_off: frozenset[int] = frozenset()  # nodes that can reach no unit; what they send is counted apart
        self._open = 0  # requests made and not yet released
        self._timers: dict[tuple[int, str], int] = {}  # running timers, by the number of their latest setting
        self._timer_settings = 0
        algorithm = type(next(iter(agents.values())))
        self._any_node = algorithm.needs is Needs.ANY_NODE
        kinds = (*algorithm.messages, Lost)
        self._kinds, self._kinds_cut_off = ({kind: Kind(kind, algorithm) for kind in kinds} for _ in range(2))
        if listener.each_message:
            self._watch_all()

    # -- the life of a run -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Let every application think for the first time, but for those whose nodes have crashed before."""
        self._has_begun = True
        for node, application in self.applications.items():
            if node in self.agents:
                self._think(application)

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

    def post(self, channel: Channel, message: Message, number: int) -> Post:
        """A message that a world took apart, put together again."""
        return channel, message, number, self._kinds[type(message)]

    def receive(self, posts: list[Post]) -> None:
        """Messages arrive at the same time, each a step of its own."""
        agents, note = self.agents, self._note_move
        for channel, message, number, kind in posts:
            if number <= channel.arrived:
                self._tell_disorder(channel, message, number)
            channel.arrived = number
            if not kind.plain:
                if kind.watched:
                    self._tell_arrival(kind, channel, message, number)
                else:
                    note((RECEIVED, self.world.now, channel.target, channel.source, number, kind.name, kind.units))
            agent, receive = agents[channel.target], kind.receive
            try:
                receive(agent, channel.source, message)
            except Exception as error:
                raise self._failed_to_receive(channel, message, error) from error
            if agent.outbox:
                self._apply(agent)
            if channel.on_arrival is not None:
                channel.on_arrival(channel)

    def _tell_arrival(self, kind: Kind, channel: Channel, message: Message, number: int) -> None:
        """Tell of a message that is watched, or of the one whose hole it is."""
        if type(message) is Lost:
            self.lost((channel, message.message, number, kind), "fault")
            return
        units, note, others = message.units, self._note_move, self._others
        if units:
            note((RECEIVED, self.world.now, channel.target, channel.source, number, kind.name, units))
        if others is not None:
            others.recv(self.world.now, channel.target, channel.source, number, kind.name, units)

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
        for channel, message, number, kind in posts:
            if isinstance(message, Lost):
                self.lost((channel, message.message, number, kind), "fault")
                continue
            node, peer, name = channel.source, channel.target, type(message).__name__
            self.listener.returned(self.world.now, node, peer, number, name, message.units)
            self._step(node, "on_return", peer, message)

    def crash(self, node: int) -> None:
        """The node stops at once and forgets everything. Its links are the world's business."""
        agent, application = self.agents.pop(node), self.applications[node]
        self.listener.crash(self.world.now, node, agent.units)
        application.incarnation += 1  # what was scheduled for the old process is void
        self._timers = {key: setting for key, setting in self._timers.items() if key[0] != node}
        if application.status is not REMAINDER:
            self._open -= 1
        application.status = REMAINDER
        self._halt_if_served()

    def restart(self, node: int, agent: Agent) -> None:
        """The node comes back as a new incarnation with an empty state."""
        self.agents[node] = agent
        application = self.applications[node]
        self.listener.restart(self.world.now, node, application.incarnation)
        if self._has_begun and not self.stopping:
            self._think(application)

    # -- the application ---------------------------------------------------------------------------------------------

    def _think(self, application: Application) -> None:
        world = self.world
        world.at(world.now + application.think_time(), self._ask, application, application.incarnation)

    def _request(self, application: Application, incarnation: int) -> None:
        if self.stopping or incarnation != application.incarnation:
            return
        node, demand, note, others = application.node, application.demand, self._note_step, self._others
        if node in self.absent:  # nobody asks who is not there
            self._think(application)
            return
        application.status = WAITING
        application.since = now = self.world.now
        self._open += 1
        note((REQUESTED, now, node, demand.units))
        if others is not None:
            others.request(now, node, demand.units, demand.priority)
        agent = self.agents[node]
        try:
            agent.on_request(demand)
        except Exception as error:
            raise self._failed(node, f"on_request({demand})", error) from error
        if agent.outbox:
            self._apply(agent)

    def _enter(self, node: int) -> None:
        application, world, note, others = self.applications[node], self.world, self._note_step, self._others
        application.status = CRITICAL
        application.stay = stay = application.stay + 1
        now, cs_time, units = world.now, application.cs_time, application.demand.units
        note((ENTERED, now, node, units))
        if others is not None:
            others.enter(now, node, units)
        world.at(now + cs_time(), self._leave, application, stay)
        self.entries += 1
        if self.entries == self._enough_entries:
            self.stop()

    def _release(self, application: Application, stay: int) -> None:
        if stay != application.stay or application.status is not CRITICAL:
            return
        node, units, note, others = application.node, application.demand.units, self._note_step, self._others
        application.status = REMAINDER
        self._open -= 1
        note((EXITED, self.world.now, node, units))
        if others is not None:
            others.exit(self.world.now, node, units)
        agent = self.agents[node]
        try:
            agent.on_release()
        except Exception as error:
            raise self._failed(node, "on_release()", error) from error
        if agent.outbox:
            self._apply(agent)
        if self.stopping:
            self._halt_if_served()
        else:
            self._think(application)

    def _evict(self, node: int) -> None:
        self.listener.evict(self.world.now, node)
        self.applications[node].status = WAITING

    def _halt_if_served(self) -> None:
        if self.is_over():
            self.world.halt()

    def is_over(self) -> bool:
        """Whether no more requests come, and those that are open have been served or never will be."""
        return self.stopping and (not self._open or self._hopeless())

    def _hopeless(self) -> bool:
        """Whether the network stays as it is and all requests that are open are of nodes that can reach no unit."""
        if not self._for_good:
            return False
        asking = [app for app in self.applications.values() if app.status is not REMAINDER]
        out_of_reach = self.cut_off | self.absent
        return all(app.status is WAITING and app.node in out_of_reach for app in asking)

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

    def _failed_to_receive(self, channel: Channel, message: Message, error: Exception) -> AgentError:
        return self._failed(channel.target, f"on_receive({channel.source}, {message})", error)

    def _failed(self, node: int, event: str, error: Exception) -> AgentError:
        return AgentError(f"node {node} failed in {event}: {type(error).__name__}: {error}")

    def _apply(self, agent: Agent) -> None:
        """Carry out what an agent asks for. What it sends is counted, numbered on its channels, and moved as one."""
        node, outbox = agent.node, agent.outbox
        kinds = self._kinds_cut_off if self.cut_off and node in self.cut_off else self._kinds
        channels, note = self.channels[node], self._note_move
        posts: list[Post] = []
        for op, a, b in outbox:
            if op is not SEND:
                if op is ENTER:
                    self._enter(node)
                else:
                    self._obey(node, op, a, b)
                continue
            try:
                kind = kinds[type(b)]
            except KeyError:
                undeclared = f"node {node} sends a {type(b).__name__}, which its algorithm does not declare"
                raise AgentError(undeclared) from None
            kind.sent += len(a)
            plain = kind.plain
            for peer in a:
                try:
                    channel = channels[peer]
                except KeyError:
                    if not self._any_node:
                        self._tell_no_link(kind, node, peer, b)
                        continue
                    channel = channels[peer] = Channel(node, peer)
                channel.sent = number = channel.sent + 1
                if plain:
                    posts.append((channel, b, number, kind))
                elif kind.watched:
                    posts.append(self._watch(kind, channel, b, number))
                else:
                    posts.append((channel, b, number, kind))
                    note((SENT, self.world.now, node, peer, number, kind.name, kind.units))
        outbox.clear()
        if posts:
            move = self.world.move
            move(posts)

    def _obey(self, node: int, op: Op, a: Any, b: Any) -> None:
        """Carry out anything but a SEND or an ENTER."""
        if op is SET_TIMER:
            self._set_timer(node, a, b)
        elif op is CANCEL_TIMER:
            self._timers.pop((node, a), None)
        elif op is EVICT:
            self._evict(node)
        else:
            raise AgentError(f"node {node} asks for {op.name}, which no world here can do yet")

    def _watch(self, kind: Kind, channel: Channel, message: Message, number: int) -> Post:
        """Tell of a message that leaves, and put it, or the hole it leaves, on its channel."""
        words, units = kind.words, kind.units
        if words is None or units is None:
            words, units = message.words, message.units
            kind.sent_words += words
        note, others = self._note_move, self._others
        if units:
            note((SENT, self.world.now, channel.source, channel.target, number, kind.name, units))
        if others is not None:
            others.send(self.world.now, channel.source, channel.target, number, kind.name, units, words, message)
        if self._doomed and self._is_doomed(channel.source, message):
            return channel, Lost(message), number, self._kinds[Lost]
        return channel, message, number, kind

    def _tell_no_link(self, kind: Kind, node: int, peer: int, message: Message) -> None:
        self.lost(self._watch(kind, Channel(node, peer), message, 0), "no link")

    def relayed(self, node: int, channel: Channel, message: Message, number: int) -> None:
        """A node on the way passes a message on, which is charged like one more message."""
        if isinstance(message, Lost):  # a hole goes where the message would have gone, and is charged like it
            message = message.message
        kind = (self._kinds_cut_off if node in self.cut_off else self._kinds)[message.__class__]
        words = message.words if kind.words is None else kind.words
        kind.sent += 1
        kind.sent_words += words if kind.words is None else 0
        self.listener.relay(self.world.now, node, channel.source, channel.target, number, type(message).__name__, words)

    def doom(self, sender: int | None, type_name: str | None) -> None:
        """Lose the next message of a node (or, for None, the next that carries units), of a type if one is named."""
        self._doomed.append((sender, type_name))
        self._watch_all()

    def _watch_all(self) -> None:
        """From now on every message is looked at."""
        for kind in (*self._kinds.values(), *self._kinds_cut_off.values()):
            kind.plain, kind.watched = False, True

    def _is_doomed(self, source: int, message: Message) -> bool:
        for index, (sender, type_name) in enumerate(self._doomed):
            by_sender = source == sender if sender is not None else message.units > 0
            if by_sender and type_name in (None, type(message).__name__):
                del self._doomed[index]
                return True
        return False

    def lost(self, post: Post, why: str) -> None:
        """A message will never arrive."""
        channel, message, number, _ = post
        if isinstance(message, Lost):  # a fault had it before
            message, why = message.message, "fault"
        name, units = type(message).__name__, message.units
        self.listener.lost(self.world.now, channel.source, channel.target, number, name, units, why)
        if units:
            self.on_units_lost()

    def forget_counts(self) -> None:
        """The warmup is over: what was sent before does not count."""
        for kind in (*self._kinds.values(), *self._kinds_cut_off.values()):
            kind.sent = kind.sent_words = 0

    def tell_counts(self) -> None:
        """Tell the listener how many messages were sent since the warmup."""
        for kind in self._kinds.values():
            words = kind.sent_words if kind.words is None else kind.sent * kind.words
            if kind.sent:
                self.listener.sent(kind.name, kind.sent, words)
        self.listener.sent_cut_off(sum(kind.sent for kind in self._kinds_cut_off.values()))

    def _set_timer(self, node: int, name: str, delay: int) -> None:
        self._timer_settings += 1
        self._timers[node, name] = self._timer_settings
        self.world.at(self.world.now + delay, self._timer, node, name, self._timer_settings)

    def _timer(self, node: int, name: str, setting: int) -> None:
        if node in self.agents and self._timers.get((node, name)) == setting:
            del self._timers[node, name]
            self.listener.timer(self.world.now, node, name)
            self._step(node, "on_timer", name)
