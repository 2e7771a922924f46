"""One node's link layer, or router, joined to the driver that steps its agent.

The stack carries out what the layer asks for, and gives the layer what the driver sends. A message has the same number
at both ends, although they share no memory: the number is made of the incarnations of the two processes, the session
between them and the message's place in the session, so numbers from one node to another only ever grow.
"""

from __future__ import annotations

from collections.abc import Callable

from agents.groups import GroupMessage
from agents.message import Message
from analysis.events import SESSION
from testbed.event_queue import Scheduler
from testbed.link.actions import Action, Deliver, Down, Heard, Lost, Return, Transmit, Up
from testbed.link.endtoend import EndToEnd
from testbed.link.layer import LinkLayer
from testbed.runtime.channel import Channel, Post
from testbed.runtime.driver import Driver
from testbed.runtime.place_messages import PLACE_MESSAGES
from testbed.runtime.processing_costs import ProcessingCosts
from testbed.runtime.registered_groups import RegisteredGroups

SESSIONS_PER_INCARNATION = 10**6

Put = Callable[[int, Transmit], None]
"""Puts a node's datagram on the air."""


class Stack:
    """What both kinds of layer have in common: datagrams in and out, and time.

    While a node is busy, messages wait before its layer has seen them. So the layer acknowledges nothing that the agent
    has not received, and a message that waits is lost neither with a session nor with its sender. What a node sends
    leaves at once, and keeps the node busy afterwards.
    """

    def __init__(
        self,
        layer: LinkLayer | EndToEnd,
        driver: Driver | None,
        queue: Scheduler,
        transmit: Put,
        costs: ProcessingCosts,
    ) -> None:
        """`driver`: None for a station without an agent."""
        self.node = layer.node
        self.layer = layer
        if driver is not None:
            self._driver = driver
        self._queue = queue
        self._transmit = transmit
        self._costs = costs
        self._inbox: list[tuple[int, bytes]] = []  # messages that wait, and their senders
        self._in_hand: tuple[int, bytes] | None = None  # the message that the node is busy with
        self._free_at = 0
        self._is_attending = False  # busy with a message, or the next one is planned
        self._is_carrying_out = False  # what the layer asked for
        self._planned: int | None = None  # when the layer is to be woken
        self._has_ended = False

    def begin(self) -> None:
        """Plan the layer's first wake-up."""
        self._plan()

    def end(self) -> None:
        """The process has crashed: what was planned for it does not happen."""
        self._has_ended = True

    def on_datagram(self, data: bytes) -> None:
        """A datagram has arrived. Only messages take the node's time."""
        brought = self.layer.brings(data) if self._costs.take_time else None
        if brought is None:
            self._take_in(data)
        elif (brought.source, data) not in self._inbox:
            self._inbox.append((brought.source, data))
            self._attend()

    def forget(self, source: int) -> None:
        """Drop the waiting messages of a node: its crash was reported, and they were reported as lost with it."""
        self._inbox = [waiting for waiting in self._inbox if waiting[0] != source]
        if self._in_hand is not None and self._in_hand[0] == source:
            self._in_hand = None

    def _attend(self) -> None:
        """Plan to handle a waiting message as soon as the node is free."""
        if self._inbox and not self._is_attending:
            self._is_attending = True
            self._queue.at(max(self._free_at, self._queue.now), self._turn_to_next)

    def _turn_to_next(self) -> None:
        """Start on the first waiting message that is next in order; those that came too early go on waiting."""
        self._is_attending = False
        if self._has_ended:
            return
        if self._free_at > self._queue.now:  # it has sent something meanwhile
            self._attend()
            return
        for waiting in list(self._inbox):
            brought = self.layer.brings(waiting[1])
            if brought is not None and brought.missing:
                continue
            self._inbox.remove(waiting)
            if brought is None:  # it has arrived twice, or its session is over
                self._take_in(waiting[1])
                continue
            self._is_attending, self._in_hand = True, waiting
            self._free_at = max(self._free_at, self._queue.now) + self._costs.receive
            self._queue.at(self._free_at, self._finish)
            return

    def _finish(self) -> None:
        """The time that a message takes is over."""
        waiting, self._in_hand, self._is_attending = self._in_hand, None, False
        if self._has_ended:
            return
        if waiting is not None:
            self._take_in(waiting[1])
        self._attend()

    def _take_in(self, data: bytes) -> None:
        self.layer.on_datagram(self._queue.now, data)
        self._carry_out()

    def move(self, posts: list[Post]) -> None:
        """Send messages of the agent, all of one step."""
        raise NotImplementedError

    def _do(self, action: Action) -> None:
        raise NotImplementedError

    def _carry_out(self) -> None:
        """Everything the layer asks for, in order. If the agent's answers make it ask for more, that comes after."""
        if self._is_carrying_out:
            return
        self._is_carrying_out = True
        try:
            while actions := self.layer.take():
                for action in actions:
                    if type(action) is Transmit:
                        self._transmit(self.node, action)
                    else:
                        self._do(action)
        finally:
            self._is_carrying_out = False
        self._plan()

    def _charge(self, posts: list[Post]) -> None:
        """Keep the node busy with what it has sent."""
        if self._costs.send:
            self._free_at = max(self._free_at, self._queue.now) + len(posts) * self._costs.send

    def _plan(self) -> None:
        """Plan the layer's next wake-up."""
        wake_at = max(self.layer.wake_at(), self._queue.now)
        if self._planned is None or wake_at < self._planned:
            self._planned = wake_at
            self._queue.at(wake_at, self._wake, wake_at)

    def _wake(self, planned: int) -> None:
        if self._planned == planned and not self._has_ended:
            self._planned = None
            self.layer.on_time(self._queue.now)
            self._carry_out()

    # -- what becomes of messages, for subclasses that keep a ledger of them ------------------------------------------

    def _taken(self, post: Post) -> None:
        """The layer has taken a message."""

    def _arrived(self, post: Post) -> None:
        """A message has been given to the agent it is for, or back to the agent that sent it."""

    def _is_lost(self, post: Post) -> bool:
        """Whether to report a message as lost that the layer has given up: it may have been delivered."""
        return True

    def _give_up(self, post: Post) -> None:
        if self._is_lost(post):
            self._driver.lost(post, "crash")


class LinkStack(Stack):
    """Over a link layer."""

    layer: LinkLayer

    def __init__(
        self, layer: LinkLayer, driver: Driver, queue: Scheduler, transmit: Put, costs: ProcessingCosts
    ) -> None:
        super().__init__(layer, driver, queue, transmit, costs)
        self._incarnations: dict[int, int] = {}  # of peers, in the latest session with each
        self._inbound: dict[int, Channel] = {}
        self._late: dict[int, list[Post]] = {}  # by receiver: sent into sessions that were over

    def move(self, posts: list[Post]) -> None:
        for post in posts:
            channel, message, *_ = post
            if self.layer.send(self._queue.now, channel.target, message):
                self._taken(post)
            else:  # the session is over, and the agent is about to learn of it
                self._late.setdefault(channel.target, []).append(post)
        self._charge(posts)
        self._carry_out()

    def late(self) -> list[Post]:
        """The messages that were sent into sessions that were over, and have not been given back yet."""
        return [post for posts in self._late.values() for post in posts]

    def _do(self, action: Action) -> None:
        driver, node = self._driver, self.node
        if isinstance(action, Up):
            self._incarnations[action.peer] = self.layer.incarnation_of(action.peer)
            channel, inbound = Channel(node, action.peer), Channel(action.peer, node)
            channel.sent = inbound.arrived = self._number(action.peer, action.session, 0)
            driver.channels[node][action.peer], self._inbound[action.peer] = channel, inbound
            self._opened(action.peer)
            driver.link_up(node, action.peer)
        elif isinstance(action, Down):
            del driver.channels[node][action.peer]
            driver.link_down(node, action.peer, 0)
            driver.give_back(self._late.pop(action.peer, []))
        elif isinstance(action, Deliver):
            post = self._post(self._inbound[action.peer], action)
            driver.receive([post])
            self._arrived(post)
        elif isinstance(action, Return):
            post = self._post(Channel(node, action.peer), action)
            driver.give_back([post])
            self._arrived(post)
        else:
            assert isinstance(action, Lost)
            self._give_up(self._post(Channel(node, action.peer), action))

    def _opened(self, peer: int) -> None:
        """A new session with a peer has begun: what was neither delivered nor given back before never will be."""

    def _post(self, channel: Channel, action: Deliver | Return | Lost) -> Post:
        number = self._number(action.peer, action.session, action.number)
        return self._driver.post(channel, action.message, number)

    def _number(self, peer: int, session: int, number: int) -> int:
        """Incarnations only ever grow, so the sum of two is greater than that of any pair before it."""
        earlier = self.layer.incarnation + self._incarnations[peer] - 2
        return (earlier * SESSIONS_PER_INCARNATION + session) * SESSION + number


class RouterStack(Stack):
    """From end to end, by a router or otherwise, for algorithms that address any node."""

    layer: EndToEnd

    def __init__(
        self, layer: EndToEnd, driver: Driver, queue: Scheduler, transmit: Put, costs: ProcessingCosts, nodes: int
    ) -> None:
        super().__init__(layer, driver, queue, transmit, costs)
        self._inbound = {peer: Channel(peer, self.node) for peer in range(nodes) if peer != self.node}
        for peer in self._inbound:
            channel = driver.channels[self.node][peer] = Channel(self.node, peer)
            channel.sent = self._number(layer.incarnation, 0)

    def move(self, posts: list[Post]) -> None:
        for post in posts:
            self.layer.send(self._queue.now, post[0].target, post[1])
            self._taken(post)
        self._charge(posts)
        self._carry_out()

    def _do(self, action: Action) -> None:
        if isinstance(action, Deliver):
            number = self._number(action.session, action.number)
            post = self._driver.post(self._inbound[action.peer], action.message, number)
            self._driver.receive([post])
            self._arrived(post)
        else:
            assert isinstance(action, Lost), f"a router has no other actions, but has {action}"
            number = self._number(self.layer.incarnation, action.number)
            self._give_up(self._driver.post(Channel(self.node, action.peer), action.message, number))

    def _number(self, incarnation: int, number: int) -> int:
        """The incarnation is that of the process that sent the message."""
        return (incarnation - 1) * SESSIONS_PER_INCARNATION * SESSION + number


class GroupStack(RouterStack):
    """The same for algorithms in neighbourhoods: what the stations of places say is for the node's `groups`."""

    groups: RegisteredGroups

    def send_to_place(self, place: int, message: Message) -> None:
        """Send a message to the station of a place."""
        self.layer.send(self._queue.now, place, message)
        self._carry_out()

    def _do(self, action: Action) -> None:
        if isinstance(action, Heard):
            self.groups.on_beacon(action.peer, action.beacon)
        elif isinstance(action, Deliver | Lost) and isinstance(action.message, PLACE_MESSAGES):
            if isinstance(action, Deliver):
                self.groups.on_answer(action.peer, action.message)
        else:
            if isinstance(action, Deliver):
                assert isinstance(action.message, GroupMessage)
                self.groups.note_sender(action.peer, action.message)
            super()._do(action)
