"""Links of the link layer's own making, in the simulator: every node has one, over a simulated medium.

Who is in reach of whom is what the topology says; between those, datagrams are lost, doubled and delayed. Links form
and fall as the layers find out, so no agent is told of a change before its node could know.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from random import Random
from typing import Any, ClassVar

from testbed.channel import Channel, Post
from testbed.components import Components
from testbed.driver import Driver
from testbed.durations import Duration
from testbed.eventqueue import EventQueue
from testbed.geometry import Geometry
from testbed.graph import Graph
from testbed.link.actions import Action, Deliver, Down, Lost, Return, Transmit, Up
from testbed.link.layer import LinkLayer
from testbed.link.router import Router
from testbed.link.settings import Settings
from testbed.link.wire import Wire
from testbed.linkchoice import RadioChoice
from testbed.streams import Streams

Flying = tuple[int, int, int, int]
"""A message between two layers: its source, its target, its session, its number."""


class Medium:
    """Decides for every datagram whether it arrives, how often, and when."""

    def __init__(self, choice: RadioChoice, hop: Duration, streams: Streams, geometry: Geometry | None) -> None:
        self._rng = streams.of("medium")
        self._loss, self._duplicate = choice.loss, choice.duplicate
        self._delay = hop.sampler(streams.of("delay"))
        self._geometry = geometry

    def arrivals(self, source: int, target: int, seconds: float, size_bytes: int) -> list[int]:
        """The delays after which copies of a datagram arrive; none, if it is lost."""
        copies = 1 + (self._rng.random() < self._duplicate)
        return [self._delay() for _ in range(copies) if self._arrives(source, target, seconds, size_bytes)]

    def _arrives(self, source: int, target: int, seconds: float, size_bytes: int) -> bool:
        if self._rng.random() < self._loss:
            return False
        if self._geometry is None:
            return True
        places = self._geometry.trajectories
        at_source, at_target = places[source].at(seconds), places[target].at(seconds)
        return self._geometry.air.draw_received(source, target, at_source, at_target, size_bytes, self._rng)


class RadioLinks:
    """The link layers of all nodes; what `IdealLinks` is to the papers' model."""

    layer: ClassVar[type[LinkLayer] | type[Router]] = LinkLayer

    def __init__(
        self,
        queue: EventQueue,
        driver: Driver,
        graph: Graph,
        medium: Medium,
        settings: Settings,
        wire: Wire,
        streams: Streams,
        *,
        seconds_per_tick: float,
    ) -> None:
        self._queue = queue
        self._driver = driver
        self._medium = medium
        self._settings = settings
        self._wire = wire
        self._streams = streams
        self._seconds_per_tick = seconds_per_tick
        self._reach: dict[int, set[int]] = {node: set(peers) for node, peers in enumerate(graph.peers)}
        self.components = Components(self._reach)
        self.on_parts: Callable[[], None] = lambda: None
        """Called when two components have become one, or one two."""
        self.frames: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        """Of the datagrams sent, by the frame they carry."""
        self._flying: dict[Flying, Post] = {}  # what one layer has taken and no other has delivered
        self._before: dict[tuple[int, int], int] = {}  # messages from one node to another in the sessions before
        self._late: dict[tuple[int, int], list[Post]] = {}  # sent into sessions that were over, by sender and receiver
        self._busy: set[int] = set()  # nodes whose layers' wishes are being carried out
        self._lives = dict.fromkeys(self._reach, 1)
        self._layers = {node: self._birth(node) for node in self._reach}
        self._planned: dict[int, int] = {}  # when each layer is to be woken
        for node in self._layers:
            self._plan(node)

    def _birth(self, node: int) -> LinkLayer | Router:
        rng: Random = self._streams.of(f"link layer, life {self._lives[node]}", node)
        return self.layer(node, self._lives[node], self._wire, self._settings, rng, self._queue.now)

    # -- from the driver ---------------------------------------------------------------------------------------------

    def move(self, posts: list[Post]) -> None:
        """Give messages to the layer of their sender."""
        for channel, message, number in posts:
            node, peer = channel.source, channel.target
            post = (channel, message, number)
            if self._layers[node].send(self._queue.now, peer, message):
                self._flying[node, peer, channel.session, number - self._before[node, peer]] = post
                self._carry_out(node)
            else:  # the session is over, and its agent is about to be told
                self._late.setdefault((node, peer), []).append(post)

    def in_transit(self) -> list[tuple[int, Post]]:
        """What has been sent and not delivered, wherever it is."""
        late = [post for posts in self._late.values() for post in posts]
        return [(self._queue.now, post) for post in (*self._flying.values(), *late)]

    # -- from the topology and the faults ----------------------------------------------------------------------------

    def up(self, a: int, b: int) -> None:
        """Two nodes are in reach of each other."""
        self._reach[a].add(b)
        self._reach[b].add(a)
        if self.components.join(a, b):
            self.on_parts()

    def down(self, a: int, b: int) -> None:
        """Two nodes are out of reach of each other."""
        self._reach[a].discard(b)
        self._reach[b].discard(a)
        if self.components.part(a, b):
            self.on_parts()

    def tear(self, node: int) -> list[Post]:
        """What dies with a process: all that it had sent and that was not delivered."""
        self._lives[node] += 1  # its datagrams on the air, and those for it, are of another life
        self._layers.pop(node)
        return [self._flying.pop(key) for key in list(self._flying) if key[0] == node]

    def drop_node(self, node: int) -> None:
        """A process that has crashed is silent; its neighbours find out."""
        self._driver.channels[node].clear()
        for peer in list(self._reach[node]):
            self.down(node, peer)

    def restart(self, node: int) -> None:
        """It comes back in a new life."""
        self._layers[node] = self._birth(node)
        self._planned.pop(node, None)
        self._plan(node)

    # -- the air -----------------------------------------------------------------------------------------------------

    def _transmit(self, node: int, transmit: Transmit) -> None:
        to, data, kind = transmit
        self.frames[kind] += 1
        self.bytes[kind] += len(data)
        seconds = self._queue.now * self._seconds_per_tick
        for peer in sorted(self._reach[node]) if to is None else (to,):
            if peer in self._reach[node]:
                for delay in self._medium.arrivals(node, peer, seconds, len(data)):
                    lives = (self._lives[node], self._lives[peer])
                    self._queue.at(self._queue.now + delay, self._arrive, node, peer, lives, data)

    def _arrive(self, node: int, peer: int, lives: tuple[int, int], data: bytes) -> None:
        if lives == (self._lives[node], self._lives[peer]) and peer in self._layers:
            self._layers[peer].on_datagram(self._queue.now, data)
            self._carry_out(peer)

    # -- time --------------------------------------------------------------------------------------------------------

    def _plan(self, node: int) -> None:
        """Have the layer woken in time."""
        wake_at = max(self._layers[node].wake_at(), self._queue.now)
        if wake_at < self._planned.get(node, wake_at + 1):
            self._planned[node] = wake_at
            self._queue.at(wake_at, self._wake, node, wake_at)

    def _wake(self, node: int, planned: int) -> None:
        if self._planned.get(node) == planned and node in self._layers:
            del self._planned[node]
            self._layers[node].on_time(self._queue.now)
            self._carry_out(node)

    # -- what a layer asks for ---------------------------------------------------------------------------------------

    def _carry_out(self, node: int) -> None:
        """Everything, in order. What the agent answers makes the layer ask for more, which comes after."""
        if node in self._busy:
            return
        self._busy.add(node)
        try:
            while actions := self._layers[node].take():
                for action in actions:
                    self._do(node, action)
        finally:
            self._busy.discard(node)
        self._plan(node)

    def _do(self, node: int, action: Action) -> None:
        driver = self._driver
        if isinstance(action, Transmit):
            self._transmit(node, action)
        elif isinstance(action, Up):
            self._forget_dropped(node, action.peer)
            driver.channels[node][action.peer] = self._open_channel(node, action.peer, action.session)
            driver.link_up(node, action.peer)
        elif isinstance(action, Down):
            self._before[node, action.peer] = driver.channels[node].pop(action.peer).sent
            driver.link_down(node, action.peer, 0)
            driver.give_back(self._late.pop((node, action.peer), []))
        elif isinstance(action, Deliver):
            post = self._flying.pop((action.peer, node, action.session, action.number), None)
            assert post is not None, f"node {node}: {action} was never sent, or came twice"
            driver.receive([(post[0], action.message, post[2])])
            self._look_again(post)
        else:
            self._give_up(node, action)

    def _look_again(self, post: Post) -> None:
        """A unit that others carried, or that came back, may be in another part than before."""
        if post[1].units and len(self.components.members) > 1:
            self.on_parts()

    def _open_channel(self, node: int, peer: int, session: int) -> Channel:
        """The driver counts messages from one node to another on through all sessions."""
        channel = Channel(node, peer, session)
        channel.sent = channel.arrived = self._before.setdefault((node, peer), 0)
        return channel

    def _forget_dropped(self, node: int, peer: int) -> None:
        """A layer drops what carries no units when it seals a session; nobody delivers it once there is a new one."""
        for key in [key for key in self._flying if key[:2] == (node, peer)]:
            post = self._flying.pop(key)
            assert not post[1].units, f"{key} is in no new session, and nobody gave it back"
            self._driver.lost(post, "session sealed")

    def _give_up(self, node: int, action: Return | Lost) -> None:
        post = self._flying.pop((node, action.peer, action.session, action.number), None)
        if isinstance(action, Return):
            assert post is not None, f"node {node}: {action} was delivered, or given back before"
            self._driver.give_back([post])
            self._look_again(post)
        elif post is not None:  # otherwise it was delivered, and its receiver died before it could say so
            self._driver.lost(post, "crash")


class RadioRouters(RadioLinks):
    """The routers of all nodes, for algorithms that address any node; what `IdealRouter` is to the papers' model."""

    layer = Router

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self._queues: dict[tuple[int, int], deque[Post]] = {}  # by source and target, in the order they were sent
        super().__init__(*arguments, **more)

    def move(self, posts: list[Post]) -> None:
        """Give messages to the router of their sender."""
        for channel, message, number in posts:
            node, peer = channel.source, channel.target
            self._queues.setdefault((node, peer), deque()).append((channel, message, number))
            self._layers[node].send(self._queue.now, peer, message)
            self._carry_out(node)

    def in_transit(self) -> list[tuple[int, Post]]:
        """What has been sent and not delivered, wherever it is."""
        return [(self._queue.now, post) for posts in self._queues.values() for post in posts]

    def tear(self, node: int) -> list[Post]:
        """What dies with a process: all that it had sent and that was not delivered."""
        super().tear(node)
        return [post for key in list(self._queues) if key[0] == node for post in self._queues.pop(key)]

    def _do(self, node: int, action: Action) -> None:
        if isinstance(action, Transmit):
            self._transmit(node, action)
        elif isinstance(action, Deliver):
            post = self._queues[action.peer, node].popleft()
            assert post[1] == action.message, f"node {node}: {action} instead of {post[1]}"
            self._driver.receive([post])
        else:
            assert isinstance(action, Lost), f"a router has nothing else to say, but said {action}"
            posts = self._queues[node, action.peer]
            for post in [post for post in posts if post[1] is action.message]:  # none, if it was delivered after all
                posts.remove(post)
                self._driver.lost(post, "crash")
