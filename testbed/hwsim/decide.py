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

import heapq
from collections import Counter
from collections.abc import Callable
from itertools import count
from random import Random
from typing import NamedTuple

from testbed.hwsim.airtime import ACK_BYTES, AirRate, rates_by_index
from testbed.hwsim.hearing import Hearing, Listener
from testbed.hwsim.hwsim import NO_ACK, WAS_ACKED, Packer, Sent, Tries, receiver, signal
from testbed.radio.fading import draw_gain_db
from testbed.radio.radio import Radio
from testbed.radio.receiver import Receiver

CHECKSUM_BYTES = 4
CAPTURE_DB = 10.0
"""By how much a frame must be the stronger one to survive a collision."""
_STEPS_PER_DB = 50
"""Error rates are computed for powers this fine, and remembered."""
_REMEMBERED = 100_000
_DATA, _BEACON = 0x08, 0x80


class Settings(NamedTuple):
    """What there is besides the radio."""

    loss: float = 0.0
    """Share of the data frames that a receiver loses besides, after having acknowledged them: datagrams are lost, as in
    the simulator, and not just tried again."""
    duplicate: float = 0.0
    """Share of the data frames that arrive twice."""
    collisions: bool = False


class Try(NamedTuple):
    """One time that a frame was on the air."""

    start_ns: int
    mbps: float


class Flight(NamedTuple):
    """A frame that is on its way; the first due is the first in a heap."""

    due_ns: int
    order: int
    start_ns: int
    sender: int
    sent: Sent
    receivers: list[Listener]
    """Who has received it, unless it collides."""
    rate: int
    unicast_to: int | None
    acked_dbm: float | None
    """The power of the acknowledgement, if there was one."""
    used: Tries


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
    ) -> None:
        self.hearing = hearing
        self.counts: Counter[str] = Counter()
        self._nodes = {address: node for node, address in enumerate(addresses)}
        self._receivers = [receiver(address) for address in addresses]
        self._packer = packer
        self._rng = rng
        self._settings = settings or Settings()
        self._on_try = on_try
        self._rates = rates_by_index(radio.standard)
        detector = radio.receiver
        self._listen = [Receiver(one.rate, detector.noise_dbm, detector.detection_dbm) for one in self._rates]
        self._flights: list[Flight] = []
        self._order = count()
        self._busy_until = [0] * len(addresses)
        self._rows: dict[int, tuple[int | None, list[Listener], dict[tuple[int, int], list[tuple[Listener, float]]]]]
        self._rows = {}
        self._error_rates: dict[tuple[int, int, int], float] = {}
        self._heard: list[list[tuple[int, int, float]]] = [[] for _ in addresses]
        """Start, end and power of what is on the air at each node, for collisions."""

    def forget(self) -> None:
        """Who hears whom has changed."""
        self._rows.clear()

    # -- a frame comes -----------------------------------------------------------------------------------------------

    def take(self, sent: Sent, now_ns: int, run_ns: int) -> None:
        """A radio wants to send a frame."""
        sender = self._nodes.get(sent.transmitter)
        if sender is None or len(sent.frame) < 10:
            self.counts["of no station"] += 1
            return
        self._count(sent)
        self._send(sender, sent, sent.tries, now_ns, run_ns)

    def _count(self, sent: Sent) -> None:
        frame, counts = sent.frame, self.counts
        if frame[0] & 0x0C == _DATA:
            kind = "data broadcast" if frame[4] & 1 else "data unicast"
        else:
            kind = "beacons" if frame[0] == _BEACON else "management"
        counts[kind] += 1
        counts[kind + " bytes"] += len(frame) + CHECKSUM_BYTES

    def _send(self, sender: int, sent: Sent, tries: Tries, now_ns: int, run_ns: int) -> None:
        listeners, plans = self._row(sender, run_ns)
        start = max(now_ns, self._busy_until[sender])
        if sent.frame[4] & 1:
            flight = self._broadcast(sender, sent, tries, start, listeners, plans)
        else:
            flight = self._unicast(sender, sent, tries, start, listeners)
        heapq.heappush(self._flights, flight)
        busy, due = self._busy_until, flight.due_ns
        busy[sender] = due
        for node, _, _ in listeners:
            if busy[node] < due:
                busy[node] = due
        if self._settings.collisions:
            self._heard[sender].append((start, due, float("inf")))
            for node, power, _ in listeners:
                self._heard[node].append((start, due, power))

    def _row(
        self, sender: int, run_ns: int
    ) -> tuple[list[Listener], dict[tuple[int, int], list[tuple[Listener, float]]]]:
        """Whom a sender reaches, and what is remembered of the chances of its frames."""
        row = self._rows.get(sender)
        if row is None or (row[0] is not None and run_ns >= row[0]):
            lasts = self.hearing.lasts_ns()
            until = None if lasts is None else (run_ns // lasts + 1) * lasts
            row = self._rows[sender] = (until, self.hearing.listeners(sender, run_ns), {})
        return row[1], row[2]

    def _broadcast(
        self,
        sender: int,
        sent: Sent,
        tries: Tries,
        start: int,
        listeners: list[Listener],
        plans: dict[tuple[int, int], list[tuple[Listener, float]]],
    ) -> Flight:
        index, size = tries[0], len(sent.frame) + CHECKSUM_BYTES
        key = (index, size)
        plan = plans.get(key)
        if plan is None:
            plan = plans[key] = self._chances(index, size, listeners)
        random, received, spoilt = self._rng.random, [], 0
        for listener, chance in plan:
            if listener[2] is not None:
                listener = self._faded(listener)
                chance = self._error_rate(index, size, listener[1])
            if chance and random() < chance:
                spoilt += 1
            else:
                received.append(listener)
        if spoilt:
            self.counts["lost to errors"] += spoilt
        end = start + self._rates[index].busy_ns(size, 0, False)
        if self._on_try is not None:
            self._show(start, self._rates[index], sent, 0)
        return Flight(end, next(self._order), start, sender, sent, received, index, None, None, (index, 1, *_NO_MORE))

    def _chances(self, index: int, size: int, listeners: list[Listener]) -> list[tuple[Listener, float]]:
        """The chance of every listener to lose a frame; with fading it is drawn anew for each frame."""
        return [
            (listener, 0.0 if listener[2] is not None else self._error_rate(index, size, listener[1]))
            for listener in listeners
        ]

    def _faded(self, listener: Listener) -> Listener:
        node, mean, m = listener
        assert m is not None
        return node, mean + draw_gain_db(m, self._rng), m

    def _error_rate(self, index: int, size: int, power: float) -> float:
        listen = self._listen[index]
        if power < listen.detection_dbm:
            return 1.0
        key = (index, size, round(power * _STEPS_PER_DB))
        rate = self._error_rates.get(key)
        if rate is None:
            if len(self._error_rates) > _REMEMBERED:
                self._error_rates.clear()
            rate = self._error_rates[key] = listen.error_rate(max(listen.detection_dbm, key[2] / _STEPS_PER_DB), size)
        return rate

    def _unicast(self, sender: int, sent: Sent, tries: Tries, start: int, listeners: list[Listener]) -> Flight:
        """Try at each rate as often as the kernel asks for, until the acknowledgement comes."""
        target = self._nodes.get(sent.frame[4:10])
        listener = next((one for one in listeners if one[0] == target), None)
        size, wants_ack = len(sent.frame) + CHECKSUM_BYTES, not sent.flags & NO_ACK
        now, received, acked, tried, index = start, None, None, 0, tries[0]
        used: list[int] = []
        for index, often in zip(tries[::2], tries[1::2], strict=True):
            if index < 0 or acked is not None:
                break
            times = 0
            for _ in range(often if wants_ack else 1):
                if self._on_try is not None:
                    self._show(now, self._rates[index], sent, tried)
                now += self._rates[index].busy_ns(size, tried, wants_ack)
                tried, times = tried + 1, times + 1
                got = self._got(listener, index, size)
                received = received or got
                if got is not None and wants_ack and self._got(listener, index, ACK_BYTES) is not None:
                    acked = got[1]
                    break
            used += (index, times)
            if not wants_ack:
                break
        rate = used[-2] if used else index
        self.counts["tries"] += tried
        if listener is None:
            by_fault = (sender, target) in self.hearing.forbidden
            self.counts["lost to faults" if by_fault else "lost out of reach"] += 1
        elif received is None:
            self.counts["lost to errors"] += 1
        used += _NO_MORE[: len(tries) - len(used)] if len(used) < len(tries) else ()
        return Flight(
            *(now, next(self._order), start, sender, sent, [received] if received else []),
            *(rate, target if target is not None else -1, acked, tuple(used)),
        )

    def _got(self, listener: Listener | None, index: int, size: int) -> Listener | None:
        """The listener with the power of a frame, if it received it."""
        if listener is None:
            return None
        if listener[2] is not None:
            listener = self._faded(listener)
        chance = self._error_rate(index, size, listener[1])
        return None if chance and self._rng.random() < chance else listener

    def _show(self, start: int, rate: AirRate, sent: Sent, retry: int) -> None:
        assert self._on_try is not None
        self._on_try(Try(start + round(1000 * rate.access.wait_us(retry)), rate.rate.mbps), sent.frame, retry > 0)

    # -- a frame has been sent ---------------------------------------------------------------------------------------

    def next_due(self) -> int | None:
        """When the next frame will have been on the air."""
        return self._flights[0].due_ns if self._flights else None

    def land(self, run_ns: int) -> bytes:
        """What the kernel is to be told of the frame that is due next."""
        flight = heapq.heappop(self._flights)
        receivers = flight.receivers
        if self._settings.collisions:
            receivers = self._survivors(flight)
            if flight.unicast_to is not None and flight.receivers and not receivers:
                return self._after_collision(flight, run_ns)
        sent = flight.sent
        parts: list[bytes] = []
        if receivers:
            frame = sent.frame
            head, body = self._packer.head(len(frame)), self._packer.body(frame, flight.rate)
            addresses, arrived = self._receivers, 0
            if frame[0] & 0x0C == _DATA and (self._settings.loss or self._settings.duplicate):
                receivers = self._thinned(receivers)
            for node, power, _ in receivers:
                parts += (head, addresses[node], body, signal(round(power)))
                arrived += 1
            self.counts["received"] += arrived
        was_acked = flight.unicast_to is None or flight.acked_dbm is not None
        flags = sent.flags | WAS_ACKED if was_acked else sent.flags
        power = round(flight.acked_dbm) if flight.acked_dbm is not None else 0
        parts.append(self._packer.tx_info(sent.transmitter, flags, power, flight.used, sent.cookie))
        return b"".join(parts)

    def _thinned(self, receivers: list[Listener]) -> list[Listener]:
        """Less the datagrams that are lost besides, and with those that come twice."""
        random, loss, duplicate = self._rng.random, self._settings.loss, self._settings.duplicate
        kept = []
        for listener in receivers:
            for _ in range(1 + (random() < duplicate)):
                if random() < loss:
                    self.counts["lost besides"] += 1
                else:
                    kept.append(listener)
        return kept

    def _survivors(self, flight: Flight) -> list[Listener]:
        """Those at whom nothing as strong was on the air at the same time."""
        survivors = []
        for listener in flight.receivers:
            node, power, _ = listener
            heard = self._heard[node]
            heard[:] = [other for other in heard if other[1] > flight.start_ns]
            own_seen = False
            for start, end, other in heard:
                if start == flight.start_ns and end == flight.due_ns and not own_seen:
                    own_seen = True  # the frame itself
                elif start < flight.due_ns and end > flight.start_ns and power < other + CAPTURE_DB:
                    self.counts["lost to collisions"] += 1
                    break
            else:
                survivors.append(listener)
        return survivors

    def _after_collision(self, flight: Flight, run_ns: int) -> bytes:
        """Try on with what is left of the tries, or tell the sender that it failed."""
        left = _less(flight.sent.tries, flight.used)
        if left[0] >= 0:
            self._send(flight.sender, flight.sent, left, flight.due_ns, run_ns)
            return b""
        return self._packer.tx_info(flight.sent.transmitter, flight.sent.flags, 0, flight.used, flight.sent.cookie)


_NO_MORE = (-1, 0, -1, 0, -1, 0)


def _less(tries: Tries, used: Tries) -> Tries:
    """What is left of the tries that were asked for."""
    left: list[int] = []
    for place in range(0, len(tries), 2):
        times = tries[place + 1] - (used[place + 1] if used[place] == tries[place] else 0)
        if tries[place] >= 0 and times > 0:
            left += (tries[place], times)
    return (*left, *((-1, 0) * (len(tries) // 2)))[: len(tries)]
