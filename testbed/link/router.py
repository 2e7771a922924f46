"""A router for algorithms that address any node: exactly once and in order from end to end, whatever the routes do.

Routes are a distance vector with sequence numbers, as in DSDV (C. Perkins, P. Bhagwat, SIGCOMM 1994): every node
numbers its own entry, and an entry replaces another only if it is newer, or as new and shorter, so no stale news runs
in circles. It is carried by the hellos. A packet goes hop by hop over the air and may be lost on any of them; its
source sends it again until the target's receipt is there, and the target delivers in order and once. So hops need no
care.

Packets are numbered between two lives of two processes. Which life a target is in comes with its route, so nothing is
sent to a life that is not known; when there is a new one, whether the old one had delivered what was not receipted is
unknown for good, and messages that carry units are lost.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

from agents.message import Message
from testbed.link.actions import Action, Deliver, Lost, Transmit
from testbed.link.frames import Advert, Packet, Receipt
from testbed.link.settings import Settings
from testbed.link.wire import Datagram, Junk, Wire

MAX_HOPS = 64


class Route(NamedTuple):
    """The way to a node: how new the news of it is, how far it is, and by which neighbour. No way, if `via` is None."""

    incarnation: int
    sequence: int
    hops: int
    via: int | None

    @property
    def news(self) -> tuple[int, int]:
        """What makes one route replace another."""
        return (self.incarnation, self.sequence)


@dataclass(slots=True)
class Outgoing:
    """What is on its way to one node."""

    incarnation: int = 0  # the life that the numbers are for; 0 if none is known yet
    sent: int = 0  # the number of the last message; numbers go on through the lives of the target
    since: int = 0  # the number of the last message that was for the life before
    window: deque[tuple[int, Message]] = field(default_factory=deque)  # not receipted
    retry_at: int | None = None
    backoff: int = 0


@dataclass(slots=True)
class Incoming:
    """What came from one life of one node."""

    incarnation: int
    delivered: int = 0
    early: dict[int, bytes] = field(default_factory=dict)


class Router:
    """The router of one life of one node; driven as `LinkLayer` is."""

    def __init__(self, node: int, incarnation: int, wire: Wire, settings: Settings, rng: Random, now: int = 0) -> None:
        self.node = node
        self.incarnation = incarnation
        self.dropped: Counter[str] = Counter()
        self.routes: dict[int, Route] = {}
        self._wire = wire
        self._settings = settings
        self._rng = rng
        self._now = now
        self._actions: list[Action] = []
        self._adverts = 0
        self._hello_at = now + round(rng.random() * settings.hello)
        self._heard: dict[int, tuple[int, int]] = {}  # neighbour -> its life, and when it was heard last
        self._listed: dict[int, int] = {}  # neighbour -> when it said last that it hears us
        self._outgoing: dict[int, Outgoing] = {}
        self._incoming: dict[int, Incoming] = {}

    # -- inputs ------------------------------------------------------------------------------------------------------

    def send(self, now: int, peer: int, message: Message) -> bool:
        """Send a message to any node; it arrives when there is a way."""
        self._now = now
        outgoing = self._outgoing.setdefault(peer, Outgoing())
        outgoing.sent += 1
        outgoing.window.append((outgoing.sent, message))
        if len(outgoing.window) <= self._settings.window:
            self._dispatch(peer, outgoing, outgoing.sent, message)
        self._plan(outgoing)
        return True

    def on_datagram(self, now: int, data: bytes) -> None:
        """Bytes came in."""
        self._now = now
        try:
            sender, incarnation, frame, body = self._wire.read(data)
            if sender == self.node:
                raise Junk("our own")
            if incarnation < self._heard.get(sender, (0, 0))[0]:
                raise Junk("of an earlier incarnation")
            self._heard[sender] = (incarnation, now)
            if isinstance(frame, Advert):
                self._on_advert(sender, frame)
            elif isinstance(frame, Packet):
                self._on_packet(frame, body)
            elif isinstance(frame, Receipt):
                self._on_receipt(frame)
            else:
                raise Junk("for another layer")
        except Junk as junk:
            self.dropped[str(junk)] += 1

    def on_time(self, now: int) -> None:
        """Time has passed."""
        self._now = now
        if now >= self._hello_at:
            self._forget_silent_neighbours()
            self._advertise()
        for peer, outgoing in self._outgoing.items():
            if outgoing.retry_at is not None and now >= outgoing.retry_at:
                outgoing.retry_at = None
                for number, message in list(outgoing.window)[: self._settings.window]:
                    self._dispatch(peer, outgoing, number, message)
                self._plan(outgoing)

    # -- outputs -----------------------------------------------------------------------------------------------------

    def take(self) -> list[Action]:
        """What is to be done, in order."""
        actions, self._actions = self._actions, []
        return actions

    def wake_at(self) -> int:
        """When `on_time` must be called at the latest."""
        retries = (one.retry_at for one in self._outgoing.values() if one.retry_at is not None)
        return min([self._hello_at, *retries])

    # -- routes ------------------------------------------------------------------------------------------------------

    def _advertise(self) -> None:
        settings = self._settings
        self._adverts += 1
        heard = tuple((peer, life) for peer, (life, _) in sorted(self._heard.items()))
        vector = tuple(
            (target, route.incarnation, route.sequence, route.hops)
            for target, route in sorted(self.routes.items())
            if route.via is not None
        )
        mine = (self.node, self.incarnation, self._adverts, 0)
        self._transmit(None, Advert(heard, (mine, *vector)))
        spread = settings.hello * settings.jitter
        self._hello_at = self._now + round(settings.hello + self._rng.uniform(-spread, spread))

    def _on_advert(self, sender: int, advert: Advert) -> None:
        if (self.node, self.incarnation) not in advert.heard:
            return  # it does not hear us, so nothing can be sent by it
        self._listed[sender] = self._now
        for target, incarnation, sequence, hops in advert.vector:
            if target == self.node or hops >= MAX_HOPS:
                continue
            new, old = Route(incarnation, sequence, hops + 1, sender), self.routes.get(target)
            if (
                old is None
                or new.news > old.news
                or (new.news == old.news and old.via is not None and new.hops < old.hops)
            ):
                self.routes[target] = new
                self._meet(target, incarnation)

    def _forget_silent_neighbours(self) -> None:
        oldest = self._now - self._settings.dead_after
        for peer in [peer for peer, (_, at) in self._heard.items() if at <= oldest]:
            del self._heard[peer]
        for peer in [peer for peer, at in self._listed.items() if at <= oldest or peer not in self._heard]:
            del self._listed[peer]
        for target, route in self.routes.items():
            if route.via is not None and route.via not in self._listed:
                # Kept without a way: whoever has no newer news of the target may have it from here.
                self.routes[target] = route._replace(via=None)

    # -- packets -----------------------------------------------------------------------------------------------------

    def _meet(self, target: int, incarnation: int) -> None:
        """A route tells which life a node is in."""
        outgoing = self._outgoing.setdefault(target, Outgoing())
        if incarnation <= outgoing.incarnation:
            return
        if outgoing.incarnation:  # what the life before had delivered nobody can say any more
            for number, message in outgoing.window:
                self._actions.append(Lost(target, outgoing.incarnation, number, message))
            outgoing.window.clear()
            outgoing.since = outgoing.sent
        outgoing.incarnation = incarnation
        outgoing.retry_at, outgoing.backoff = None, 0
        for number, message in list(outgoing.window)[: self._settings.window]:
            self._dispatch(target, outgoing, number, message)
        self._plan(outgoing)

    def _dispatch(self, target: int, outgoing: Outgoing, number: int, message: Message) -> None:
        if outgoing.incarnation:
            packet = Packet(self.node, self.incarnation, target, outgoing.incarnation, number, outgoing.since, MAX_HOPS)
            self._forward(packet, self._wire.spell_message(message))

    def _plan(self, outgoing: Outgoing) -> None:
        if not outgoing.window or not outgoing.incarnation:
            outgoing.retry_at, outgoing.backoff = None, 0
        elif outgoing.retry_at is None:
            settings = self._settings
            outgoing.backoff = min(max(settings.retry, 2 * outgoing.backoff), settings.max_retry)
            outgoing.retry_at = self._now + outgoing.backoff

    def _forward(self, frame: Packet | Receipt, body: bytes = b"") -> None:
        route = self.routes.get(frame.target)
        if frame.hops > 0 and route is not None and route.via is not None:
            self._transmit(route.via, frame, body)

    def _on_packet(self, packet: Packet, body: bytes) -> None:
        if packet.target != self.node:
            self._forward(replace(packet, hops=packet.hops - 1), body)
            return
        if packet.life != self.incarnation:
            raise Junk("for another incarnation")
        incoming = self._incoming.get(packet.source)
        if incoming is None or packet.incarnation > incoming.incarnation:
            incoming = self._incoming[packet.source] = Incoming(packet.incarnation, packet.since)
        if packet.incarnation < incoming.incarnation:
            raise Junk("of an earlier incarnation")
        if incoming.delivered < packet.number <= incoming.delivered + self._settings.window:
            incoming.early[packet.number] = body
        while incoming.delivered + 1 in incoming.early:
            message = self._wire.read_message(incoming.early.pop(incoming.delivered + 1))
            incoming.delivered += 1
            self._actions.append(Deliver(packet.source, packet.incarnation, incoming.delivered, message))
        receipt = Receipt(self.node, self.incarnation, packet.source, packet.incarnation, incoming.delivered, MAX_HOPS)
        self._forward(receipt)

    def _on_receipt(self, receipt: Receipt) -> None:
        if receipt.target != self.node:
            self._forward(replace(receipt, hops=receipt.hops - 1))
            return
        outgoing = self._outgoing.get(receipt.source)
        if receipt.life != self.incarnation or outgoing is None or receipt.incarnation != outgoing.incarnation:
            raise Junk("for another incarnation")
        waiting = len(outgoing.window)
        while outgoing.window and outgoing.window[0][0] <= receipt.delivered:
            outgoing.window.popleft()
        if len(outgoing.window) < waiting:
            outgoing.retry_at, outgoing.backoff = None, 0
            done = waiting - len(outgoing.window)
            room = self._settings.window
            for number, message in list(outgoing.window)[max(0, room - done) : room]:  # for the first time
                self._dispatch(receipt.source, outgoing, number, message)
            self._plan(outgoing)

    def _transmit(self, to: int | None, frame: Message, body: bytes = b"") -> None:
        data = self._wire.spell(Datagram(self.node, self.incarnation, frame, body))
        self._actions.append(Transmit(to, data, type(frame).__name__))
