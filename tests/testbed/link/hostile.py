"""A hostile medium below link layers, and a record of what the layers did. All of a case follows from its seed.

Nodes send numbered coins, which carry a unit each, and plain notes over the links that are up; the medium loses,
doubles, delays and reorders datagrams, pairs of nodes go out of reach and come back, processes crash and restart. The
record raises `AssertionError` at the first broken promise.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import ClassVar

from agents.message import Message
from testbed.link.actions import Deliver, Down, Lost, Return, Transmit, Up
from testbed.link.layer import LinkLayer
from testbed.link.settings import LinkSettings
from testbed.link.wire import MAX_BYTES, Wire

MS = 1_000_000  # ticks
ENCODED_EVERY = 10
"""One case in so many sends real bytes; the others pass objects, which takes half the time."""


@dataclass(frozen=True, slots=True)
class Coin(Message):
    """Carries a unit, and must be in one place only."""

    units: ClassVar[int] = 1
    serial: int


@dataclass(frozen=True, slots=True)
class Note(Message):
    """Carries no unit."""

    serial: int


SETTINGS = LinkSettings(
    hello=100 * MS, jitter=0.2, up_after=2, dead_after=350 * MS, retry=30 * MS, max_retry=400 * MS,
    close_timeout=1_500 * MS, window=4, relay_hops=4,
)  # fmt: skip


class ObjectWire(Wire):
    """A wire whose bytes are only references to objects. The layers cannot tell it from one that encodes them."""

    def __init__(self, run, messages) -> None:
        super().__init__(run, messages)
        self._spelt = []

    def spell(self, datagram) -> bytes:
        """A new reference to a datagram or a message."""
        self._spelt.append(datagram)
        return (len(self._spelt) - 1).to_bytes(4)

    def read(self, data):
        """What a reference stands for."""
        return self._spelt[int.from_bytes(data)]

    spell_message, read_message = spell, read


@dataclass
class Book:
    """What one end was told about its link to one peer."""

    up: bool = False
    incarnation: int = 0  # of the peer
    session: int = 0
    sessions: list[int] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)  # in this session
    delivered: int = 0


class Hostile:
    """Some nodes, the air between them, and a record of what was promised."""

    def __init__(
        self, seed: int, layer: type[LinkLayer] = LinkLayer, *, crashes: bool = True, wire: type[Wire] = Wire
    ) -> None:
        self.rng = Random(seed)
        rng = self.rng
        self.layer = layer
        self.nodes = rng.choice((2, 2, 3, 3, 4))
        self.loss = rng.choice((0.0, 0.1, 0.3, 0.5))
        self.doubling = rng.choice((0.0, 0.1, 0.3))
        self.slowest = rng.choice((2, 50, 500)) * MS  # beyond several hello intervals
        self.crashes = crashes and rng.random() < 0.3
        self.settings = SETTINGS if rng.random() < 0.7 else _never_sealing()
        self.now = 0
        self.queue: list[tuple[int, int, int, bytes]] = []  # arrival, ticket, receiver, datagram
        self.ticket = 0
        self.wire = wire(f"run {seed}", (Coin, Note))
        self.apart: set[frozenset[int]] = set()
        self.incarnations = [1] * self.nodes
        self.layers = [self._start(node) for node in range(self.nodes)]
        self.wakes = [layer.wake_at() for layer in self.layers]
        self.books: dict[tuple[int, int], Book] = {}
        self.serial = 0
        self.where: dict[int, object] = {}  # coin -> the node that has it, or the (source, target) it is between
        self.lost: set[int] = set()
        self.log: dict[tuple[int, int, int, int, int], list[Message]] = {}  # delivered, by incarnations and session
        for node in range(self.nodes):
            self._mint(node)

    def _start(self, node: int) -> LinkLayer:
        rng = Random(self.rng.random())
        return self.layer(node, self.incarnations[node], self.wire, self.settings, rng, self.now)

    def _mint(self, node: int) -> None:
        self.serial += 1
        self.where[self.serial] = node

    def book(self, node: int, peer: int) -> Book:
        book = self.books.get((node, peer))
        if book is None:
            book = self.books[node, peer] = Book()
        return book

    # -- a run -------------------------------------------------------------------------------------------------------

    def run(self, seconds: float, *, changing: bool = True) -> None:
        end = self.now + round(seconds * 1000) * MS
        change_at = self.now if changing else end
        queue, wakes = self.queue, self.wakes
        while self.now < end:
            wake_at = min(wakes)
            arrival = queue[0][0] if queue else end
            now = self.now = max(self.now, min(wake_at, arrival, change_at, end))
            if arrival <= now < end:
                _, _, node, data = heappop(queue)
                self.layers[node].on_datagram(now, data)
                self._carry_out(node)
            elif change_at <= now < end:
                self._change()
                change_at = now + round(self.rng.expovariate(1 / (40 * MS)))
            elif wake_at <= now:
                node = wakes.index(wake_at)
                self.layers[node].on_time(now)
                self._carry_out(node)
                assert wakes[node] > now, "a layer wants to be woken at once, again and again"

    def _change(self) -> None:
        rng, choice = self.rng, self.rng.random()
        if choice < 0.06:
            pair = frozenset(rng.sample(range(self.nodes), 2))
            self.apart ^= {pair}
        elif choice < 0.07:
            self.apart = {frozenset((a, b)) for a in range(self.nodes) for b in range(a) if rng.random() < 0.4}
        elif choice < 0.08 and self.crashes:
            self._crash(rng.randrange(self.nodes))
        else:
            self._send(rng.randrange(self.nodes))

    def _send(self, node: int) -> None:
        peers = [peer for peer in range(self.nodes) if peer != node and self.book(node, peer).up]
        if not peers:
            return
        peer = self.rng.choice(peers)
        message = self._next_message(node, peer)
        assert self.layers[node].send(self.now, peer, message), "a link that is up takes messages"
        self.book(node, peer).sent.append(message)
        self._carry_out(node)

    def _next_message(self, node: int, peer: int) -> Message:
        """A coin that the node has, which is in transit to the peer from now on, or a new note."""
        coins = [coin for coin, place in self.where.items() if place == node]
        if coins and self.rng.random() < 0.5:
            coin = Coin(self.rng.choice(coins))
            self.where[coin.serial] = (node, peer)
            return coin
        self.serial += 1
        return Note(self.serial)

    def _crash(self, node: int) -> None:
        self.incarnations[node] += 1
        self.layers[node] = self._start(node)
        self.wakes[node] = self.layers[node].wake_at()
        for (a, b), book in self.books.items():
            if a == node:
                for message in book.sent:  # the crash loses what the node had in transit or in doubt
                    if isinstance(message, Coin) and self.where.get(message.serial) == (a, b):
                        self.lost.add(message.serial)
                self.books[a, b] = Book()
        for coin, place in self.where.items():
            if place == node or (isinstance(place, tuple) and place[0] == node):
                self.lost.add(coin)
        self._mint(node)

    # -- what the layers did -----------------------------------------------------------------------------------------

    def _carry_out(self, node: int) -> None:
        for action in self.layers[node].take():
            if isinstance(action, Transmit):
                self._transmit(node, action)
            elif isinstance(action, Up):
                self._up(node, action)
            elif isinstance(action, Down):
                book = self.book(node, action.peer)
                assert book.up, "down, but it was not up"
                assert book.session == action.session
                book.up = False
            elif isinstance(action, Deliver):
                self._deliver(node, action)
            elif isinstance(action, Return):
                self._take_back(node, action.peer, action.message, "returned")
            elif isinstance(action, Lost):
                assert self.incarnations[action.peer] > 1, "lost, although the peer never crashed"
                coin = action.message.serial if isinstance(action.message, Coin) else None
                if coin is not None and self.where[coin] == (node, action.peer):  # else it had been delivered
                    self.lost.add(coin)
        self.wakes[node] = self.layers[node].wake_at()

    def _transmit(self, node: int, action: Transmit) -> None:
        assert len(action.data) <= MAX_BYTES
        random, apart = self.rng.random, self.apart
        for peer in range(self.nodes) if action.to is None else (action.to,):
            if peer == node or (apart and frozenset((node, peer)) in apart):
                continue
            for _ in range(1 + (random() < self.doubling)):
                if random() >= self.loss:
                    self.ticket += 1
                    delay = MS + round(random() ** 3 * self.slowest)
                    heappush(self.queue, (self.now + delay, self.ticket, peer, action.data))

    def _up(self, node: int, action: Up) -> None:
        book = self.book(node, action.peer)
        assert not book.up, "up twice"
        incarnation = self.layers[node].incarnation_of(action.peer)
        assert (incarnation, action.session) > (book.incarnation, book.session), "sessions are told apart"
        book.incarnation = incarnation
        unsettled = [m for m in book.sent if isinstance(m, Coin) and self.where.get(m.serial) == (node, action.peer)]
        assert not [m for m in unsettled if m.serial not in self.lost], f"a new session with {unsettled} unsettled"
        book.up, book.session, book.delivered, book.sent = True, action.session, 0, []
        book.sessions.append(action.session)

    def _deliver(self, node: int, action: Deliver) -> None:
        peer, session, number, message = action
        book = self.book(node, peer)
        assert book.up, "delivered while the link is down"
        assert session == book.session
        assert number == book.delivered + 1, f"{number} after {book.delivered}"
        book.delivered = number
        pair = (peer, self.incarnations[peer], node, self.incarnations[node], session)
        self.log.setdefault(pair, []).append(message)
        sent = self.book(peer, node)
        if sent.session == session and sent.sessions:
            assert sent.sent[number - 1] == message, "not what was sent"
        if isinstance(message, Coin):
            place = self.where[message.serial]
            assert place == (peer, node) or message.serial in self.lost, f"coin {message.serial} was {place}"
            if place == (peer, node):
                self.where[message.serial] = node
                self.lost.discard(message.serial)

    def _take_back(self, node: int, peer: int, message: Message, what: str) -> None:
        assert not self.book(node, peer).up, f"{what} while the link is up"
        if isinstance(message, Coin):
            assert self.where[message.serial] == (node, peer), f"{what}, but it is at {self.where[message.serial]}"
            self.where[message.serial] = node

    # -- the end -----------------------------------------------------------------------------------------------------

    def heal_and_check(self) -> None:
        """All nodes in reach again, on a better medium: all links come up, all doubts are settled, both ends agree."""
        self.apart.clear()
        self.loss, self.slowest = min(self.loss, 0.05), 2 * MS
        for _ in range(30):
            self.run(0.5, changing=False)
            if self._is_calm():
                break
        for a in range(self.nodes):
            for b in range(a):
                mine, other = self.book(a, b), self.book(b, a)
                assert mine.up, f"no link from {a} to {b}"
                assert other.up, f"no link from {b} to {a}"
                assert mine.session == other.session, "the ends are in different sessions"
                if not self.crashes:
                    assert mine.sessions == other.sessions, "the ends saw different sessions"
                assert mine.delivered == len(other.sent), "not everything was delivered"
        for coin, place in self.where.items():
            assert isinstance(place, int) or coin in self.lost, f"coin {coin} is {place}"
        assert self.crashes or not self.lost

    def _is_calm(self) -> bool:
        pairs = [(a, b) for a in range(self.nodes) for b in range(self.nodes) if a != b]
        return all(
            self.book(a, b).up
            and self.book(a, b).session == self.book(b, a).session
            and self.book(a, b).delivered == len(self.book(b, a).sent)
            for a, b in pairs
        )


def _never_sealing() -> LinkSettings:
    values = {name: getattr(SETTINGS, name) for name in SETTINGS.__slots__}
    return LinkSettings(**{**values, "close_timeout": None})


def wire_of(seed: int) -> type[Wire]:
    """The wire of a case."""
    return ObjectWire if seed % ENCODED_EVERY else Wire


def soak(seed: int, layer: type[LinkLayer] = LinkLayer, wire: type[Wire] | None = None) -> Hostile:
    """One case."""
    hostile = Hostile(seed, layer, wire=wire or wire_of(seed))
    hostile.run(3.0)
    hostile.heal_and_check()
    return hostile
