"""A node's link layer: it sends hellos, discovers neighbours, and relays datagrams for other nodes."""

from __future__ import annotations

from collections import Counter, OrderedDict
from random import Random
from typing import ClassVar

from agents.message import Message
from testbed.link.actions import Action, Transmit
from testbed.link.end import End
from testbed.link.frames import Arrival, Data, Hello, Relay, State, chunks
from testbed.link.settings import LinkSettings
from testbed.link.wire import Datagram, Junk, Wire

REMEMBERED_RELAYS = 4096
HEARD_IN_A_HELLO = 200  # so many fit into a datagram, however large their numbers
NEAR_HOPS, NEAR_TRIES = 2, 3
"""The hop limit of the first relays to a peer, and how many are sent with it before the limit is raised."""


class LinkLayer:
    """The links of one incarnation of one node.

    Call `on_datagram`, `on_time` and `send` with the current time, and carry out the actions that `take` returns after
    each call. Call `on_time` no later than `wake_at` says.
    """

    end: ClassVar[type[End]] = End

    def __init__(
        self, node: int, incarnation: int, wire: Wire, settings: LinkSettings, rng: Random, now: int = 0
    ) -> None:
        self.node = node
        self.incarnation = incarnation
        self.dropped: Counter[str] = Counter()
        """Datagrams not of this run, or not for this incarnation of this node, counted by what was wrong with them."""
        self._wire = wire
        self._settings = settings
        self._rng = rng
        self._ends: dict[int, End] = {}
        self._actions: list[Action] = []
        self._now = now
        self._hellos = 0
        self._hello_at = now + round(rng.random() * settings.hello)
        self._relays = 0
        self._near_tries: Counter[int] = Counter()  # relays to a peer since it was last heard over the air
        self._seen: OrderedDict[tuple[int, int, int], None] = OrderedDict()  # relays that this node has handled

    # -- inputs ------------------------------------------------------------------------------------------------------

    def send(self, now: int, peer: int, message: Message) -> bool:
        """Send a message over the link to a peer; False if there is no link."""
        self._now = now
        end = self._ends.get(peer)
        return end is not None and end.send(now, message)

    def brings(self, data: bytes) -> Arrival | None:
        """The message in a datagram; None if it carries no message that is still to be delivered here."""
        try:
            sender, incarnation, frame, body = self._wire.read(data)
            if isinstance(frame, Relay) and frame.target == self.node:
                sender, incarnation, frame, _ = self._wire.read(body)
        except Junk:
            return None
        end = self._ends.get(sender)
        if not isinstance(frame, Data) or end is None or incarnation != end.incarnation:
            return None
        if (frame.to, frame.incarnation) != (self.node, self.incarnation):
            return None
        missing = end.missing_before(frame)
        return None if missing is None else Arrival(sender, missing)

    def on_datagram(self, now: int, data: bytes) -> None:
        """Handle a received datagram."""
        self._now = now
        try:
            self._receive(self._wire.read(data), direct=True)
        except Junk as junk:
            self.dropped[str(junk)] += 1

    def on_time(self, now: int) -> None:
        """Send a hello and act on links, if that is due."""
        self._now = now
        if now >= self._hello_at:
            self._say_hello()
        for end in list(self._ends.values()):
            wake_at = end.wake_at()
            if wake_at is not None and wake_at <= now:
                end.act(now)

    # -- outputs -----------------------------------------------------------------------------------------------------

    def take(self) -> list[Action]:
        """The actions to carry out, in order; each is returned once."""
        actions, self._actions = self._actions, []
        return actions

    def wake_at(self) -> int:
        """When `on_time` must be called at the latest."""
        wake_at = self._hello_at
        for end in self._ends.values():
            due = end.wake_at()
            if due is not None and due < wake_at:
                wake_at = due
        return wake_at

    def incarnation_of(self, peer: int) -> int:
        """The latest known incarnation of a peer; 0 if the peer was never heard."""
        return self._ends[peer].incarnation if peer in self._ends else 0

    # -- the air -----------------------------------------------------------------------------------------------------

    def _say_hello(self) -> None:
        settings, now = self._settings, self._now
        self._hellos += 1
        heard = [(peer, end.incarnation) for peer, end in sorted(self._ends.items()) if end.was_heard(now)]
        for chunk in chunks(heard, HEARD_IN_A_HELLO):
            self._transmit(None, Hello(self._hellos, chunk))
        spread = settings.hello * settings.jitter
        self._hello_at = now + round(settings.hello + self._rng.uniform(-spread, spread))

    def _receive(self, datagram: Datagram, *, direct: bool) -> None:
        sender, incarnation, frame, body = datagram
        if sender == self.node:
            raise Junk("our own")
        if isinstance(frame, Relay):
            self._relay(frame, body)
            return
        end = self._end_of(sender, incarnation)
        if direct:
            del self._near_tries[sender]
            end.hear(self._now)
        if isinstance(frame, Hello):
            end.hear_hello(self._now, frame.number, (self.node, self.incarnation) in frame.heard)
            end.act(self._now)
            return
        if not isinstance(frame, State | Data):
            raise Junk("for another layer")
        if frame.to != self.node:
            raise Junk("for another node")
        if frame.incarnation != self.incarnation:
            raise Junk("for another incarnation")
        if direct:
            end.hear_addressed(self._now)
        if isinstance(frame, State):
            end.on_state(self._now, frame, direct)
        else:
            end.on_data(self._now, frame, self._wire.read_message(body))

    def _end_of(self, peer: int, incarnation: int) -> End:
        """Our end of the link to an incarnation of a peer; a newer incarnation replaces the one before."""
        end = self._ends.get(peer)
        if end is not None and incarnation < end.incarnation:
            raise Junk("of an earlier incarnation")
        if end is None or incarnation > end.incarnation:
            if end is not None:
                end.on_peer_restart()
            end = self.end(self.node, peer, incarnation, self._settings, self._post, self._tell)
            self._ends[peer] = end
        return end

    def _tell(self, action: Action) -> None:
        self._actions.append(action)

    def _transmit(self, to: int | None, frame: Message, body: bytes = b"") -> None:
        data = self._wire.spell(Datagram(self.node, self.incarnation, frame, body))
        self._actions.append(Transmit(to, data, type(frame).__name__))

    def _post(self, peer: int, frame: State | Data, message: Message | None) -> None:
        """Send a frame to a peer: directly if the peer was heard lately, else by relay."""
        body = b"" if message is None else self._wire.spell_message(message)
        if self._ends[peer].was_heard(self._now) or not self._settings.relay_hops:
            self._transmit(peer, frame, body)
            return
        self._relays += 1
        inner = self._wire.spell(Datagram(self.node, self.incarnation, frame, body))
        self._remember((self.node, self.incarnation, self._relays))
        # Two nodes that have just lost contact mostly share a neighbour; if that fails, the relay is flooded farther.
        self._near_tries[peer] += 1
        hops = NEAR_HOPS if self._near_tries[peer] <= NEAR_TRIES else self._settings.relay_hops
        relay = Relay(self.node, self.incarnation, peer, self._relays, min(hops, self._settings.relay_hops))
        self._transmit(None, relay, inner)

    def _remember(self, relay: tuple[int, int, int]) -> None:
        self._seen[relay] = None
        if len(self._seen) > REMEMBERED_RELAYS:
            self._seen.popitem(last=False)

    # -- relays ------------------------------------------------------------------------------------------------------

    def _relay(self, relay: Relay, inner: bytes) -> None:
        """Handle a relayed datagram that is for this node, or pass on one for another node; each only once."""
        key = (relay.origin, relay.incarnation, relay.number)
        if key in self._seen:
            return
        self._remember(key)
        if relay.target == self.node:
            datagram = self._wire.read(inner)
            if (datagram.sender, datagram.incarnation) != (relay.origin, relay.incarnation):
                raise Junk("malformed")
            if isinstance(datagram.frame, Relay | Hello):
                raise Junk("malformed")
            self._receive(datagram, direct=False)
        elif relay.hops > 1:
            onward = Relay(relay.origin, relay.incarnation, relay.target, relay.number, relay.hops - 1)
            target = self._ends.get(relay.target)
            if target is not None and target.was_heard(self._now):
                self._transmit(relay.target, onward, inner)
            elif onward.hops > 1:  # a broadcast with one hop left would not be passed on
                self._transmit(None, onward, inner)
