"""A node's link layer: it makes itself heard, listens for neighbours, and carries datagrams for others."""

from __future__ import annotations

from collections import Counter, OrderedDict
from random import Random
from typing import ClassVar

from agents.message import Message
from testbed.link.actions import Action, Transmit
from testbed.link.end import End
from testbed.link.frames import Brought, Data, Hello, Relay, State, parts
from testbed.link.settings import Settings
from testbed.link.wire import Datagram, Junk, Wire

REMEMBERED_RELAYS = 4096
HEARD_IN_A_HELLO = 200  # which fit into a datagram, however large their numbers
NEAR_HOPS, NEAR_TRIES = 2, 3
"""How far others carry a datagram at first, and how often that is tried before it may go farther."""


class LinkLayer:
    """The links of one life of one node.

    Call `on_datagram`, `on_time` and `send` with the time, and carry out what `take` gives after each; call `on_time`
    no later than `wake_at` says.
    """

    end: ClassVar[type[End]] = End

    def __init__(self, node: int, incarnation: int, wire: Wire, settings: Settings, rng: Random, now: int = 0) -> None:
        self.node = node
        self.incarnation = incarnation
        self.dropped: Counter[str] = Counter()
        """Datagrams that were not ours, or not for this life of this node, by what was wrong with them."""
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
        self._seen: OrderedDict[tuple[int, int, int], None] = OrderedDict()  # relays that went by here

    # -- inputs ------------------------------------------------------------------------------------------------------

    def send(self, now: int, peer: int, message: Message) -> bool:
        """Send a message over the link to a peer; False if there is none."""
        self._now = now
        end = self._ends.get(peer)
        return end is not None and end.send(now, message)

    def brings(self, data: bytes) -> Brought | None:
        """The message that bytes bring; None if they bring none that is waited for."""
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
        return None if missing is None else Brought(sender, missing)

    def on_datagram(self, now: int, data: bytes) -> None:
        """Bytes came in."""
        self._now = now
        try:
            self._receive(self._wire.read(data), direct=True)
        except Junk as junk:
            self.dropped[str(junk)] += 1

    def on_time(self, now: int) -> None:
        """Time has passed."""
        self._now = now
        if now >= self._hello_at:
            self._say_hello()
        for end in list(self._ends.values()):
            wake_at = end.wake_at()
            if wake_at is not None and wake_at <= now:
                end.act(now)

    # -- outputs -----------------------------------------------------------------------------------------------------

    def take(self) -> list[Action]:
        """What is to be done, in order."""
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

    def life_of(self, peer: int) -> int:
        """The latest incarnation of a peer that was heard of; 0 for none."""
        return self._ends[peer].incarnation if peer in self._ends else 0

    # -- the air -----------------------------------------------------------------------------------------------------

    def _say_hello(self) -> None:
        settings, now = self._settings, self._now
        self._hellos += 1
        heard = [(peer, end.incarnation) for peer, end in sorted(self._ends.items()) if end.was_heard(now)]
        for part in parts(heard, HEARD_IN_A_HELLO):
            self._transmit(None, Hello(self._hellos, part))
        spread = settings.hello * settings.jitter
        self._hello_at = now + round(settings.hello + self._rng.uniform(-spread, spread))

    def _receive(self, datagram: Datagram, *, direct: bool) -> None:
        sender, incarnation, frame, body = datagram
        if sender == self.node:
            raise Junk("our own")
        if isinstance(frame, Relay):
            self._carry(frame, body)
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
        """Our end of the link to a life of a peer; a new life ends the one before."""
        end = self._ends.get(peer)
        if end is not None and incarnation < end.incarnation:
            raise Junk("of an earlier incarnation")
        if end is None or incarnation > end.incarnation:
            if end is not None:
                end.lose()
            end = self.end(self.node, peer, incarnation, self._settings, self._post, self._tell)
            self._ends[peer] = end
        return end

    def _tell(self, action: Action) -> None:
        self._actions.append(action)

    def _transmit(self, to: int | None, frame: Message, body: bytes = b"") -> None:
        data = self._wire.spell(Datagram(self.node, self.incarnation, frame, body))
        self._actions.append(Transmit(to, data, type(frame).__name__))

    def _post(self, peer: int, frame: State | Data, message: Message | None) -> None:
        """Send a frame to a peer: over the air if it was heard lately, else by others."""
        body = b"" if message is None else self._wire.spell_message(message)
        if self._ends[peer].was_heard(self._now) or not self._settings.relay_hops:
            self._transmit(peer, frame, body)
            return
        self._relays += 1
        inner = self._wire.spell(Datagram(self.node, self.incarnation, frame, body))
        self._remember((self.node, self.incarnation, self._relays))
        # Two who have just parted mostly have a neighbour in common; if that does not do, everybody is asked.
        self._near_tries[peer] += 1
        hops = NEAR_HOPS if self._near_tries[peer] <= NEAR_TRIES else self._settings.relay_hops
        relay = Relay(self.node, self.incarnation, peer, self._relays, min(hops, self._settings.relay_hops))
        self._transmit(None, relay, inner)

    def _remember(self, relay: tuple[int, int, int]) -> None:
        self._seen[relay] = None
        if len(self._seen) > REMEMBERED_RELAYS:
            self._seen.popitem(last=False)

    # -- for others --------------------------------------------------------------------------------------------------

    def _carry(self, relay: Relay, inner: bytes) -> None:
        """Take a relayed datagram that is for us, or pass on one that is not, once."""
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
            elif onward.hops > 1:  # otherwise nobody would pass it on
                self._transmit(None, onward, inner)
