"""One node's link layer, or router, joined to the driver that steps its agent.

What the layer asks for is carried out here, and what the driver sends is given to the layer. A message is known by the
same number at both ends, although they share no memory: it is made of the lives of the two processes, the session
between them and the message's place in it, so numbers from one node to another only ever grow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from analysis.events import SESSION
from testbed.runtime.channel import Channel, Post
from testbed.runtime.driver import Driver
from testbed.durations import to_ticks
from testbed.link.actions import Action, Deliver, Down, Lost, Return, Transmit, Up
from testbed.link.endtoend import EndToEnd
from testbed.link.layer import LinkLayer
from testbed.scenario.schema import Delays

SESSIONS_PER_LIFE = 10**6


Put = Callable[[int, Transmit], None]
"""Puts a node's datagram on the air."""


class Queue(Protocol):
    """Time, and a way to be called later."""

    @property
    def now(self) -> int:
        """The time in ticks."""

    def at(self, t: int, happen: Callable[..., None], *args: Any) -> None:
        """Call `happen(*args)` at time t."""


class Costs(NamedTuple):
    """For how many ticks a node is busy with each message: `delays.send` and `delays.receive` of a scenario."""

    send: int = 0
    receive: int = 0

    @classmethod
    def of(cls, delays: Delays) -> Costs:
        """As a scenario has them."""
        return cls(to_ticks(delays.send), to_ticks(delays.receive))


class Stack:
    """What both kinds of layer have in common: datagrams in and out, and time.

    A node that is busy lets messages wait before its layer has seen them: nothing is acknowledged that its agent has
    not been told, and what waits is neither lost with a session nor with the node. What it sends leaves at once, and
    keeps it busy afterwards.
    """

    def __init__(self, layer: LinkLayer | EndToEnd, driver: Driver, queue: Queue, transmit: Put, costs: Costs) -> None:
        self.node = layer.node
        self.layer = layer
        self._driver = driver
        self._queue = queue
        self._transmit = transmit
        self._costs = costs
        self._inbox: list[tuple[int, bytes]] = []  # whose messages wait until there is time, or for one before them
        self._in_hand: tuple[int, bytes] | None = None  # the one that it spends its time on
        self._free_at = 0
        self._is_attending = False  # to a message, or is to turn to one
        self._is_busy = False  # the layer's wishes are being carried out
        self._planned: int | None = None  # when the layer is to be woken
        self._is_dead = False

    def begin(self) -> None:
        """Let time pass for the layer."""
        self._plan()

    def end(self) -> None:
        """The process is dead: what was planned for it does not happen."""
        self._is_dead = True

    def on_datagram(self, data: bytes) -> None:
        """Bytes came in. Only messages take the node's time."""
        brought = self.layer.brings(data) if any(self._costs) else None
        if brought is None:
            self._take_in(data)
        elif (brought.source, data) not in self._inbox:
            self._inbox.append((brought.source, data))
            self._attend()

    def forget(self, source: int) -> None:
        """What waits of a node is not handled: whoever decides such things has said that it is lost."""
        self._inbox = [waiting for waiting in self._inbox if waiting[0] != source]
        if self._in_hand is not None and self._in_hand[0] == source:
            self._in_hand = None

    def _attend(self) -> None:
        """Turn to what waits, as soon as there is time."""
        if self._inbox and not self._is_attending:
            self._is_attending = True
            self._queue.at(max(self._free_at, self._queue.now), self._turn_to_next)

    def _turn_to_next(self) -> None:
        """Spend time on the first message that is next in order; those before their time go on waiting."""
        self._is_attending = False
        if self._is_dead:
            return
        if self._free_at > self._queue.now:  # it has sent something meanwhile
            self._attend()
            return
        for waiting in list(self._inbox):
            brought = self.layer.brings(waiting[1])
            if brought is not None and brought.missing:
                continue
            self._inbox.remove(waiting)
            if brought is None:  # it has come twice, or its session is over
                self._take_in(waiting[1])
                continue
            self._is_attending, self._in_hand = True, waiting
            self._free_at = max(self._free_at, self._queue.now) + self._costs.receive
            self._queue.at(self._free_at, self._finish)
            return

    def _finish(self) -> None:
        """The time that a message takes is over."""
        waiting, self._in_hand, self._is_attending = self._in_hand, None, False
        if self._is_dead:
            return
        if waiting is not None:
            self._take_in(waiting[1])
        self._attend()

    def _take_in(self, data: bytes) -> None:
        self.layer.on_datagram(self._queue.now, data)
        self._carry_out()

    def move(self, posts: list[Post]) -> None:
        """Messages of the agent's, all of one step."""
        raise NotImplementedError

    def _do(self, action: Action) -> None:
        raise NotImplementedError

    def _carry_out(self) -> None:
        """Everything the layer asks for, in order. What the agent answers makes it ask for more, which comes after."""
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while actions := self.layer.take():
                for action in actions:
                    if type(action) is Transmit:
                        self._transmit(self.node, action)
                    else:
                        self._do(action)
        finally:
            self._is_busy = False
        self._plan()

    def _charge(self, posts: list[Post]) -> None:
        """Be busy with what was sent."""
        if self._costs.send:
            self._free_at = max(self._free_at, self._queue.now) + len(posts) * self._costs.send

    def _plan(self) -> None:
        """Have the layer woken in time."""
        wake_at = max(self.layer.wake_at(), self._queue.now)
        if self._planned is None or wake_at < self._planned:
            self._planned = wake_at
            self._queue.at(wake_at, self._wake, wake_at)

    def _wake(self, planned: int) -> None:
        if self._planned == planned and not self._is_dead:
            self._planned = None
            self.layer.on_time(self._queue.now)
            self._carry_out()

    # -- what becomes of messages, for those who keep account of them -------------------------------------------------

    def _taken(self, post: Post) -> None:
        """The layer has taken a message."""

    def _arrived(self, post: Post) -> None:
        """A message has been given to the agent it is for, or back to the one who sent it."""

    def _is_gone(self, post: Post) -> bool:
        """Whether a message that nobody will hear of again is to be reported as lost: it may have been delivered."""
        return True

    def _give_up(self, post: Post) -> None:
        if self._is_gone(post):
            self._driver.lost(post, "crash")


class LinkStack(Stack):
    """Over a link layer."""

    layer: LinkLayer

    def __init__(self, layer: LinkLayer, driver: Driver, queue: Queue, transmit: Put, costs: Costs) -> None:
        super().__init__(layer, driver, queue, transmit, costs)
        self._lives: dict[int, int] = {}  # by peer, of the latest session with it
        self._inbound: dict[int, Channel] = {}
        self._late: dict[int, list[Post]] = {}  # sent into sessions that were over, by receiver

    def move(self, posts: list[Post]) -> None:
        for post in posts:
            channel, message, *_ = post
            if self.layer.send(self._queue.now, channel.target, message):
                self._taken(post)
            else:  # the session is over, and its agent is about to be told
                self._late.setdefault(channel.target, []).append(post)
        self._charge(posts)
        self._carry_out()

    def late(self) -> list[Post]:
        """What was sent into sessions that were over and has not been given back yet."""
        return [post for posts in self._late.values() for post in posts]

    def _do(self, action: Action) -> None:
        driver, node = self._driver, self.node
        if isinstance(action, Up):
            self._lives[action.peer] = self.layer.life_of(action.peer)
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
        """A new session with a peer: what was not delivered before, and not given back, never will be."""

    def _post(self, channel: Channel, action: Deliver | Return | Lost) -> Post:
        number = self._number(action.peer, action.session, action.number)
        return self._driver.post(channel, action.message, number)

    def _number(self, peer: int, session: int, number: int) -> int:
        """Lives only ever grow, so their sum tells one pair of lives from all others that were before or come after."""
        lives = self.layer.incarnation + self._lives[peer] - 2
        return (lives * SESSIONS_PER_LIFE + session) * SESSION + number


class RouterStack(Stack):
    """From end to end, by a router or otherwise, for algorithms that address any node."""

    layer: EndToEnd

    def __init__(self, layer: EndToEnd, driver: Driver, queue: Queue, transmit: Put, costs: Costs, nodes: int) -> None:
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
            assert isinstance(action, Lost), f"a router has nothing else to say, but said {action}"
            number = self._number(self.layer.incarnation, action.number)
            self._give_up(self._driver.post(Channel(self.node, action.peer), action.message, number))

    def _number(self, life: int, number: int) -> int:
        """The life is that of the process which sent it."""
        return (life - 1) * SESSIONS_PER_LIFE * SESSION + number
