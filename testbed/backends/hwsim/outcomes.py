"""What becomes of frames: who receives them, how often they are tried, how long they take. No socket, no clock.

**A frame's way.** A radio gives a frame to the medium when it wants to send it. It waits until the air around the
sender is free, and is then on the air for as long as its bits take (`airtime`); a unicast is tried again, at the rates
and as often as the kernel asks for, until its receiver has it and the acknowledgement has come back. At the end of that
it goes to everyone who received it, and the kernel of the sender learns how it went.

**Taking turns.** A transmission keeps busy all nodes that hear its sender; who is not in reach may send at the same
time. By default such transmissions do not disturb each other. With `collisions` they do: of two that overlap at a node
that hears both, only one that is 10 dB stronger survives, and nobody hears while sending.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from random import Random
from typing import Any, NamedTuple

from testbed.backends.hwsim.airtime import ACK_BYTES
from testbed.backends.hwsim.error_rates import Chances
from testbed.backends.hwsim.hearing import Hearing, Listener
from testbed.backends.hwsim.messages import NO_ACK, WAS_ACKED, Packer, Sent, Tries, receiver, signal
from testbed.backends.hwsim.routing_frames import RoutingFrames
from testbed.radio.radio import Radio

CHECKSUM_BYTES = 4
CAPTURE_DB = 10.0
"""By how much a frame must be the stronger one to survive a collision."""
KINDS = ("data unicast", "data broadcast", "beacon", "management")
_DATA, _BEACON = 0x08, 0x80
_CONTROL, _RECEIVER = 4, 8  # where a frame's control and its receiver are, in its attribute
_SHORTEST = 10  # bytes that have a receiver's address
_BACKOFF_NS = 2_000_000


class Settings(NamedTuple):
    """What there is besides the radio."""

    loss: float = 0.0
    """Share of the data frames that a receiver loses besides, after having acknowledged them: datagrams are lost, as in
    the simulator, and not just tried again."""
    duplicate: float = 0.0
    """Share of the data frames that arrive twice."""
    collisions: bool = False
    routing: RoutingFrames | None = None
    """Counts what routing costs, if it is the kernel's."""


class Try(NamedTuple):
    """One time that a frame was on the air."""

    start_ns: int
    mbps: float


class Outcome(NamedTuple):
    """What became of a frame, unless it collides."""

    start_ns: int
    sender: int
    sent: Sent
    receivers: list[Listener]
    rate: int
    """Its index."""
    is_unicast: bool
    acked_dbm: float | None
    """The power of the acknowledgement, if there was one."""
    asked: Tries
    """The tries that were left."""
    used: Tries


Flight = tuple[int, int, Outcome | bytes]
"""A frame on its way: when it is due, a number that orders those due at once, and what became of it, or what the kernel
is to be told if that is known already."""

Sure = tuple[list[bytes], int, int, list[int]]
"""What is the same for all frames like one that nothing can spoil: what the kernel is told, less the frame in between
and the cookie at the end; how long it takes; how many receive it; and the count of its kind."""


class Row:
    """Whom a sender reaches for a while, and what follows from that for its frames."""

    __slots__ = ("by_node", "chances", "listeners", "sure", "until_ns")

    def __init__(self, until_ns: int | None, listeners: list[Listener]) -> None:
        self.until_ns = until_ns
        self.listeners = listeners
        self.by_node = {listener[0]: listener for listener in listeners}
        self.chances: dict[tuple[int, int], list[float]] = {}
        """Of each listener to lose a frame, by rate and size."""
        self.sure: dict[tuple[int, bytes, int, int, Tries], Sure | None] = {}
        """Frames that nothing can spoil, by control, receiver, size, flags and tries; None if something can."""


class Decisions:
    """Decides, remembers who is sending, and counts."""

    def __init__(
        self,
        hearing: Hearing,
        radio: Radio,
        addresses: list[bytes],
        packer: Packer,
        rng: Random,
        settings: Settings | None = None,
        on_try: Callable[[Try, bytes, bool], None] | None = None,
        radio_addresses: list[bytes] | None = None,
    ) -> None:
        radio_addresses = radio_addresses or addresses
        self.hearing = hearing
        self.lost: Counter[str] = Counter()
        """What did not arrive, by its cause."""
        self.received = self.tries = 0
        self._sent = {kind: [0, 0] for kind in KINDS}
        self._nodes = {address: node for known in (addresses, radio_addresses) for node, address in enumerate(known)}
        self._receivers = [receiver(address) for address in radio_addresses]
        self._packer = packer
        self._rng = rng
        self._settings = settings or Settings()
        self._routing = self._settings.routing
        self._thins = bool(self._settings.loss or self._settings.duplicate)
        self._on_try = on_try
        self._chances = Chances(radio, rng)
        self._flights: list[Flight] = []
        self._beacons: list[Flight] = []
        """Apart, as stations send them all at the same time; data that are due go first."""
        self.is_beacon = False
        """What landed last."""
        self._order = count().__next__
        self._busy_until = [0] * len(addresses)
        self._rows: dict[int, Row] = {}
        self._heard: list[list[tuple[int, int, float, int]]] = [[] for _ in addresses]
        """Start, end, mean power and sender of what is on the air at each node, for collisions."""

    def forget(self) -> None:
        """Who hears whom has changed."""
        self._rows.clear()

    def counts(self) -> dict[str, Any]:
        """What was sent, of which kind; what arrived; what did not, and why."""
        return {
            "sent": {kind: frames for kind, (frames, _) in self._sent.items()},
            "bytes": {kind: size for kind, (_, size) in self._sent.items()},
            "tries": self.tries,
            "received": self.received,
            "lost": dict(sorted(self.lost.items())),
        }

    def routing_counts(self) -> dict[str, Any] | None:
        """What routing has cost, if it is the kernel's."""
        return None if self._routing is None else self._routing.counts()

    # -- a frame comes -----------------------------------------------------------------------------------------------

    def take(self, sent: Sent, now_ns: int, run_ns: int) -> None:
        """A radio wants to send a frame."""
        transmitter, frame, size, flags, tries, cookie = sent
        sender = self._nodes.get(transmitter)
        if sender is None or size < _SHORTEST:
            self.lost["of no station"] += 1
            return
        if self._routing is not None:
            self._routing.note(frame, size, run_ns)
        row = self._rows.get(sender)
        if row is None or (row.until_ns is not None and run_ns >= row.until_ns):
            row = self._rows[sender] = self._row(sender, run_ns)
        key = (frame[_CONTROL], frame[_RECEIVER : _RECEIVER + 6], size, flags, tries)
        if key in row.sure:
            sure = row.sure[key]
        else:
            sure = row.sure[key] = self._sure(sent, row)
        if sure is None:
            counted = self._sent[_kind(frame)]
            counted[0] += 1
            counted[1] += size + CHECKSUM_BYTES
            self._send(sender, sent, tries, now_ns, row)
            return
        pieces, takes_ns, receivers, counted = sure
        counted[0] += 1
        counted[1] += size + CHECKSUM_BYTES
        self.received += receivers
        self.tries += 1
        busy = self._busy_until
        start = busy[sender] if busy[sender] > now_ns else now_ns
        due = busy[sender] = start + takes_ns
        flights = self._beacons if frame[_CONTROL] == _BEACON else self._flights
        heappush(flights, (due, self._order(), frame.join(pieces) + cookie))
        for node in row.by_node:
            if busy[node] < due:
                busy[node] = due
        if self._on_try is not None:
            self._show(start, tries[0], sent, 0)

    def _row(self, sender: int, run_ns: int) -> Row:
        lasts = self.hearing.lasts_ns()
        until = None if lasts is None else (run_ns // lasts + 1) * lasts
        return Row(until, self.hearing.listeners(sender, run_ns))

    def _sure(self, sent: Sent, row: Row) -> Sure | None:
        """All but the frame itself, if nothing can spoil frames like this one, which is so most of the time."""
        index, size, chances = sent.tries[0], sent.size + CHECKSUM_BYTES, self._chances
        is_data, is_unicast = sent.attribute[_CONTROL] & 0x0C == _DATA, not sent.attribute[_RECEIVER] & 1
        if self._settings.collisions or (is_data and self._thins) or index != chances.index(index):
            return None
        receivers, sizes = row.listeners, [size]
        if is_unicast:
            target = row.by_node.get(self._nodes.get(sent.attribute[_RECEIVER : _RECEIVER + 6], -1))
            if target is None or sent.flags & NO_ACK:
                return None
            receivers, sizes = [target], [size, ACK_BYTES]
        if any(m is not None for _, _, m in receivers):
            return None
        if any(chances.error_rate(index, each, power) for _, power, _ in receivers for each in sizes):
            return None
        acked = receivers[0][1] if is_unicast else None
        told = self._told(sent, receivers, index, is_unicast, acked, _ONCE[index])
        pieces = [b"".join(part) for part in told]
        takes_ns = chances.busy_ns(index, size, 0, is_unicast)
        return pieces, takes_ns, len(receivers), self._sent[_kind(sent.attribute)]

    def _send(self, sender: int, sent: Sent, tries: Tries, now_ns: int, row: Row) -> None:
        """A frame that something may spoil."""
        busy = self._busy_until
        start = max(busy[sender], now_ns)
        way = self._broadcast if sent.attribute[_RECEIVER] & 1 else self._unicast
        due, outcome = way(sender, sent, tries, start, row)
        flights = self._beacons if sent.attribute[_CONTROL] == _BEACON else self._flights
        heappush(flights, (due, self._order(), outcome))
        busy[sender] = due
        for node in row.by_node:
            busy[node] = max(busy[node], due)
        if self._settings.collisions:
            self._heard[sender].append((start, due, inf, sender))
            for node, power, _ in row.listeners:
                self._heard[node].append((start, due, power, sender))

    def _broadcast(self, sender: int, sent: Sent, tries: Tries, start: int, row: Row) -> tuple[int, Outcome]:
        chances, size, random = self._chances, sent.size + CHECKSUM_BYTES, self._rng.random
        index = chances.index(tries[0])
        known = row.chances.get((index, size))
        if known is None:
            known = [chances.error_rate(index, size, power) for _, power, _ in row.listeners]
            row.chances[index, size] = known
        received = []
        for listener, chance in zip(row.listeners, known, strict=True):
            if listener[2] is not None:
                listener = chances.fade(listener)
                chance = chances.error_rate(index, size, listener[1])
            if not chance or random() >= chance:
                received.append(listener)
        self.tries += 1
        if len(received) < len(known):
            self.lost["errors"] += len(known) - len(received)
        if self._on_try is not None:
            self._show(start, index, sent, 0)
        due = start + chances.busy_ns(index, size, 0, False)
        return due, Outcome(start, sender, sent, received, index, False, None, tries, _ONCE[index])

    def _unicast(self, sender: int, sent: Sent, tries: Tries, start: int, row: Row) -> tuple[int, Outcome]:
        target = self._nodes.get(sent.attribute[_RECEIVER : _RECEIVER + 6], -1)
        return self._try_on(sender, sent, tries, start, row.by_node.get(target), (sender, target))

    def _try_on(
        self, sender: int, sent: Sent, tries: Tries, start: int, listener: Listener | None, pair: tuple[int, int]
    ) -> tuple[int, Outcome]:
        """Try at each rate as often as the kernel asks for, until the acknowledgement comes."""
        chances, size, wants_ack = self._chances, sent.size + CHECKSUM_BYTES, not sent.flags & NO_ACK
        now, received, acked, tried, index = start, None, None, 0, chances.index(tries[0])
        used: list[int] = []
        for given, often in zip(tries[::2], tries[1::2], strict=True):
            if given < 0 or acked is not None or (tried and not wants_ack):
                break
            index, times = chances.index(given), 0
            while times < (often if wants_ack else 1) and acked is None:
                if self._on_try is not None:
                    self._show(now, index, sent, tried)
                now += chances.busy_ns(index, size, tried, wants_ack)
                tried, times = tried + 1, times + 1
                got = None if listener is None else chances.received(listener, index, size)
                if listener is not None and got is not None:
                    received = received or got
                    if wants_ack and chances.received(listener, index, ACK_BYTES):
                        acked = got[1]
            used += (given, times)
        self.tries += tried
        if listener is None:
            self.lost["faults" if pair in self.hearing.forbidden else "out of reach"] += 1
        elif received is None:
            self.lost["errors"] += 1
        padded = (*used, *_ONCE[0][2:], -1, 0)[: len(tries)]
        got_it = [received] if received is not None else []
        return now, Outcome(start, sender, sent, got_it, index, True, acked, tries, padded)

    def _show(self, start: int, index: int, sent: Sent, retry: int) -> None:
        assert self._on_try is not None
        rate = self._chances.rates[index]
        self._on_try(Try(start + round(1000 * rate.access.wait_us(retry)), rate.rate.mbps), sent.frame, retry > 0)

    # -- a frame has been sent ---------------------------------------------------------------------------------------

    def next_due(self, now_ns: int = 0) -> int | None:
        """When the frame that lands next will have been on the air."""
        flights = self._next(now_ns)
        return flights[0][0] if flights else None

    def _next(self, now_ns: int) -> list[Flight]:
        flights, beacons = self._flights, self._beacons
        if not beacons or (flights and flights[0][0] <= max(now_ns, beacons[0][0])):
            return flights
        return beacons

    def land(self, run_ns: int, now_ns: int = 0) -> bytes:
        """What the kernel is to be told of the frame that is due next; of those due now, data go first."""
        flights = self._next(now_ns)
        self.is_beacon = flights is self._beacons
        due_ns, _, outcome = heappop(flights)
        if isinstance(outcome, bytes):
            return outcome
        receivers, sent = outcome.receivers, outcome.sent
        if self._settings.collisions:
            survivors = self._survivors(outcome, due_ns)
            if outcome.is_unicast and receivers and not survivors:
                return self._after_collision(outcome, due_ns, run_ns)
            receivers = survivors
        if self._thins and sent.attribute[_CONTROL] & 0x0C == _DATA:
            receivers = self._thinned(receivers)
        self.received += len(receivers)
        told = self._told(sent, receivers, outcome.rate, outcome.is_unicast, outcome.acked_dbm, outcome.used)
        return sent.attribute.join([b"".join(part) for part in told]) + sent.cookie

    def _told(
        self,
        sent: Sent,
        receivers: list[Listener],
        index: int,
        is_unicast: bool,
        acked_dbm: float | None,
        used: Tries,
    ) -> list[list[bytes]]:
        """The messages for receivers and transmitter, cut where the frame is to go; its cookie is to follow."""
        packer, head = self._packer, self._packer.head(len(sent.attribute))
        parts: list[list[bytes]] = [[]]
        for node, power, _ in receivers:
            parts[-1] += (head, self._receivers[node])
            parts.append([packer.tails[index], signal(round(power))])
        flags = sent.flags | WAS_ACKED if acked_dbm is not None or not is_unicast else sent.flags
        parts[-1].append(packer.tx_info(sent.transmitter, flags, round(acked_dbm or 0.0), used))
        return parts

    def _thinned(self, receivers: list[Listener]) -> list[Listener]:
        """Less the datagrams that are lost besides, and with those that come twice."""
        random, loss, duplicate = self._rng.random, self._settings.loss, self._settings.duplicate
        kept = []
        for listener in receivers:
            for _ in range(1 + (random() < duplicate)):
                if random() < loss:
                    self.lost["loss"] += 1
                else:
                    kept.append(listener)
        return kept

    def _survivors(self, outcome: Outcome, due_ns: int) -> list[Listener]:
        """Those at whom nothing as strong was on the air at the same time."""
        survivors, start_ns, sender = [], outcome.start_ns, outcome.sender
        needed_from_ns = self._first_start(outcome)
        for listener in outcome.receivers:
            heard = self._heard[listener[0]]
            heard[:] = [other for other in heard if other[1] > needed_from_ns]
            overlapping = [other for other in heard if other[0] < due_ns and other[1] > start_ns]
            # The frame itself is among them. Its power here may have faded, but its sender sends one at a time.
            rivals = [power for start, _, power, by in overlapping if (start, by) != (start_ns, sender)]
            if rivals and listener[1] < max(rivals) + CAPTURE_DB:
                self.lost["collision"] += 1
            else:
                survivors.append(listener)
        return survivors

    def _first_start(self, landing: Outcome) -> int:
        """When the first of all frames began that land now or later: beacons may wait for long while data land."""
        waiting = [one.start_ns for _, _, one in (*self._flights, *self._beacons) if isinstance(one, Outcome)]
        return min([landing.start_ns, *waiting])

    def _after_collision(self, outcome: Outcome, due_ns: int, run_ns: int) -> bytes:
        """Try on with what is left of the tries, or tell the sender that it failed.

        A sender that wants no acknowledgement does not miss one.
        """
        sender, sent = outcome.sender, outcome.sent
        left = _less(outcome.asked, outcome.used)
        if left[0] >= 0 and not sent.flags & NO_ACK:
            again = due_ns + self._rng.randrange(_BACKOFF_NS)  # at random, or the same two would meet again
            self._send(sender, sent, left, again, self._rows.get(sender) or self._row(sender, run_ns))
            return b""
        return self._packer.tx_info(sent.transmitter, sent.flags, 0, outcome.used) + sent.cookie


_ONCE = [(index, 1, -1, 0, -1, 0, -1, 0) for index in range(12)]


def _kind(attribute: bytes) -> str:
    if attribute[_CONTROL] & 0x0C == _DATA:
        return "data broadcast" if attribute[_RECEIVER] & 1 else "data unicast"
    return "beacon" if attribute[_CONTROL] == _BEACON else "management"


def _less(tries: Tries, used: Tries) -> Tries:
    """What is left of the tries that were asked for."""
    left: list[int] = []
    for place in range(0, len(tries), 2):
        times = tries[place + 1] - (used[place + 1] if used[place] == tries[place] else 0)
        if tries[place] >= 0 and times > 0:
            left += (tries[place], times)
    return (*left, *((-1, 0) * (len(tries) // 2)))[: len(tries)]
