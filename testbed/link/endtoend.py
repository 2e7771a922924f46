"""Delivery exactly once and in order from end to end, for algorithms that address any node.

A packet may be lost in transit, arrive twice or be overtaken. The source sends it again until it has the target's
receipt, and the target delivers in order and once. So the nodes that forward packets keep no state about them.

Packets are numbered for each pair of incarnations of two processes, and nothing is sent to a target whose incarnation
is not known. When the target has a new incarnation, it is unknown for good whether the old one had delivered the
messages without a receipt, so they are reported as lost.

`EndToEnd` is common to both ways of routing. `Router` finds the routes itself; with `Direct` the network below does,
for example the routing protocols of a kernel.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from random import Random

from agents.message import Message
from testbed.link.actions import Action, Deliver, Heard, Lost, Transmit
from testbed.link.frames import Arrival, Beacon, Packet, Receipt, Who
from testbed.link.settings import LinkSettings
from testbed.link.wire import Datagram, Junk, Wire


@dataclass(slots=True)
class Outgoing:
    """The messages in transit to one node."""

    incarnation: int = 0  # of the target; 0 if it is not known yet
    sent: int = 0  # the number of the last message; numbers continue when the target restarts
    since: int = 0  # the number of the last message that was for the target's incarnation before
    window: deque[tuple[int, Message]] = field(default_factory=deque)  # without a receipt so far
    retry_at: int | None = None
    backoff: int = 0


@dataclass(slots=True)
class Incoming:
    """What was received from one incarnation of one node."""

    incarnation: int
    delivered: int = 0
    early: dict[int, bytes] = field(default_factory=dict)


class EndToEnd:
    """Both ends of all conversations of one incarnation of one node; driven as `LinkLayer` is."""

    max_hops = 0
    """The hop limit of a packet, if the nodes forward packets themselves."""

    def __init__(
        self, node: int, incarnation: int, wire: Wire, settings: LinkSettings, rng: Random, now: int = 0
    ) -> None:
        self.node = node
        self.incarnation = incarnation
        self.dropped: Counter[str] = Counter()
        self._wire = wire
        self._settings = settings
        self._rng = rng
        self._now = now
        self._actions: list[Action] = []
        self._outgoing: dict[int, Outgoing] = {}
        self._incoming: dict[int, Incoming] = {}

    # -- inputs ------------------------------------------------------------------------------------------------------

    def send(self, now: int, peer: int, message: Message) -> bool:
        """Send a message to any node; it arrives once there is a route. Always True."""
        self._now = now
        outgoing = self._outgoing.setdefault(peer, Outgoing())
        outgoing.sent += 1
        outgoing.window.append((outgoing.sent, message))
        if len(outgoing.window) <= self._settings.window:
            self._dispatch(peer, outgoing, outgoing.sent, message)
        self._plan(outgoing)
        return True

    def beacon(self, now: int, frame: Beacon) -> None:
        """Broadcast the beacon of a place to all in reach."""
        self._now = now
        self._transmit(None, frame)

    def brings(self, data: bytes) -> Arrival | None:
        """The message in a datagram; None if it carries no message that is still to be delivered here."""
        try:
            packet = self._wire.read(data).frame
        except Junk:
            return None
        if not isinstance(packet, Packet) or (packet.target, packet.target_incarnation) != (
            self.node,
            self.incarnation,
        ):
            return None
        incoming = self._incoming.get(packet.source)
        if incoming is None or packet.incarnation > incoming.incarnation:
            incoming = Incoming(packet.incarnation, packet.since)
        missing = packet.number - incoming.delivered - 1
        is_wanted = packet.incarnation == incoming.incarnation and 0 <= missing < self._settings.window
        return Arrival(packet.source, missing) if is_wanted else None

    def on_datagram(self, now: int, data: bytes) -> None:
        """Handle a received datagram."""
        self._now = now
        try:
            self._read(*self._wire.read(data))
        except Junk as junk:
            self.dropped[str(junk)] += 1

    def on_time(self, now: int) -> None:
        """Send again what is due."""
        self._now = now
        for peer, outgoing in self._outgoing.items():
            if outgoing.retry_at is not None and now >= outgoing.retry_at:
                outgoing.retry_at = None
                self._retry(peer, outgoing)
                self._plan(outgoing)

    # -- outputs -----------------------------------------------------------------------------------------------------

    def take(self) -> list[Action]:
        """The actions to carry out, in order; each is returned once."""
        actions, self._actions = self._actions, []
        return actions

    def wake_at(self) -> int:
        """When `on_time` must be called at the latest."""
        retries = (one.retry_at for one in self._outgoing.values() if one.retry_at is not None)
        return min([self._next_duty(), *retries])

    # -- what depends on how routes are found ------------------------------------------------------------------------

    def _read(self, sender: int, incarnation: int, frame: Message, body: bytes) -> None:
        """Handle a datagram; `sender` is the node that transmitted it last."""
        raise NotImplementedError

    def _forward(self, frame: Packet | Receipt, body: bytes = b"") -> None:
        """Send a frame towards its target, if there is a route."""
        raise NotImplementedError

    def _next_duty(self) -> int:
        """The time of the next task other than sending again."""
        raise NotImplementedError

    def _may_retry(self, outgoing: Outgoing) -> bool:
        """Whether sending again can help; it may not while the target's incarnation is unknown."""
        raise NotImplementedError

    # -- packets -----------------------------------------------------------------------------------------------------

    def _meet(self, target: int, incarnation: int) -> None:
        """Note the incarnation of a node. If it is new, report what is lost with the old one, and send what waits."""
        outgoing = self._outgoing.setdefault(target, Outgoing())
        if incarnation <= outgoing.incarnation:
            return
        if outgoing.incarnation:  # what the incarnation before had delivered is unknown for good
            for number, message in outgoing.window:
                self._actions.append(Lost(target, outgoing.incarnation, number, message))
            outgoing.window.clear()
            outgoing.since = outgoing.sent
        outgoing.incarnation = incarnation
        outgoing.retry_at, outgoing.backoff = None, 0
        self._retry(target, outgoing)
        self._plan(outgoing)

    def _retry(self, target: int, outgoing: Outgoing) -> None:
        for number, message in list(outgoing.window)[: self._settings.window]:
            self._dispatch(target, outgoing, number, message)

    def _dispatch(self, target: int, outgoing: Outgoing, number: int, message: Message) -> None:
        if outgoing.incarnation:
            to, since = outgoing.incarnation, outgoing.since
            packet = Packet(self.node, self.incarnation, target, to, number, since, self.max_hops)
            self._forward(packet, self._wire.spell_message(message))

    def _plan(self, outgoing: Outgoing) -> None:
        if not outgoing.window or not self._may_retry(outgoing):
            outgoing.retry_at, outgoing.backoff = None, 0
        elif outgoing.retry_at is None:
            settings = self._settings
            outgoing.backoff = min(max(settings.retry, 2 * outgoing.backoff), settings.max_retry)
            outgoing.retry_at = self._now + outgoing.backoff

    def _on_packet(self, packet: Packet, body: bytes) -> None:
        """Handle a packet for this incarnation of this node."""
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
        self._give_receipt(packet.source, packet.incarnation, incoming.delivered)

    def _give_receipt(self, source: int, incarnation: int, delivered: int) -> None:
        self._forward(Receipt(self.node, self.incarnation, source, incarnation, delivered, self.max_hops))

    def _on_receipt(self, receipt: Receipt) -> None:
        """Handle a receipt for this node."""
        outgoing = self._outgoing.get(receipt.source)
        is_ours = receipt.target_incarnation == self.incarnation
        if not is_ours or outgoing is None or receipt.incarnation != outgoing.incarnation:
            raise Junk("for another incarnation")
        waiting = len(outgoing.window)
        while outgoing.window and outgoing.window[0][0] <= receipt.delivered:
            outgoing.window.popleft()
        if len(outgoing.window) < waiting:
            outgoing.retry_at, outgoing.backoff = None, 0
            done = waiting - len(outgoing.window)
            room = self._settings.window
            for number, message in list(outgoing.window)[max(0, room - done) : room]:  # sent for the first time
                self._dispatch(receipt.source, outgoing, number, message)
            self._plan(outgoing)

    def _transmit(self, to: int | None, frame: Message, body: bytes = b"") -> None:
        data = self._wire.spell(Datagram(self.node, self.incarnation, frame, body))
        self._actions.append(Transmit(to, data, type(frame).__name__))


class Direct(EndToEnd):
    """For a network that routes datagrams to any node by itself.

    A target that has never been heard is first asked for its incarnation. Later every datagram carries that of its
    sender: a packet for an earlier incarnation is answered with a receipt of the current one.
    """

    def _read(self, sender: int, incarnation: int, frame: Message, body: bytes) -> None:
        if sender == self.node:
            raise Junk("our own")
        if isinstance(frame, Beacon):
            self._actions.append(Heard(sender, frame))
            return
        if not isinstance(frame, Packet | Receipt | Who):
            raise Junk("for another layer")
        if isinstance(frame, Packet | Receipt) and (frame.source, frame.incarnation) != (sender, incarnation):
            raise Junk("malformed")  # nodes do not forward frames of other nodes here
        if frame.target != self.node:
            raise Junk("for another node")
        known = self._outgoing.get(sender)
        if known is not None and incarnation < known.incarnation:
            raise Junk("of an earlier incarnation")
        self._meet(sender, incarnation)
        if isinstance(frame, Receipt):
            self._on_receipt(frame)
        elif isinstance(frame, Packet) and frame.target_incarnation == self.incarnation:
            self._on_packet(frame, body)
        elif isinstance(frame, Packet) and frame.target_incarnation > self.incarnation:
            raise Junk("for another incarnation")
        else:
            self._give_receipt(sender, incarnation, self._delivered(sender, incarnation))

    def _delivered(self, source: int, incarnation: int) -> int:
        incoming = self._incoming.get(source)
        return incoming.delivered if incoming is not None and incoming.incarnation == incarnation else 0

    def _dispatch(self, target: int, outgoing: Outgoing, number: int, message: Message) -> None:
        if outgoing.incarnation:
            super()._dispatch(target, outgoing, number, message)
        elif number == outgoing.window[0][0]:  # one question is enough for all waiting messages
            self._transmit(target, Who(target))

    def _forward(self, frame: Packet | Receipt, body: bytes = b"") -> None:
        self._transmit(frame.target, frame, body)

    def _next_duty(self) -> int:
        return self._now + self._settings.max_retry  # there is none; this only bounds the time to the next call

    def _may_retry(self, outgoing: Outgoing) -> bool:
        return True
