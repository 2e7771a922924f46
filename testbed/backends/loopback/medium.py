"""The medium between stations on loopback: a process that gets every datagram and passes it on to those in reach.

It does in real time what the simulator does: it applies the radio's error rate at the nodes' positions, and the
scenario's loss, duplicates and hop delay. A sender's frames follow each other, each as long as its airtime. The medium
measures how much later than due it passes a datagram on.
"""

from __future__ import annotations

import select
import socket
import sys
import time
from collections import Counter
from heapq import heappop, heappush
from itertools import combinations, count

from testbed.backends.loopback.transport import HEADER_BYTES, LOOPBACK, TO_ALL
from testbed.backends.repetition import Repetition
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.control import Control, become_child
from testbed.backends.stations.lateness import Lateness
from testbed.backends.stations.transport import BUFFER_BYTES, udp_socket
from testbed.pairs import link_of
from testbed.randomness import Streams
from testbed.scenario.loader import loads

HEADERS_BYTES = 64
"""The headers of UDP, IP, LLC and 802.11 that a datagram has on the air."""
NANOSECONDS = 10**9


class LoopbackMedium:
    """Passes datagrams on."""

    def __init__(self, control: Control) -> None:
        self._control = control
        spec, _ = control.receive()
        if spec is None:
            sys.exit(1)
        self._scenario = scenario = loads(spec["scenario"])
        repetition = Repetition(scenario, Streams(scenario.seed, spec["repetition"]))
        self._geometry = repetition.geometry
        self._loss = repetition.datagram_loss()
        self._rate = scenario.radio.bit_rate if scenario.radio is not None else None
        pairs = combinations(range(scenario.stations), 2)
        self._allowed = set(pairs if self._geometry is not None else repetition.graph.links())
        self._forbidden: set[tuple[int, int]] = set()
        self._clock = RunClock(time.monotonic_ns(), scenario.time_unit)
        self._socket = udp_socket((LOOPBACK, 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self._ports: dict[int, int] = {}  # of stations
        self._nodes: dict[int, int] = {}  # by port
        self._free_at = [0] * scenario.stations  # when each sender's radio has sent everything so far
        self._due: list[tuple[int, int, int, bytes]] = []  # when due, ticket, receiver, datagram
        self._ticket = count().__next__
        self._lateness = Lateness()
        self._counts: Counter[str] = Counter()

    def work(self) -> None:
        """Pass datagrams on until told to finish."""
        self._control.send({"ready": self._socket.getsockname()[1]})
        while True:
            wait_s = max(0.0, (self._due[0][0] - time.monotonic_ns()) / 1e9) if self._due else None
            ready, _, _ = select.select([self._socket, self._control.socket], [], [], wait_s)
            if self._control.socket in ready and not self._obey():
                return
            if self._socket in ready:
                self._hear()
            self._pass_on()

    def _obey(self) -> bool:
        order, _ = self._control.receive()
        if order is None:
            return False
        what = order["do"]
        if what == "station":
            self._note_station(order["node"], order["port"])
        elif what == "start":
            self._clock = RunClock(order["epoch"], self._scenario.time_unit)
        elif what == "allow":
            self._allowed = {link_of(a, b) for a, b in order["pairs"]}
        elif what == "forbid":
            self._forbidden = {link_of(a, b) for a, b in order["pairs"]}
        elif what == "finish":
            self._control.send({"end": {"lateness_ms": self._lateness.summary_ms(), "counts": self._counts}})
            return False
        return True

    def _note_station(self, node: int, port: int) -> None:
        """A station listens on a port. A node that had this port before has crashed, and what is due to it is lost."""
        self._nodes = {other: one for other, one in self._nodes.items() if one != node} | {port: node}
        self._ports = {one: other for other, one in self._nodes.items()}

    def _hear(self) -> None:
        """Read all datagrams that have arrived."""
        while True:
            try:
                data, (_, port) = self._socket.recvfrom(65536)
            except BlockingIOError:
                return
            except OSError:  # a station that has exited refused an earlier datagram
                continue
            source = self._nodes.get(port)
            if source is None or len(data) < HEADER_BYTES:
                self._counts["from strangers"] += 1
            else:
                self._broadcast(source, int.from_bytes(data[:HEADER_BYTES]), data[HEADER_BYTES:])

    def _broadcast(self, source: int, to: int, data: bytes) -> None:
        now_ns = time.monotonic_ns()
        sent_ns = now_ns
        if self._rate is not None:
            airtime_ns = round(1000 * self._rate.airtime_us(len(data) + HEADERS_BYTES))
            sent_ns = self._free_at[source] = max(now_ns, self._free_at[source]) + airtime_ns
        self._counts["sent"] += 1
        seconds = self._clock.seconds()
        for target in self._ports if to == TO_ALL else (to,):
            if target != source and target in self._ports and self._is_open(source, target, seconds):
                delays = self._loss.arrivals(source, target, seconds, len(data))
                self._counts["lost"] += not delays
                for ticks in delays:
                    due = sent_ns + round(ticks * self._scenario.time_unit)
                    heappush(self._due, (due, self._ticket(), target, data))

    def _is_open(self, source: int, target: int, seconds: float) -> bool:
        link = link_of(source, target)
        if link not in self._allowed or link in self._forbidden:
            return False
        if self._geometry is None:
            return True
        paths = self._geometry.trajectories
        return paths[source].is_there(seconds) and paths[target].is_there(seconds)

    def _pass_on(self) -> None:
        """Send everything that is due."""
        due = self._due
        while due and due[0][0] <= (now := time.monotonic_ns()):
            when, _, target, data = heappop(due)
            self._lateness.note(now - when)
            if target not in self._ports:
                self._counts["refused"] += 1
                continue
            try:
                self._socket.sendto(data, (LOOPBACK, self._ports[target]))
                self._counts["delivered"] += 1
            except OSError:  # no room, or no such station: lost, as on the air
                self._counts["refused"] += 1


def main(control: Control) -> None:
    """The process, with its control channel."""
    become_child("medium")
    LoopbackMedium(control).work()


if __name__ == "__main__":
    main(Control.inherited(int(sys.argv[1])))
