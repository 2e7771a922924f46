"""A router for algorithms that address any node: it finds the routes, and `EndToEnd` makes delivery reliable.

Routes are a distance vector with sequence numbers, as in DSDV (C. Perkins, P. Bhagwat, SIGCOMM 1994): every node
numbers its own entry, and an entry replaces another only if it is newer, or as new and shorter, so stale entries cannot
form loops. The vector is part of the hellos. A packet goes hop by hop over the air and may be lost on each hop. The
incarnation of a target comes with its route.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random
from typing import NamedTuple

from agents.message import Message
from testbed.link.actions import Heard
from testbed.link.endtoend import EndToEnd, Outgoing
from testbed.link.frames import Advert, Beacon, Packet, Receipt, chunks
from testbed.link.settings import LinkSettings
from testbed.link.wire import Junk, Wire

MAX_HOPS = 64
HEARD_IN_AN_ADVERT, ROUTES_IN_AN_ADVERT = 60, 90  # so many fit into a datagram, however large their numbers


class Route(NamedTuple):
    """A route to a node: how recent it is, its length, and the next hop. If `via` is None there is no route now."""

    incarnation: int
    sequence: int
    hops: int
    via: int | None

    @property
    def news(self) -> tuple[int, int]:
        """A route with greater news replaces another."""
        return (self.incarnation, self.sequence)


class Router(EndToEnd):
    """The router of one incarnation of one node; driven as `LinkLayer` is."""

    max_hops = MAX_HOPS

    def __init__(
        self, node: int, incarnation: int, wire: Wire, settings: LinkSettings, rng: Random, now: int = 0
    ) -> None:
        super().__init__(node, incarnation, wire, settings, rng, now)
        self.routes: dict[int, Route] = {}
        self._adverts = 0
        self._hello_at = now + round(rng.random() * settings.hello)
        self._heard: dict[int, tuple[int, int]] = {}  # neighbour -> its incarnation, and when it was last heard
        self._listed: dict[int, int] = {}  # neighbour -> when it last said that it hears us

    def on_time(self, now: int) -> None:
        """Send an advert and what is to be sent again, if that is due."""
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
        elif isinstance(frame, Beacon):
            self._actions.append(Heard(sender, frame))
        else:
            raise Junk("for another layer")

    def _next_duty(self) -> int:
        return self._hello_at

    def _may_retry(self, outgoing: Outgoing) -> bool:
        return outgoing.incarnation > 0  # otherwise there is no route yet, and one arrives with an advert

    # -- routes ------------------------------------------------------------------------------------------------------

    def _advertise(self) -> None:
        settings = self._settings
        self._adverts += 1
        heard = [(peer, incarnation) for peer, (incarnation, _) in sorted(self._heard.items())]
        vector = [
            (target, route.incarnation, route.sequence, route.hops)
            for target, route in sorted(self.routes.items())
            if route.via is not None
        ]
        mine = (self.node, self.incarnation, self._adverts, 0)
        # A node ignores an advert that does not name it, so each chunk of the vector goes with each chunk of names.
        for names, routes in product(chunks(heard, HEARD_IN_AN_ADVERT), chunks(vector, ROUTES_IN_AN_ADVERT)):
            self._transmit(None, Advert(names, (mine, *routes)))
        spread = settings.hello * settings.jitter
        self._hello_at = self._now + round(settings.hello + self._rng.uniform(-spread, spread))

    def _on_advert(self, sender: int, advert: Advert) -> None:
        if (self.node, self.incarnation) not in advert.heard:
            return  # the sender does not hear us, so it cannot be a next hop
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
                # Kept without a next hop, so that no entry that is as old can replace it.
                self.routes[target] = route._replace(via=None)

    # -- packets -----------------------------------------------------------------------------------------------------

    def _forward(self, frame: Packet | Receipt, body: bytes = b"") -> None:
        route = self.routes.get(frame.target)
        if frame.hops > 0 and route is not None and route.via is not None:
            self._transmit(route.via, frame, body)

    def _on_packet(self, packet: Packet, body: bytes) -> None:
        if packet.target != self.node:
            self._forward(replace(packet, hops=packet.hops - 1), body)
        elif packet.target_incarnation != self.incarnation:
            raise Junk("for another incarnation")
        else:
            super()._on_packet(packet, body)

    def _on_receipt(self, receipt: Receipt) -> None:
        if receipt.target != self.node:
            self._forward(replace(receipt, hops=receipt.hops - 1))
        else:
            super()._on_receipt(receipt)
