"""What happens to frames: which nodes receive them, how often they are tried, how long they take. No socket, no clock.

**A frame.** A radio gives a frame to the medium when it wants to send it. The frame waits until the air around the
sender is free, and is then on the air for as long as its bits take (`airtime`). A unicast is tried again, at the rates
and as often as the kernel asks for, until its receiver has it and the acknowledgement has come back. At the end of this
time the frame goes to all nodes that received it, and the sender's kernel is told the result.

**Sharing the air.** A transmission keeps the air busy at all nodes that hear its sender; other nodes may send at the
same time. By default such transmissions do not disturb each other. With `collisions` they do: of two that overlap at a
node that hears both, only one that is 10 dB stronger survives, and a node hears nothing while it sends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from random import Random
from typing import Any

from testbed.backends.hwsim.airtime import ACK_BYTES
from testbed.backends.hwsim.error_rates import ErrorRates
from testbed.backends.hwsim.frames import (
    BEACON,
    CONTROL_AT,
    DATA,
    KINDS,
    ONCE,
    RECEIVER_AT,
    Flight,
    FrameOutcome,
    Impairments,
    Reception,
    Sure,
    Try,
    kind_of,
    tries_left,
)
from testbed.backends.hwsim.hearing import Hearer, Hearing
from testbed.backends.hwsim.messages import NO_ACK, WAS_ACKED, Packer, Sent, Tries, receiver, signal
from testbed.radio.radio import Radio

CHECKSUM_BYTES = 4
CAPTURE_DB = 10.0
"""How much stronger a frame must be to survive a collision."""
_SHORTEST = 10  # bytes that have a receiver's address
_BACKOFF_NS = 2_000_000


class FrameOutcomes:
    """Decides the outcome of each frame, keeps track of which nodes are sending, and counts."""

    def __init__(
        self,
        hearing: Hearing,
        radio: Radio,
        addresses: list[bytes],
        packer: Packer,
        rng: Random,
        impairments: Impairments | None = None,
        on_try: Callable[[Try, bytes, bool], None] | None = None,
        radio_addresses: list[bytes] | None = None,
    ) -> None:
        radio_addresses = radio_addresses or addresses
        self.hearing = hearing
        self.lost: Counter[str] = Counter()
        """The number of frames that did not arrive, by cause."""
        self.received = self.tries = 0
        self._sent = {kind: [0, 0] for kind in KINDS}
        self._nodes = {address: node for known in (addresses, radio_addresses) for node, address in enumerate(known)}
        self._receivers = [receiver(address) for address in radio_addresses]
        self._packer = packer
        self._rng = rng
        self._impairments = impairments or Impairments()
        self._routing = self._impairments.routing
        self._thins = bool(self._impairments.loss or self._impairments.duplicate)
        self._on_try = on_try
        self._error_rates = ErrorRates(radio, rng)
        self._flights: list[Flight] = []
        self._beacons: list[Flight] = []
        """Kept apart, as stations send all beacons at the same time; data frames that are due go first."""
        self.is_beacon = False
        """Whether the last frame that landed was a beacon."""
        self._order = count().__next__
        self._busy_until = [0] * len(addresses)
        self._rows: dict[int, Reception] = {}
        self._heard: list[list[tuple[int, int, float, int]]] = [[] for _ in addresses]
        """By node: start, end, mean power and sender of what is on the air there. Used for collisions."""

    def forget(self) -> None:
        """Drop what is cached: which nodes hear each other has changed."""
        self._rows.clear()

    def counts(self) -> dict[str, Any]:
        """What was sent, by kind; what arrived; what did not, by cause."""
        return {
            "sent": {kind: frames for kind, (frames, _) in self._sent.items()},
            "bytes": {kind: size for kind, (_, size) in self._sent.items()},
            "tries": self.tries,
            "received": self.received,
            "lost": dict(sorted(self.lost.items())),
        }

    def routing_counts(self) -> dict[str, Any] | None:
        """The frames of routing, if the kernel routes."""
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
        key = (frame[CONTROL_AT], frame[RECEIVER_AT : RECEIVER_AT + 6], size, flags, tries)
        if key in row.sure:
            sure = row.sure[key]
        else:
            sure = row.sure[key] = self._sure(sent, row)
        if sure is None:
            counted = self._sent[kind_of(frame)]
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
        flights = self._beacons if frame[CONTROL_AT] == BEACON else self._flights
        heappush(flights, (due, self._order(), frame.join(pieces) + cookie))
        for node in row.by_node:
            if busy[node] < due:
                busy[node] = due
        if self._on_try is not None:
            self._show(start, tries[0], sent, 0)

    def _row(self, sender: int, run_ns: int) -> Reception:
        lasts = self.hearing.lasts_ns()
        until = None if lasts is None else (run_ns // lasts + 1) * lasts
        return Reception(until, self.hearing.listeners(sender, run_ns))

    def _sure(self, sent: Sent, row: Reception) -> Sure | None:
        """Everything but the frame itself, if frames like this one cannot be lost, which is the usual case."""
        index, size, rates = sent.tries[0], sent.size + CHECKSUM_BYTES, self._error_rates
        is_data, is_unicast = sent.attribute[CONTROL_AT] & 0x0C == DATA, not sent.attribute[RECEIVER_AT] & 1
        if self._impairments.collisions or (is_data and self._thins) or index != rates.index(index):
            return None
        receivers, sizes = row.listeners, [size]
        if is_unicast:
            target = row.by_node.get(self._nodes.get(sent.attribute[RECEIVER_AT : RECEIVER_AT + 6], -1))
            if target is None or sent.flags & NO_ACK:
                return None
            receivers, sizes = [target], [size, ACK_BYTES]
        if any(m is not None for _, _, m in receivers):
            return None
        if any(rates.error_rate(index, each, power) for _, power, _ in receivers for each in sizes):
            return None
        acked = receivers[0][1] if is_unicast else None
        parts = self._kernel_messages(sent, receivers, index, is_unicast, acked, ONCE[index])
        pieces = [b"".join(part) for part in parts]
        takes_ns = rates.busy_ns(index, size, 0, is_unicast)
        return pieces, takes_ns, len(receivers), self._sent[kind_of(sent.attribute)]

    def _send(self, sender: int, sent: Sent, tries: Tries, now_ns: int, row: Reception) -> None:
        """Send a frame that may be lost."""
        busy = self._busy_until
        start = max(busy[sender], now_ns)
        way = self._broadcast if sent.attribute[RECEIVER_AT] & 1 else self._unicast
        due, outcome = way(sender, sent, tries, start, row)
        flights = self._beacons if sent.attribute[CONTROL_AT] == BEACON else self._flights
        heappush(flights, (due, self._order(), outcome))
        busy[sender] = due
        for node in row.by_node:
            busy[node] = max(busy[node], due)
        if self._impairments.collisions:
            self._heard[sender].append((start, due, inf, sender))
            for node, power, _ in row.listeners:
                self._heard[node].append((start, due, power, sender))

    def _broadcast(self, sender: int, sent: Sent, tries: Tries, start: int, row: Reception) -> tuple[int, FrameOutcome]:
        rates, size, random = self._error_rates, sent.size + CHECKSUM_BYTES, self._rng.random
        index = rates.index(tries[0])
        known = row.chances.get((index, size))
        if known is None:
            known = [rates.error_rate(index, size, power) for _, power, _ in row.listeners]
            row.chances[index, size] = known
        received = []
        for listener, chance in zip(row.listeners, known, strict=True):
            if listener[2] is not None:
                listener = rates.fade(listener)
                chance = rates.error_rate(index, size, listener[1])
            if not chance or random() >= chance:
                received.append(listener)
        self.tries += 1
        if len(received) < len(known):
            self.lost["errors"] += len(known) - len(received)
        if self._on_try is not None:
            self._show(start, index, sent, 0)
        due = start + rates.busy_ns(index, size, 0, False)
        return due, FrameOutcome(start, sender, sent, received, index, False, None, tries, ONCE[index])

    def _unicast(self, sender: int, sent: Sent, tries: Tries, start: int, row: Reception) -> tuple[int, FrameOutcome]:
        target = self._nodes.get(sent.attribute[RECEIVER_AT : RECEIVER_AT + 6], -1)
        return self._try_on(sender, sent, tries, start, row.by_node.get(target), (sender, target))

    def _try_on(
        self, sender: int, sent: Sent, tries: Tries, start: int, listener: Hearer | None, pair: tuple[int, int]
    ) -> tuple[int, FrameOutcome]:
        """Try at each rate as often as the kernel asks for, until the acknowledgement comes."""
        rates, size, wants_ack = self._error_rates, sent.size + CHECKSUM_BYTES, not sent.flags & NO_ACK
        now, received, acked, tried, index = start, None, None, 0, rates.index(tries[0])
        used: list[int] = []
        for given, often in zip(tries[::2], tries[1::2], strict=True):
            if given < 0 or acked is not None or (tried and not wants_ack):
                break
            index, times = rates.index(given), 0
            while times < (often if wants_ack else 1) and acked is None:
                if self._on_try is not None:
                    self._show(now, index, sent, tried)
                now += rates.busy_ns(index, size, tried, wants_ack)
                tried, times = tried + 1, times + 1
                got = None if listener is None else rates.received(listener, index, size)
                if listener is not None and got is not None:
                    received = received or got
                    if wants_ack and rates.received(listener, index, ACK_BYTES):
                        acked = got[1]
            used += (given, times)
        self.tries += tried
        if listener is None:
            self.lost["faults" if pair in self.hearing.forbidden else "out of reach"] += 1
        elif received is None:
            self.lost["errors"] += 1
        padded = (*used, *ONCE[0][2:], -1, 0)[: len(tries)]
        got_it = [received] if received is not None else []
        return now, FrameOutcome(start, sender, sent, got_it, index, True, acked, tries, padded)

    def _show(self, start: int, index: int, sent: Sent, retry: int) -> None:
        assert self._on_try is not None
        rate = self._error_rates.rates[index]
        self._on_try(Try(start + round(1000 * rate.access.wait_us(retry)), rate.rate.mbps), sent.frame, retry > 0)

    # -- a frame has been sent ---------------------------------------------------------------------------------------

    def next_due(self, now_ns: int = 0) -> int | None:
        """When the next frame will have been sent completely."""
        flights = self._next(now_ns)
        return flights[0][0] if flights else None

    def _next(self, now_ns: int) -> list[Flight]:
        flights, beacons = self._flights, self._beacons
        if not beacons or (flights and flights[0][0] <= max(now_ns, beacons[0][0])):
            return flights
        return beacons

    def land(self, run_ns: int, now_ns: int = 0) -> bytes:
        """The messages to the kernel for the frame that is due next; of those due now, data frames go first."""
        flights = self._next(now_ns)
        self.is_beacon = flights is self._beacons
        due_ns, _, outcome = heappop(flights)
        if isinstance(outcome, bytes):
            return outcome
        receivers, sent = outcome.receivers, outcome.sent
        if self._impairments.collisions:
            survivors = self._survivors(outcome, due_ns)
            if outcome.is_unicast and receivers and not survivors:
                return self._after_collision(outcome, due_ns, run_ns)
            receivers = survivors
        if self._thins and sent.attribute[CONTROL_AT] & 0x0C == DATA:
            receivers = self._thinned(receivers)
        self.received += len(receivers)
        parts = self._kernel_messages(
            sent, receivers, outcome.rate, outcome.is_unicast, outcome.acked_dbm, outcome.used
        )
        return sent.attribute.join([b"".join(part) for part in parts]) + sent.cookie

    def _kernel_messages(
        self,
        sent: Sent,
        receivers: list[Hearer],
        index: int,
        is_unicast: bool,
        acked_dbm: float | None,
        used: Tries,
    ) -> list[list[bytes]]:
        """The messages for receivers and transmitter, cut where the frame goes; its cookie has to follow."""
        packer, head = self._packer, self._packer.head(len(sent.attribute))
        parts: list[list[bytes]] = [[]]
        for node, power, _ in receivers:
            parts[-1] += (head, self._receivers[node])
            parts.append([packer.tails[index], signal(round(power))])
        flags = sent.flags | WAS_ACKED if acked_dbm is not None or not is_unicast else sent.flags
        parts[-1].append(packer.tx_info(sent.transmitter, flags, round(acked_dbm or 0.0), used))
        return parts

    def _thinned(self, receivers: list[Hearer]) -> list[Hearer]:
        """The receivers without those that lose the datagram by `loss`, and with those that get it twice."""
        random, loss, duplicate = self._rng.random, self._impairments.loss, self._impairments.duplicate
        kept = []
        for listener in receivers:
            for _ in range(1 + (random() < duplicate)):
                if random() < loss:
                    self.lost["loss"] += 1
                else:
                    kept.append(listener)
        return kept

    def _survivors(self, outcome: FrameOutcome, due_ns: int) -> list[Hearer]:
        """The receivers at which no other frame was on the air at the same time that is too strong."""
        survivors, start_ns, sender = [], outcome.start_ns, outcome.sender
        needed_from_ns = self._first_start(outcome)
        for listener in outcome.receivers:
            heard = self._heard[listener[0]]
            heard[:] = [other for other in heard if other[1] > needed_from_ns]
            overlapping = [other for other in heard if other[0] < due_ns and other[1] > start_ns]
            # The frame itself is among them. Its power may have faded here, but its sender sends one at a time.
            rivals = [power for start, _, power, by in overlapping if (start, by) != (start_ns, sender)]
            if rivals and listener[1] < max(rivals) + CAPTURE_DB:
                self.lost["collision"] += 1
            else:
                survivors.append(listener)
        return survivors

    def _first_start(self, landing: FrameOutcome) -> int:
        """The earliest start of all frames that land now or later: beacons may wait for long while data frames land."""
        waiting = [one.start_ns for _, _, one in (*self._flights, *self._beacons) if isinstance(one, FrameOutcome)]
        return min([landing.start_ns, *waiting])

    def _after_collision(self, outcome: FrameOutcome, due_ns: int, run_ns: int) -> bytes:
        """Go on with the remaining tries, or tell the sender that the frame failed.

        A sender that wants no acknowledgement does not try again.
        """
        sender, sent = outcome.sender, outcome.sent
        left = tries_left(outcome.asked, outcome.used)
        if left[0] >= 0 and not sent.flags & NO_ACK:
            again = due_ns + self._rng.randrange(_BACKOFF_NS)  # at random, or the same two frames would collide again
            self._send(sender, sent, left, again, self._rows.get(sender) or self._row(sender, run_ns))
            return b""
        return self._packer.tx_info(sent.transmitter, sent.flags, 0, outcome.used) + sent.cookie
