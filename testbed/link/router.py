"""A router for algorithms that address any node: it finds the way, and `EndToEnd` sees that everything arrives.

Routes are a distance vector with sequence numbers, as in DSDV (C. Perkins, P. Bhagwat, SIGCOMM 1994): every node
numbers its own entry, and an entry replaces another only if it is newer, or as new and shorter, so no stale news runs
in circles. It is carried by the hellos. A packet goes hop by hop over the air and may be lost on any of them. Which
life a target is in comes with its route.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random
from typing import NamedTuple

from agents.message import Message
from testbed.link.endtoend import EndToEnd, Outgoing
from testbed.link.frames import Advert, Packet, Receipt, parts
from testbed.link.settings import Settings
from testbed.link.wire import Junk, Wire

MAX_HOPS = 64
HEARD_IN_AN_ADVERT, ROUTES_IN_AN_ADVERT = 60, 90  # which fit into a datagram, however large their numbers


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


class Router(EndToEnd):
    """The router of one life of one node; driven as `LinkLayer` is."""

    max_hops = MAX_HOPS

    def __init__(self, node: int, incarnation: int, wire: Wire, settings: Settings, rng: Random, now: int = 0) -> None:
        super().__init__(node, incarnation, wire, settings, rng, now)
        self.routes: dict[int, Route] = {}
        self._adverts = 0
        self._hello_at = now + round(rng.random() * settings.hello)
        self._heard: dict[int, tuple[int, int]] = {}  # neighbour -> its life, and when it was heard last
        self._listed: dict[int, int] = {}  # neighbour -> when it said last that it hears us

    def on_time(self, now: int) -> None:
        """Time has passed."""
        self._now = now
        if now >= self._hello_at:
            self._forget_silent_neighbours()
            self._advertise()
        super().on_time(now)

    def _read(self, sender: int, incarnation: int, frame: Message, body: bytes) -> None:
        if sender == self.node:
            raise Junk("our own")
        if incarnation < self._heard.get(sender, (0, 0))[0]:
            raise Junk("of an earlier incarnation")
        self._heard[sender] = (incarnation, self._now)
        if isinstance(frame, Advert):
            self._on_advert(sender, frame)
        elif isinstance(frame, Packet):
            self._on_packet(frame, body)
        elif isinstance(frame, Receipt):
            self._on_receipt(frame)
        else:
            raise Junk("for another layer")

    def _next_duty(self) -> int:
        return self._hello_at

    def _may_retry(self, outgoing: Outgoing) -> bool:
        return outgoing.incarnation > 0  # otherwise there is no route yet, which will come by itself

    # -- routes ------------------------------------------------------------------------------------------------------

    def _advertise(self) -> None:
        settings = self._settings
        self._adverts += 1
        heard = [(peer, life) for peer, (life, _) in sorted(self._heard.items())]
        vector = [
            (target, route.incarnation, route.sequence, route.hops)
            for target, route in sorted(self.routes.items())
            if route.via is not None
        ]
        mine = (self.node, self.incarnation, self._adverts, 0)
        # Who is not named in an advert takes nothing from it, so every part of the vector goes to every part of them.
        for some, way in product(parts(heard, HEARD_IN_AN_ADVERT), parts(vector, ROUTES_IN_AN_ADVERT)):
            self._transmit(None, Advert(some, (mine, *way)))
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

    def _forward(self, frame: Packet | Receipt, body: bytes = b"") -> None:
        route = self.routes.get(frame.target)
        if frame.hops > 0 and route is not None and route.via is not None:
            self._transmit(route.via, frame, body)

    def _on_packet(self, packet: Packet, body: bytes) -> None:
        if packet.target != self.node:
            self._forward(replace(packet, hops=packet.hops - 1), body)
        elif packet.life != self.incarnation:
            raise Junk("for another incarnation")
        else:
            super()._on_packet(packet, body)

    def _on_receipt(self, receipt: Receipt) -> None:
        if receipt.target != self.node:
            self._forward(replace(receipt, hops=receipt.hops - 1))
        else:
            super()._on_receipt(receipt)
