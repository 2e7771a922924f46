"""Links of the link layer's own making, in the simulator: every node has one, over a simulated medium.

Who is in reach of whom is what the topology says; between those, datagrams are lost, doubled and delayed. Links form
and fall as the layers find out, so no agent is told of a change before its node could know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from random import Random

from agents.contract import Needs
from agents.message import Message
from testbed.runtime.channel import Post
from testbed.runtime.driver import Driver
from testbed.durations import Duration
from testbed.event_queue import EventQueue
from testbed.network.geometry import Geometry
from testbed.network.graph import Graph
from testbed.link.actions import Transmit
from testbed.link.frames import Packet, Relay
from testbed.link.layer import LinkLayer
from testbed.link.router import Router
from testbed.link.settings import Settings
from testbed.link.wire import Datagram, Wire
from testbed.scenario.links import RadioChoice
from testbed.network.reachability import Reach
from testbed.runtime.stack import Costs, LinkStack, RouterStack, Stack
from testbed.randomness import Streams

Flying = tuple[int, int, int]
"""A message between two nodes: its source, its target, its number."""


class SharedWire(Wire):
    """The wire of all nodes in one process: what several of them hear is read once."""

    _REMEMBERED = 256  # datagrams: more than are on their way at a time, as a rule

    def __init__(self, run: str, messages: tuple[type[Message], ...]) -> None:
        super().__init__(run, messages)
        self._read = lru_cache(self._REMEMBERED)(super().read)

    def read(self, data: bytes) -> Datagram:
        """The datagram that bytes spell, or `Junk`."""
        read = self._read
        return read(data)


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


class Accounts:
    """What one layer has taken and no other has delivered: only a simulator can know."""

    def __init__(self) -> None:
        self.flying: dict[Flying, Post] = {}

    def put(self, post: Post) -> None:
        """It is on its way."""
        self.flying[post[0].source, post[0].target, post[2]] = post

    def take(self, post: Post) -> Post | None:
        """It is on its way no more; None if it had not been."""
        return self.flying.pop((post[0].source, post[0].target, post[2]), None)


class Accounted(Stack):
    """A stack that keeps account of its messages."""

    accounts: Accounts
    on_unit: Callable[[], None]
    """Called when a message that carries units has arrived: it may be in another part than before."""

    def _taken(self, post: Post) -> None:
        self.accounts.put(post)

    def _arrived(self, post: Post) -> None:
        known = self.accounts.take(post)
        assert known is not None, f"{post[1]} {post[2]} was never sent, or came twice"
        if post[1].units:
            self.on_unit()

    def _is_gone(self, post: Post) -> bool:
        return self.accounts.take(post) is not None  # otherwise its receiver had it, and died before it could say so


class AccountedLinks(Accounted, LinkStack):
    """Over a link layer."""

    def _opened(self, peer: int) -> None:
        """A layer drops what carries no units when it seals a session; nobody delivers it once there is a new one."""
        for key in [key for key in self.accounts.flying if key[:2] == (self.node, peer)]:
            post = self.accounts.flying.pop(key)
            assert not post[1].units, f"{key} is in no new session, and nobody gave it back"
            self._driver.lost(post, "session sealed")


class AccountedRoutes(Accounted, RouterStack):
    """Over a router."""


class RadioLinks(Reach):
    """The link layers, or routers, of all nodes; what `IdealLinks` and `IdealRouter` are to the papers' model."""

    def __init__(
        self,
        queue: EventQueue,
        driver: Driver,
        graph: Graph,
        medium: Medium,
        settings: Settings,
        wire: Wire,
        streams: Streams,
        needs: Needs,
        costs: Costs,
        *,
        seconds_per_tick: float,
    ) -> None:
        super().__init__(graph)
        self._queue = queue
        self._driver = driver
        self._medium = medium
        self._settings = settings
        self._wire = wire
        self._streams = streams
        self._needs = needs
        self._costs = costs
        self._seconds_per_tick = seconds_per_tick
        self.frames: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        """Of the datagrams sent, by the frame they carry."""
        self._accounts = Accounts()
        self._lives = dict.fromkeys(self.peers, 1)
        self._stacks: dict[int, AccountedLinks | AccountedRoutes] = {}
        for node in self.peers:
            self._birth(node)

    def _birth(self, node: int) -> None:
        life, queue, driver = self._lives[node], self._queue, self._driver
        rng: Random = self._streams.of(f"link layer, life {life}", node)
        stack: AccountedLinks | AccountedRoutes
        if self._needs is Needs.LINKS:
            layer = LinkLayer(node, life, self._wire, self._settings, rng, queue.now)
            stack = AccountedLinks(layer, driver, queue, self._transmit, self._costs)
        else:
            router = Router(node, life, self._wire, self._settings, rng, queue.now)
            stack = AccountedRoutes(router, driver, queue, self._transmit, self._costs, len(self.peers))
        stack.accounts, stack.on_unit = self._accounts, self._look_again
        self._stacks[node] = stack
        stack.begin()

    # -- from the driver ---------------------------------------------------------------------------------------------

    def move(self, posts: list[Post]) -> None:
        """Give messages to the layer of their sender."""
        self._stacks[posts[0][0].source].move(posts)

    def in_transit(self) -> list[tuple[int, Post]]:
        """What has been sent and not delivered, wherever it is."""
        late = [post for one in self._stacks.values() if isinstance(one, LinkStack) for post in one.late()]
        return [(self._queue.now, post) for post in (*self._accounts.flying.values(), *late)]

    def _look_again(self) -> None:
        """A unit that others carried, or that came back, may be in another part than before."""
        if len(self.components.members) > 1:
            self.on_parts()

    # -- from the faults ---------------------------------------------------------------------------------------------

    def tear(self, node: int) -> list[Post]:
        """What dies with a process: all that it had sent and that was not delivered."""
        self._lives[node] += 1  # its datagrams on the air, and those for it, are of another life
        self._stacks.pop(node).end()
        for stack in self._stacks.values():
            stack.forget(node)
        flying = self._accounts.flying
        return [flying.pop(key) for key in list(flying) if key[0] == node]

    def drop_node(self, node: int) -> None:
        """A process that has crashed is silent; its neighbours find out."""
        self._driver.channels[node].clear()
        self.silence(node)

    def restart(self, node: int) -> None:
        """It comes back in a new life."""
        self._birth(node)

    def forget_frames(self) -> None:
        """The warmup is over: what was sent before does not count."""
        self.frames.clear()
        self.bytes.clear()

    # -- the air -----------------------------------------------------------------------------------------------------

    def _transmit(self, node: int, transmit: Transmit) -> None:
        to, data, kind = transmit
        self.frames[kind] += 1
        self.bytes[kind] += len(data)
        seconds = self._queue.now * self._seconds_per_tick
        for peer in sorted(self.peers[node]) if to is None else (to,):
            if peer in self.peers[node]:
                for delay in self._medium.arrivals(node, peer, seconds, len(data)):
                    lives = (self._lives[node], self._lives[peer])
                    self._queue.at(self._queue.now + delay, self._arrive, node, peer, lives, data)

    def _arrive(self, node: int, peer: int, lives: tuple[int, int], data: bytes) -> None:
        is_void = lives != (self._lives[node], self._lives[peer]) or self._is_of_the_dead(data)
        if peer in self._stacks and not is_void:
            self._stacks[peer].on_datagram(data)

    def _is_of_the_dead(self, data: bytes) -> bool:
        """Whether it is carried by others for a process that has crashed: all that was told to be lost with it."""
        frame = self._wire.read(data).frame
        if isinstance(frame, Relay):
            return frame.incarnation != self._lives[frame.origin]
        return isinstance(frame, Packet) and frame.incarnation != self._lives[frame.source]
