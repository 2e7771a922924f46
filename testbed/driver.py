"""The driver: steps agents and carries out what they ask for, in every world.

A world (the simulator, a station process) tells the driver what happens to its nodes; the driver gives it to the agent
as one input, lets that run to completion, and applies the outbox in order. The driver also plays the applications, and
tells a listener everything, in the order it happens: a release before the messages of its step, an entry after the
receive that caused it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any, Protocol

from agents.contract import CANCEL_TIMER, ENTER, EVICT, SEND, SET_TIMER, Agent, Status
from agents.message import Message, fixed_words
from analysis.listener import Listener
from testbed.workload import Application


class World(Protocol):
    """What a backend supplies."""

    @property
    def now(self) -> int:
        """The time in ticks."""

    def at(self, t: int, happen: Callable[..., None], *args: Any) -> None:
        """Call `happen(*args)` at time t."""

    def send(self, source: int, target: int, message: Message, ident: int) -> None:
        """Move a message; it arrives by `Driver.receive`."""

    def halt(self) -> None:
        """End the run after what happens now."""


class AgentError(Exception):
    """An agent raised an exception: where and when. The cause is attached."""


class Driver:
    """Steps the agents of the nodes that live in this process."""

    def __init__(
        self,
        agents: dict[int, Agent],
        applications: dict[int, Application],
        world: World,
        listener: Listener,
        *,
        log_fields: bool,
        entries: int | None = None,
    ) -> None:
        self.agents = agents
        self.applications = applications
        self.world = world
        self.listener = listener
        self.stopping = False
        self.on_stop: list[Callable[[], None]] = []
        self._log_fields = log_fields
        self.entries = 0
        self._enough_entries = entries
        self._open = 0  # requests made and not yet released
        self._incarnation = dict.fromkeys(agents, 0)
        self._timers: dict[tuple[int, str], int] = {}  # running timers, by the number of their latest setting
        self._timer_count = 0
        self._sent = dict.fromkeys(agents, 0)
        self._facts: dict[type[Message], tuple[str, int | None]] = {}  # name, and words where they never vary

    # -- the life of a run -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Let every application think for the first time."""
        for node in self.applications:
            self._think(node)

    def stop(self) -> None:
        """No more requests; the run ends when those that are open have been served."""
        if not self.stopping:
            self.stopping = True
            for hook in self.on_stop:
                hook()
            self._halt_if_served()

    def waiting(self) -> list[Application]:
        """The applications whose requests are open."""
        return [app for app in self.applications.values() if app.status is Status.WAITING]

    def is_alive(self, node: int) -> bool:
        """Whether a node runs."""
        return node in self.agents

    def holders(self) -> list[int]:
        """The nodes that hold units, in ascending order."""
        return sorted(node for node, agent in self.agents.items() if agent.units)

    # -- what happens to a node --------------------------------------------------------------------------------------

    def receive(self, node: int, peer: int, message: Message, ident: int) -> None:
        """A message has arrived."""
        agent = self.agents[node]
        self.listener.recv(self.world.now, node, peer, ident, type(message).__name__, message.units)
        try:
            agent.on_receive(peer, message)
        except Exception as error:
            raise self._failed(node, f"on_receive({peer}, {message})") from error
        if agent.outbox:
            self._apply(node, agent)

    def link_up(self, node: int, peer: int) -> None:
        """A link has formed."""
        self.listener.link_up(self.world.now, node, peer)
        self._step(node, "on_link_up", peer)

    def link_down(self, node: int, peer: int, lag: int) -> None:
        """A link has failed, `lag` ticks after it was to."""
        self.listener.link_down(self.world.now, node, peer, lag)
        self._step(node, "on_link_down", peer)

    def crash(self, node: int) -> None:
        """The node stops at once and forgets everything. Its links are the world's business."""
        agent, application = self.agents.pop(node), self.applications[node]
        self.listener.crash(self.world.now, node, agent.units)
        self._incarnation[node] += 1  # what was scheduled for the old process is void
        if application.status is not Status.REMAINDER:
            self._open -= 1
        application.status = Status.REMAINDER
        self._halt_if_served()

    def restart(self, node: int, agent: Agent) -> None:
        """The node comes back as a new incarnation with an empty state."""
        self.agents[node] = agent
        self.listener.restart(self.world.now, node, self._incarnation[node])
        if not self.stopping:
            self._think(node)

    # -- the application ---------------------------------------------------------------------------------------------

    def _think(self, node: int) -> None:
        think = self.applications[node].think_time()
        self.world.at(self.world.now + think, self._request, node, self._incarnation[node])

    def _request(self, node: int, incarnation: int) -> None:
        if self.stopping or incarnation != self._incarnation[node]:
            return
        application = self.applications[node]
        application.status = Status.WAITING
        application.since = self.world.now
        self._open += 1
        demand = application.demand
        self.listener.request(self.world.now, node, demand.units, demand.priority)
        self._step(node, "on_request", demand)

    def _enter(self, node: int) -> None:
        application = self.applications[node]
        self.listener.enter(self.world.now, node, application.demand.units)
        application.status = Status.CRITICAL
        self.world.at(self.world.now + application.cs_time(), self._release, node, self._incarnation[node])
        self.entries += 1
        if self.entries == self._enough_entries:
            self.stop()

    def _release(self, node: int, incarnation: int) -> None:
        application = self.applications[node]
        if incarnation != self._incarnation[node] or application.status is not Status.CRITICAL:
            return
        self.listener.exit(self.world.now, node, application.demand.units)
        application.status = Status.REMAINDER
        self._open -= 1
        self._step(node, "on_release")
        if not self.stopping:
            self._think(node)
        self._halt_if_served()

    def _evict(self, node: int) -> None:
        self.listener.evict(self.world.now, node)
        self.applications[node].status = Status.WAITING

    def _halt_if_served(self) -> None:
        if self.stopping and not self._open:
            self.world.halt()

    # -- one step of an agent ----------------------------------------------------------------------------------------

    def _step(self, node: int, event: str, *args: Any) -> None:
        agent = self.agents[node]
        try:
            getattr(agent, event)(*args)
        except Exception as error:
            raise self._failed(node, f"{event}{args}") from error
        if agent.outbox:
            self._apply(node, agent)

    def _failed(self, node: int, event: str) -> AgentError:
        return AgentError(f"node {node} failed in {event}")

    def _apply(self, node: int, agent: Agent) -> None:
        outbox = agent.outbox
        for op, a, b in outbox:
            if op == SEND:
                self._send(node, a, b)
            elif op == ENTER:
                self._enter(node)
            elif op == SET_TIMER:
                self._set_timer(node, a, b)
            elif op == CANCEL_TIMER:
                self._timers.pop((node, a), None)
            elif op == EVICT:
                self._evict(node)
            else:
                raise AgentError(f"node {node} asks for {op.name}, which no world here can do yet")
        outbox.clear()

    def _send(self, node: int, peer: int, message: Message) -> None:
        kind = type(message)
        facts = self._facts.get(kind)
        if facts is None:
            facts = self._facts[kind] = (kind.__name__, fixed_words(kind))
        name, words = facts
        self._sent[node] = ident = self._sent[node] + 1
        self.listener.send(
            self.world.now,
            node,
            peer,
            ident,
            name,
            message.units,
            message.words if words is None else words,
            astuple(message) if self._log_fields else None,  # type: ignore[call-overload]
        )
        self.world.send(node, peer, message, ident)

    def _set_timer(self, node: int, name: str, delay: int) -> None:
        self._timer_count += 1
        self._timers[node, name] = self._timer_count
        self.world.at(self.world.now + delay, self._timer, node, name, self._timer_count)

    def _timer(self, node: int, name: str, count: int) -> None:
        if node in self.agents and self._timers.get((node, name)) == count:
            del self._timers[node, name]
            self.listener.timer(self.world.now, node, name)
            self._step(node, "on_timer", name)
