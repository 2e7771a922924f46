"""Radio links in the simulator: every node has a link layer, over simulated datagrams.

The topology says which nodes are in reach of each other; between them, datagrams are lost, doubled and delayed. Links
form and fall as the layers find out, so no agent learns of a change before its node could know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from random import Random

from agents.contract import Needs
from agents.message import Message, is_conserved
from testbed.event_queue import EventQueue
from testbed.link.actions import Transmit
from testbed.link.endtoend import EndToEnd
from testbed.link.frames import Packet, Relay
from testbed.link.layer import LinkLayer
from testbed.link.router import Router
from testbed.link.settings import LinkSettings
from testbed.link.wire import Datagram, Wire
from testbed.network.graph import Graph
from testbed.network.reachability import Reachability
from testbed.radio.datagram_loss import DatagramLoss
from testbed.randomness import Streams
from testbed.runtime.channel import Post
from testbed.runtime.driver import Driver
from testbed.runtime.processing_costs import ProcessingCosts
from testbed.runtime.stack import LinkStack, RouterStack, Stack

Flying = tuple[int, int, int]
"""A message between two nodes: its source, its target, its number."""


class SharedWire(Wire):
    """The wire of all nodes in one process: a datagram that several of them receive is read once."""

    _CACHED = 256  # datagrams: usually more than are in transit at a time

    def __init__(self, run: str, messages: tuple[type[Message], ...]) -> None:
        super().__init__(run, messages)
        self._read = lru_cache(self._CACHED)(super().read)

    def read(self, data: bytes) -> Datagram:
        """The datagram that bytes spell, or `Junk`."""
        read = self._read
        return read(data)


class TransitLedger:
    """The messages that one layer has taken and no other has delivered, which only a simulator can know."""

    def __init__(self) -> None:
        self.flying: dict[Flying, Post] = {}

    def put(self, post: Post) -> None:
        """It is in transit."""
        self.flying[post[0].source, post[0].target, post[2]] = post

    def take(self, post: Post) -> Post | None:
        """It is no longer in transit; None if it was not."""
        return self.flying.pop((post[0].source, post[0].target, post[2]), None)


class TrackedStack(Stack):
    """A stack whose messages are entered in a ledger while they are in transit."""

    ledger: TransitLedger
    on_unit: Callable[[], None]
    """Called when a message that carries units has arrived: it may be in another component than before."""

    def _taken(self, post: Post) -> None:
        self.ledger.put(post)

    def _arrived(self, post: Post) -> None:
        known = self.ledger.take(post)
        assert known is not None, f"{post[1]} {post[2]} was never sent, or arrived twice"
        if is_conserved(post[1]):
            self.on_unit()

    def _is_lost(self, post: Post) -> bool:
        return (
            self.ledger.take(post) is not None
        )  # otherwise its receiver had it, and crashed before it acknowledged it


class TrackedLinks(TrackedStack, LinkStack):
    """Over a link layer."""

    def _opened(self, peer: int) -> None:
        """A layer that seals a session drops messages without units; in a new session they are never delivered."""
        for key in [key for key in self.ledger.flying if key[:2] == (self.node, peer)]:
            post = self.ledger.flying.pop(key)
            assert not is_conserved(post[1]), f"{key} carries units, is not in the new session, and was not given back"
            self._driver.lost(post, "session sealed")


class TrackedRoutes(TrackedStack, RouterStack):
    """Over a router."""


class RadioLinks(Reachability):
    """The link layers, or routers, of all nodes: the counterpart of `IdealLinks` and `IdealRouter`."""

    def __init__(
        self,
        queue: EventQueue,
        driver: Driver,
        graph: Graph,
        loss: DatagramLoss,
        settings: LinkSettings,
        wire: Wire,
        streams: Streams,
        needs: Needs,
        costs: ProcessingCosts,
        seconds_per_tick: float,
    ) -> None:
        super().__init__(graph)
        self._queue = queue
        self._driver = driver
        self._loss = loss
        self._settings = settings
        self._wire = wire
        self._streams = streams
        self._needs = needs
        self._costs = costs
        self._seconds_per_tick = seconds_per_tick
        self.frames: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        """Of the datagrams sent, by the frame they carry."""
        self._ledger = TransitLedger()
        self._incarnations = dict.fromkeys(self.peers, 1)
        self._stacks: dict[int, Stack] = {}
        for node in self.peers:
            self._start(node)

    def _start(self, node: int) -> None:
        stack = self._stacks[node] = self._make_stack(node)
        if isinstance(stack, TrackedStack):
            stack.ledger, stack.on_unit = self._ledger, self._units_moved
        stack.begin()

    def _make_stack(self, node: int) -> Stack:
        queue, driver = self._queue, self._driver
        if self._needs is Needs.LINKS:
            args = (node, self._incarnations[node], self._wire, self._settings, self._rng(node), queue.now)
            return TrackedLinks(LinkLayer(*args), driver, queue, self._transmit, self._costs)
        return TrackedRoutes(self._router(node), driver, queue, self._transmit, self._costs, len(self.peers))

    def _router(self, node: int) -> EndToEnd:
        incarnation = self._incarnations[node]
        return Router(node, incarnation, self._wire, self._settings, self._rng(node), self._queue.now)

    def _rng(self, node: int) -> Random:
        return self._streams.of(f"link layer, life {self._incarnations[node]}", node)

    # -- from the driver ---------------------------------------------------------------------------------------------

    def move(self, posts: list[Post]) -> None:
        """Give messages to the layer of their sender."""
        self._stacks[posts[0][0].source].move(posts)

    def in_transit(self) -> list[tuple[int, Post]]:
        """The messages that have been sent and not delivered."""
        late = [post for one in self._stacks.values() if isinstance(one, LinkStack) for post in one.late()]
        return [(self._queue.now, post) for post in (*self._ledger.flying.values(), *late)]

    def _units_moved(self) -> None:
        """A unit that other nodes relayed, or that came back, may be in another component than before."""
        if len(self.components.members) > 1:
            self.on_partition_change()

    # -- from the faults ---------------------------------------------------------------------------------------------

    def tear(self, node: int) -> list[Post]:
        """The messages that are lost with a process that crashes: all that it had sent and that were not delivered."""
        self._incarnations[node] += 1  # so that datagrams in transit from and to the old incarnation are dropped
        self._stacks.pop(node).end()
        for stack in self._stacks.values():
            stack.forget(node)
        flying = self._ledger.flying
        return [flying.pop(key) for key in list(flying) if key[0] == node]

    def drop_node(self, node: int) -> None:
        """A process that has crashed sends nothing more; its neighbours find out."""
        self._driver.channels[node].clear()
        self.silence(node)

    def restart(self, node: int) -> None:
        """The node comes back as a new incarnation."""
        self._start(node)

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
                for delay in self._loss.arrivals(node, peer, seconds, len(data)):
                    incarnations = (self._incarnations[node], self._incarnations[peer])
                    self._queue.at(self._queue.now + delay, self._arrive, node, peer, incarnations, data)

    def _arrive(self, node: int, peer: int, incarnations: tuple[int, int], data: bytes) -> None:
        current = (self._incarnations[node], self._incarnations[peer])
        is_void = incarnations != current or self._is_from_a_crashed_process(data)
        if peer in self._stacks and not is_void:
            self._stacks[peer].on_datagram(data)

    def _is_from_a_crashed_process(self, data: bytes) -> bool:
        """Whether other nodes relay it for a process that has crashed: its messages were reported as lost."""
        frame = self._wire.read(data).frame
        if isinstance(frame, Relay):
            return frame.incarnation != self._incarnations[frame.origin]
        return isinstance(frame, Packet) and frame.incarnation != self._incarnations[frame.source]
