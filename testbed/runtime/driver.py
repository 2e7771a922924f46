"""The driver: steps agents and carries out what they ask for, in every backend.

A host (the simulator, a station process) tells the driver what happens to its nodes. The driver passes it to the agent
as one input, lets that run to completion, and applies the outbox in order. The driver also runs the applications, and
passes everything to a listener in the order it happens: a release before the messages of its step, an entry after the
receive that caused it.

Everything that an agent sends takes one path, `_apply`. What is done there for speed, counting instead of reporting, is
kept in `testbed.runtime.message_counts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from agents.contract import CRITICAL, REMAINDER, WAITING, Agent, Needs
from agents.message import Message, tokens_of
from agents.outputs import CANCEL_TIMER, ENTER, SEND, SET_TIMER, Op
from analysis.batched import ENTERED, EXITED, RECEIVED, REQUESTED, SENT, BatchedListener
from testbed.event_queue import Scheduler
from testbed.runtime.application import Application, ScriptedRequest
from testbed.runtime.breach import RAISED, AgentError, Breach, OutboxRules, bad_timer, called, held, shown
from testbed.runtime.channel import Channel, Post
from testbed.runtime.message_counts import MessageClass, MessageCounts
from testbed.runtime.message_losses import Dropped, MessageLosses
from testbed.runtime.timers import Timers
from testbed.runtime.unit_account import UnitAccount

ASKED_FIRST, ASKED_EVERY = 100, 500
"""In so many critical sections a node is asked what it holds, and then in one of so many."""
INSPECTED_FIRST, INSPECTED_EVERY = 100, 1_000
"""So many messages of a class are inspected one by one, and then one in so many."""


class Host(Scheduler, Protocol):
    """What a driver runs on: a clock, a way to be called later, and a way to move messages."""

    def move(self, posts: list[Post]) -> None:
        """Move messages, which arrive by `Driver.receive`, each after those before it on its channel."""

    def halt(self) -> None:
        """End the run after what happens now."""


class Driver:
    """Steps the agents of the nodes of this process."""

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
        """`nodes`: how many there are in the network; by default those of this process are all."""
        self.agents = agents
        self.applications = applications
        self.host = host
        self.listener = listener
        # Frequent events are noted for the audit, which takes them in batches, and passed to other listeners, if any.
        self._note_step, self._note_move, self._others = listener.note_step, listener.note_move, listener.others
        self._ask, self._leave = self._request, self._release  # bound once: they are planned for every critical section
        self.stopping = self._for_good = self._has_begun = False
        self.on_stop: list[Callable[[], None]] = []
        self.on_units_lost: Callable[[], None] = lambda: None
        """Called when a message that carries units is lost: nodes may be cut off from all of them now."""
        self.entries = 0
        self.channels: dict[int, dict[int, Channel]] = {node: {} for node in agents}  # by sender, by receiver
        self._losses = MessageLosses()
        self._enough_entries = entries
        self.absent: set[int] = set()  # nodes that have not appeared yet, or have left
        self.away: set[int] = set()  # nodes that are in no neighbourhood, or about to leave theirs
        self.cut_off: frozenset[int] = frozenset()  # nodes that can reach no unit; what they send is counted apart
        self._unreleased = 0  # requests made whose critical sections are not over
        self._timers = Timers(host, self._timer)
        algorithm = type(next(iter(agents.values())))
        self._rules = OutboxRules(algorithm, range(nodes or len(agents)), any_node=algorithm.needs is not Needs.LINKS)
        self._account = UnitAccount(agents, listener)
        self.counts = MessageCounts((*algorithm.messages, Dropped), algorithm)
        self._classes, self._classes_cut_off = self.counts.usual, self.counts.cut_off
        for classes in (self._classes, self._classes_cut_off):
            classes[Dropped].receive = _ignore  # the agent must not see it
        if listener.each_message:
            self.counts.watch_all()

    # -- the course of a run -----------------------------------------------------------------------------------------

    def begin(self, since: int = 0) -> None:
        """Let every application think for the first time, except on nodes that have crashed by now.

        Scripted requests before `since` are left out: they were for an earlier incarnation. One that is late is made.
        """
        self._has_begun = True
        for node, agent in self.agents.items():
            if agent.outbox:  # what it says when it starts
                self._carry_out(node, "start")
        for node, application in self.applications.items():
            if node in self.agents:
                self._think(application)
            for request in application.script:
                if request.at >= since:
                    self.host.at(request.at, self._follow_script, application, request)

    def stop(self, *, for_good: bool = False) -> None:
        """No more requests; the run ends when the pending ones have been served.

        `for_good`: the network will not change any more either, so it also ends when no pending request can be served.
        """
        if not self.stopping:
            self.stopping, self._for_good = True, for_good
            for hook in self.on_stop:
                hook()
            self._halt_if_served()

    def waiting(self) -> list[Application]:
        """The applications whose requests are pending."""
        return [app for app in self.applications.values() if app.status is WAITING]

    def may_ask(self) -> bool:
        """Whether an application is busy, or may ask of itself, or has to by the script."""
        return any(self._may_ask(self.applications[node]) for node in self.agents)

    def _may_ask(self, application: Application) -> bool:
        is_busy = application.status is not REMAINDER
        return bool(application.rate) or is_busy or any(one.at >= self.host.now for one in application.script)

    def is_alive(self, node: int) -> bool:
        """Whether a node runs."""
        return node in self.agents

    def holders(self) -> list[int]:
        """The nodes that hold tokens, in ascending order."""
        return sorted(node for node, agent in self.agents.items() if agent.tokens)

    # -- what happens to a node --------------------------------------------------------------------------------------

    def post(self, channel: Channel, message: Message, number: int) -> Post:
        """A message in the driver's form, for a host that has read it from bytes."""
        return channel, message, number, self._classes[type(message)]

    def receive(self, posts: list[Post]) -> None:
        """Messages arrive at the same time; each is one step of its agent."""
        agents, account = self.agents, self._account
        for channel, message, number, kind in posts:
            if number <= channel.arrived:
                self._report_disorder(channel, message, number)
            channel.arrived = number
            if not kind.plain:
                if kind.watched:
                    self._report_arrival(kind, channel, message, number)
                else:
                    self._note_arrival(kind, channel, number)
            agent, receive = agents[channel.target], kind.receive
            try:
                receive(agent, channel.source, message)
            except RAISED as error:
                raise self._failed(channel.target, called("on_receive", channel.source, message), error) from error
            if agent.outbox:
                try:
                    self._apply(agent, channel.target)
                except Exception as error:  # noqa: BLE001  (raised again, unless the outbox is to blame)
                    self._explain(channel.target, called("on_receive", channel.source, message), error)
            if account.is_exact:
                account.recount(self.host.now, agent, channel.target, "on_receive", channel.source, message)
            if channel.on_arrival is not None:
                channel.on_arrival(channel)

    def _report_arrival(self, kind: MessageClass, channel: Channel, message: Message, number: int) -> None:
        """Report the arrival of a message that is watched, or the loss of one that was dropped."""
        if type(message) is Dropped:
            self.lost((channel, message.message, number, kind), "fault")
            return
        units, tokens, note, others = message.units, tokens_of(message), self._note_move, self._others
        if units or tokens:
            self._account.gain(channel.target, units, tokens)
            note((RECEIVED, self.host.now, channel.target, channel.source, number, kind.name, units, tokens))
        if others is not None:
            others.recv(self.host.now, channel.target, channel.source, number, kind.name, units, tokens)

    def _note_arrival(self, kind: MessageClass, channel: Channel, number: int) -> None:
        """Note the arrival of a message whose class fixes what it carries."""
        assert kind.units is not None, "a class whose messages differ is watched"
        assert kind.tokens is not None
        now, node, peer = self.host.now, channel.target, channel.source
        self._note_move((RECEIVED, now, node, peer, number, kind.name, kind.units, kind.tokens))

    def _report_disorder(self, channel: Channel, message: Message, number: int) -> None:
        name = type(message).__name__
        self.listener.disorder(self.host.now, channel.target, channel.source, number, name, channel.arrived)

    def link_up(self, node: int, peer: int) -> None:
        """A link has formed."""
        self.listener.link_up(self.host.now, node, peer)
        self._step(node, "on_link_up", peer)

    def link_down(self, node: int, peer: int, lag: int) -> None:
        """A link has failed, `lag` ticks after it was due to."""
        self.listener.link_down(self.host.now, node, peer, lag)
        self._step(node, "on_link_down", peer)

    def give_back(self, posts: list[Post]) -> None:
        """Messages come back to their sender: their link has failed before they arrived."""
        for channel, message, number, kind in posts:
            if isinstance(message, Dropped):
                self.lost((channel, message.message, number, kind), "fault")
                continue
            node, peer, name = channel.source, channel.target, type(message).__name__
            units, tokens = message.units, tokens_of(message)
            self._account.gain(node, units, tokens)
            self.listener.returned(self.host.now, node, peer, number, name, units, tokens)
            self._step(node, "on_return", peer, message)

    def crash(self, node: int) -> None:
        """The node stops at once and loses its state. The host takes its links away."""
        agent, application = self.agents.pop(node), self.applications[node]
        self.listener.crash(self.host.now, node, *held(agent, node, t=self.host.now, event="crash"))
        self._account.clear(node)
        application.incarnation += 1  # what was scheduled for the previous incarnation does not happen
        application.backlog.clear()
        application.wants = False
        self._timers.cancel_all(node)
        if application.status is not REMAINDER:
            self._unreleased -= 1
        application.status = REMAINDER
        self._halt_if_served()

    def restart(self, node: int, agent: Agent) -> None:
        """The node comes back as a new incarnation with an empty state."""
        self.agents[node] = agent
        application = self.applications[node]
        self.listener.restart(self.host.now, node, application.incarnation)
        self.came_back(node)
        if self._has_begun and not self.stopping:
            self._think(application)

    def came_back(self, node: int) -> None:
        """A node has restarted: it must not hold anything."""
        self._account.clear(node)
        if self._account.is_exact:
            self._account.recount(self.host.now, self.agents[node], node, "restart")

    # -- the application ---------------------------------------------------------------------------------------------

    def _think(self, application: Application) -> None:
        host = self.host
        application.plan = plan = application.plan + 1
        if application.rate:
            host.at(host.now + application.think_time(), self._ask, application, application.incarnation, plan)

    def _request(self, application: Application, incarnation: int, plan: int) -> None:
        if self.stopping or incarnation != application.incarnation or plan != application.plan:
            return
        if application.node in self.absent or application.node in self.away:  # a node that is not present does not ask
            self._think(application)
            return
        application.demand = application.draw_demand(self.host.now)
        application.scripted_stay = None
        self._give_request(application)

    def _follow_script(self, application: Application, request: ScriptedRequest) -> None:
        """The time of a scripted request has come; an application that is busy asks when it has left."""
        node = application.node
        if self.stopping or node not in self.agents or node in self.absent or node in self.away:
            return
        if application.status is not REMAINDER:
            application.backlog.append(request)
            return
        application.plan += 1  # it no longer thinks
        application.demand = application.scripted_demand(request, self.host.now)
        application.scripted_stay = request.cs_ticks
        self._give_request(application)

    def _give_request(self, application: Application) -> None:
        """The application asks for its demand."""
        node, demand, note, others = application.node, application.demand, self._note_step, self._others
        application.status = WAITING
        application.since = now = self.host.now
        self._unreleased += 1
        units, priority, deadline = demand.units, demand.priority, demand.deadline
        note((REQUESTED, now, node, units, priority, deadline))
        if others is not None:
            others.request(now, node, units, priority, deadline)
        agent = self.agents[node]
        try:
            agent.on_request(demand)
        except RAISED as error:
            raise self._failed(node, called("on_request", demand), error) from error
        if agent.outbox:
            try:
                self._apply(agent, node)
            except Exception as error:  # noqa: BLE001  (raised again, unless the outbox is to blame)
                self._explain(node, called("on_request", demand), error)
        if self._account.is_exact:
            self._account.recount(self.host.now, agent, node, "on_request", demand)

    def _enter(self, node: int) -> None:
        application, host, note, others = self.applications[node], self.host, self._note_step, self._others
        if application.status is REMAINDER:
            self._unreleased += 1  # it did not ask, which the check of safety reports
        application.status = CRITICAL
        application.stay = stay = application.stay + 1
        now, demand, cs_ticks = host.now, application.demand, application.scripted_stay
        units, priority, deadline = demand.units, demand.priority, demand.deadline
        note((ENTERED, now, node, units, priority, deadline))
        if others is not None:
            others.enter(now, node, units, priority, deadline)
        host.at(now + (application.cs_time() if cs_ticks is None else cs_ticks), self._leave, application, stay)
        self.entries += 1
        if self.entries == self._enough_entries:
            self.stop()

    def _release(self, application: Application, stay: int) -> None:
        if stay != application.stay or application.status is not CRITICAL:
            return
        node, units, note, others = application.node, application.demand.units, self._note_step, self._others
        application.status = REMAINDER
        self._unreleased -= 1
        note((EXITED, self.host.now, node, units, 0, None))
        if others is not None:
            others.exit(self.host.now, node, units)
        agent = self.agents[node]
        if self.entries < ASKED_FIRST or not self.entries % ASKED_EVERY:
            self.listener.compare(
                self.host.now, {node: held(agent, node, t=self.host.now, event="its critical section")}
            )
        try:
            agent.on_release()
        except RAISED as error:
            raise self._failed(node, "on_release()", error) from error
        if agent.outbox:
            try:
                self._apply(agent, node)
            except Exception as error:  # noqa: BLE001  (raised again, unless the outbox is to blame)
                self._explain(node, "on_release()", error)
        if self._account.is_exact:
            self._account.recount(self.host.now, agent, node, "on_release")
        if self.stopping:
            self._halt_if_served()
        elif application.backlog and node not in self.absent and node not in self.away:
            self._follow_script(application, application.backlog.popleft())
        else:
            application.backlog.clear()  # a node that is not present does not ask
            self._think(application)

    def _halt_if_served(self) -> None:
        if self.is_over():
            self.host.halt()

    def is_over(self) -> bool:
        """Whether no more requests come, and each pending one has been served or never will be."""
        return self.stopping and (not self._unreleased or self._cannot_serve())

    def _cannot_serve(self) -> bool:
        """Whether the network stays as it is and all pending requests are of nodes that can reach no unit."""
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
        except RAISED as error:
            raise self._failed(node, called(event, *args), error) from error
        self._carry_out(node, event, *args)

    def _carry_out(self, node: int, event: str, *args: Any) -> None:
        """The second half of a step: what the agent asks for, and whether its units are still all there."""
        agent = self.agents[node]
        if agent.outbox or type(agent.outbox) is not list:
            try:
                self._apply(agent, node)
            except Exception as error:  # noqa: BLE001  (raised again, unless the outbox is to blame)
                self._explain(node, called(event, *args), error)
        if self._account.is_exact:
            self._account.recount(self.host.now, agent, node, event, *args)

    def _failed(self, node: int, event: str, error: BaseException) -> AgentError:
        """The error that a handler raised an exception."""
        return AgentError(f"{type(error).__name__}: {shown(str(error))}", node=node, t=self.host.now, event=event)

    def _explain(self, node: int, event: str, error: Exception) -> NoReturn:
        """What an agent asked for could not be carried out: report the breach, if there is one in its outbox."""
        breach: Breach | None = error if isinstance(error, Breach) else None
        if breach is None and not isinstance(error, AgentError):  # that of another node, which this step led to
            breach = self._rules.breach(node, self.agents[node].outbox, self.channels[node])
        if breach is None:
            raise error
        raise AgentError(breach.why, node=node, t=self.host.now, event=event, output=breach.output) from error

    def _apply(self, agent: Agent, node: int) -> None:
        """Carry out what an agent asks for. What it sends is counted, numbered on its channels, and moved together."""
        outbox = agent.outbox
        kinds = self._classes_cut_off if self.cut_off and node in self.cut_off else self._classes
        channels, note = self.channels[node], self._note_move
        posts: list[Post] = []
        for op, a, b in outbox:
            if op is not SEND:
                if op is ENTER:
                    self._enter(node)
                else:
                    self._obey(node, op, a, b)
                continue
            kind = kinds[type(b)]
            kind.sent += len(a)
            if kind.sent >= kind.inspect_at:
                self._inspect(kind, node, a, b)
            plain = kind.plain
            for peer in a:
                try:
                    channel = channels[peer]
                except KeyError:
                    channel = self._first_channel(node, peer, b)
                channel.sent = number = channel.sent + 1
                if plain:
                    posts.append((channel, b, number, kind))
                elif kind.watched:
                    posts.append(self._watch(kind, channel, b, number))
                else:
                    posts.append((channel, b, number, kind))
                    note((SENT, self.host.now, node, peer, number, kind.name, kind.units, kind.tokens))  # type: ignore[arg-type]
        outbox.clear()
        if posts:
            move = self.host.move
            move(posts)

    def _obey(self, node: int, op: Op, a: Any, b: Any) -> None:
        """Carry out anything but a SEND or an ENTER."""
        if op is SET_TIMER:
            if why := bad_timer(a, b):
                raise Breach(called("set_timer", a, b), why)
            self._timers.set(node, a, b)
        elif op is CANCEL_TIMER:
            if not isinstance(a, str):
                raise Breach(called("cancel_timer", a), "the name of a timer is text")
            self._timers.cancel(node, a)
        else:
            known = isinstance(op, Op)
            what = op.name.lower() if known else shown((op, a, b))
            raise Breach(what, "that needs neighbourhoods" if known else "an outbox entry of no known form")

    def _inspect(self, kind: MessageClass, node: int, peers: Any, message: Message) -> None:
        """Look at one output closely: at each while a class of messages is new, later at some only, for speed."""
        kind.inspect_at = kind.sent + (1 if kind.sent < INSPECTED_FIRST else INSPECTED_EVERY)
        if breach := self._rules.breach(node, [(SEND, peers, message)], self.channels[node]):
            raise breach

    def _first_channel(self, node: int, peer: int, message: Message) -> Channel:
        """The channel to a node that an agent has not sent to before, if it may."""
        if why := self._rules.bad_peer(node, peer, self.channels[node]):
            raise Breach(called("send", peer, message), why)
        channel = self.channels[node][peer] = Channel(node, peer)
        return channel

    def _watch(self, kind: MessageClass, channel: Channel, message: Message, number: int) -> Post:
        """Report a message that leaves, and put it on its channel, or what stands for it if a fault drops it."""
        words, added, units, tokens = kind.words, kind.added_words, kind.units, kind.tokens
        if words is None or added is None or units is None or tokens is None:
            words, added, units, tokens = message.words, message.added_words, message.units, tokens_of(message)
            kind.sent_words += words
            kind.sent_added_words += added
            kind.sent_tokens += tokens > 0
        note, others = self._note_move, self._others
        now, node, peer = self.host.now, channel.source, channel.target
        if units or tokens:
            if why := self._rules.bad_amount(message):
                raise Breach(called("send", peer, message), why)
            self._account.gain(node, -units, -tokens)
            note((SENT, now, node, peer, number, kind.name, units, tokens))
        if others is not None:
            others.send(now, node, peer, number, kind.name, units, tokens, words, added, message)
        if self._losses and self._losses.take(channel.source, message):
            return channel, Dropped(message), number, self._classes[Dropped]
        return channel, message, number, kind

    def relayed(self, node: int, channel: Channel, message: Message, number: int) -> None:
        """A node between source and target passes a message on, which is charged like one more message."""
        if isinstance(message, Dropped):  # charged like the message it stands for
            message = message.message
        kind = (self._classes_cut_off if node in self.cut_off else self._classes)[message.__class__]
        words, added = kind.words, kind.added_words
        if words is None or added is None or kind.units is None:
            words, added = message.words, message.added_words
            kind.sent_words += words
            kind.sent_added_words += added
            kind.sent_tokens += tokens_of(message) > 0
        kind.sent += 1
        self.listener.relay(self.host.now, node, channel.source, channel.target, number, kind.name, words, added)

    def lose_next(self, sender: int | None, type_name: str | None) -> None:
        """Lose the next message of a node (or, for None, the next that carries a token), of a type if one is named."""
        self._losses.add(sender, type_name)
        self.counts.watch_all()

    def lost(self, post: Post, why: str) -> None:
        """A message will never arrive."""
        channel, message, number, _ = post
        if isinstance(message, Dropped):  # it was lost before
            message, why = message.message, "fault"
        name, units, tokens = type(message).__name__, message.units, tokens_of(message)
        self.listener.lost(self.host.now, channel.source, channel.target, number, name, units, tokens, why)
        if units or tokens:
            self.on_units_lost()

    def _timer(self, node: int, name: str) -> None:
        self.listener.timer(self.host.now, node, name)
        self._step(node, "on_timer", name)


def _ignore(agent: Agent, peer: int, message: Message) -> None:
    """Receive nothing."""
