"""The medium: a process that carries every frame of a run from radio to radio, in real time.

A socket is registered with mac80211_hwsim in the run's own namespace, from where on every frame of the run's radios
comes to it and goes nowhere else. When a registered socket closes, the kernel goes over to a perfect medium in which
everyone hears everyone; so the orchestrator keeps it open too, and if the medium dies, nobody hears anybody.

**Control.** A SOCK_SEQPACKET socket pair with JSON messages. To the medium:

    {"do": "start", "epoch": ns}                      of CLOCK_MONOTONIC: nodes move from then on
    {"do": "forbid", "pairs": [[a, b], ...]}          the complete list of pairs that do not hear each other
    {"do": "allow", "pairs": [[a, b], ...]}           the complete list of those that do, where nodes have no places
    {"do": "place", "positions": {"0": [x, y, z]}}    elsewhere than on their trajectories, for a trial
    {"do": "where"}                                   it says where it believes the nodes to be
    {"do": "finish"}

From it: `{"ready": true}`, `{"failed": "one line"}`, `{"end": {...}}`, and `{"done": what}` to any message that has
`"reply": true`. If the socket ends, the medium exits at once. A second pair, the watcher, takes the same messages from
somebody else, and may end.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any

from testbed.errors import BackendError, one_line
from testbed.network.geometry import Geometry
from testbed.backends.hwsim import messages
from testbed.backends.hwsim import kernel
from testbed.backends.hwsim import netlink
from testbed.backends.hwsim.capture import Capture
from testbed.backends.hwsim.outcomes import Decisions, Settings, Try
from testbed.backends.hwsim.fleet import Fleet
from testbed.backends.hwsim.hearing import GivenPairs, Hearing, Places
from testbed.mobility.trajectory import Position
from testbed.backends.stations.lateness import Lateness
from testbed.processes import die_with_parent

_BUFFER_BYTES = 1 << 18
"""Of its netlink socket, in each direction: room for a burst, but none for seconds of frames that nobody wants."""
_SEND_BYTES = 1 << 14
_FRAME_BYTES = 1 << 13
_SLEPT_NS = 50_000
_EARLY_NS = 30_000
"""As punctual as the kernel's timers are."""
_SHORT_NS = 1_500_000
_MOST = 100
"""Frames to take before those that are due are looked after."""
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_PORT = 0x54000000
"""Of its netlink socket, plus its process number. Any socket that closes with the number of the registered one would
unregister it, of whatever protocol; by default the kernel gives the process number to the first of each."""


@dataclass(frozen=True)
class Plan:
    """What the medium is to do."""

    geometry: Geometry | None
    """Who hears whom, by their places; None if pairs are given."""
    allowed: Collection[Sequence[int]] = ()
    """The pairs that hear each other at first, where there is no geometry."""
    settings: Settings = field(default_factory=Settings)
    pcap: Path | None = None
    rng: Random | None = None


class Medium:
    """The loop: frames in, frames out, each when it is due."""

    def __init__(
        self,
        wire: socket.socket,
        control: socket.socket,
        watcher: socket.socket,
        make: Callable[[Callable[[Try, bytes, bool], None] | None], Decisions],
        capture: Capture | None = None,
    ) -> None:
        self._wire = wire
        self._control = control
        self._watcher = watcher
        self._capture = capture
        self._epoch: int | None = None
        self._wall_offset = time.time_ns() - time.monotonic_ns()
        self.decisions = make(self._write_try if capture else None)
        self.lateness = Lateness()
        self.beacon_lateness = Lateness()
        self.backlog = 0
        """The most frames that waited at a time."""
        self._is_over = False
        self._waiting = select.epoll()
        self._cpu_before = 0.0

    def run(self) -> None:
        """Until told to finish, or nobody is there to tell.

        If nothing is on the air it sleeps until a frame comes, otherwise until the next one is due. How long a frame
        has waited to be looked at is not known; if the medium did not sleep before it, it is taken to have come when
        the one before was done, so that lateness is not understated by more than what one frame takes.
        """
        wire, decisions = self._wire, self.decisions
        now_ns = time.monotonic_ns
        waiting = self._waiting
        for one in (wire, self._control, self._watcher):
            waiting.register(one, select.EPOLLIN)
        wire_number, control_number = wire.fileno(), self._control.fileno()
        busy_since = now_ns()
        self._cpu_before = time.process_time()
        while not self._is_over:
            before = now_ns()
            due = decisions.next_due(before)
            if due is not None:
                if due <= before + _EARLY_NS:
                    busy_since = self._deliver(before + _EARLY_NS)
                    if not decisions.is_beacon:
                        continue
                    before = busy_since  # after a beacon it looks for data: stations send all beacons at once
                elif due - before < _SHORT_NS:
                    time.sleep((due - before) / 1e9)
                    continue
            ready = waiting.poll(None if due is None else max(0, due - before) // 1_000_000 / 1e3)
            woken = now_ns()
            for number, _ in ready:
                if number != wire_number:
                    self._obey(self._control if number == control_number else self._watcher)
                elif woken - before > _SLEPT_NS:
                    busy_since = woken
                    self._take(woken)
                else:  # it was there already
                    self._take(busy_since)
                    busy_since = woken

    def _take(self, came_ns: int) -> None:
        """The frames that are there. To ask whether there is another takes less than to be told that there is none."""
        epoch, take, receive, more = self._epoch, self.decisions.take, self._wire.recv, self._waiting.poll
        run_ns = came_ns - epoch if epoch is not None and came_ns > epoch else 0
        taken = 0
        while True:
            try:
                data = receive(_FRAME_BYTES, socket.MSG_DONTWAIT)
            except OSError as error:
                if error.errno == errno.ENOBUFS:
                    self.decisions.lost["netlink overrun"] += 1
                elif error.errno != errno.EAGAIN:  # only the control socket has something
                    raise
                break
            sent = messages.read_sent(data)
            if sent is not None:
                take(sent, came_ns, run_ns)
            else:
                self._refused(data)
            taken += 1
            if taken >= _MOST or not more(0):
                break
        if taken > self.backlog:
            self.backlog = taken

    def _refused(self, data: bytes) -> None:
        """The kernel says no to frames for radios that are not up."""
        for kind, _, _, _ in netlink.messages_of(data):
            if kind == netlink.NLMSG_ERROR:
                self.decisions.lost["refused by the kernel"] += 1

    def _deliver(self, now: int) -> int:
        """Everything that is due, in one message if it is not too long; returns when it was done."""
        decisions, epoch = self.decisions, self._epoch
        run_ns = now - epoch if epoch is not None and now > epoch else 0
        due = decisions.next_due(now)
        told, dues = b"", []
        while due is not None and due <= now and len(told) < _SEND_BYTES:
            told += decisions.land(run_ns, now)
            dues.append(due)
            if decisions.is_beacon:
                break
            due = decisions.next_due(now)
        if told:
            self._wire.send(told)
        done = time.monotonic_ns()
        note = self.beacon_lateness.note if decisions.is_beacon else self.lateness.note
        for due in dues:
            note(done - due if done > due else 0)
        return done

    def _write_try(self, one: Try, frame: bytes, is_retry: bool) -> None:
        assert self._capture is not None
        run_us = 0 if self._epoch is None else (one.start_ns - self._epoch) // 1000
        self._capture.write(one.start_ns + self._wall_offset, run_us, one.mbps, frame, is_retry)

    # -- control -----------------------------------------------------------------------------------------------------

    def _obey(self, control: socket.socket) -> None:
        data = control.recv(1 << 20)
        if not data and control is self._control:
            os._exit(1)  # whoever it worked for is gone
        if not data:
            self._waiting.unregister(control)
            return
        said = json.loads(data)
        what, hearing = said["do"], self.decisions.hearing
        answer: dict[str, Any] = {"done": what}
        if what == "start":
            self._epoch = said["epoch"]
        elif what == "finish":
            self._is_over = True
            return
        elif what == "forbid":
            hearing.forbid(said["pairs"])
        elif what == "allow" and isinstance(hearing, GivenPairs):
            hearing.allow(said["pairs"])
        elif what == "place" and isinstance(hearing, Places):
            hearing.place({int(node): Position(*place) for node, place in said["positions"].items()})
        elif what == "where" and isinstance(hearing, Places):
            run_ns = 0 if self._epoch is None else max(0, time.monotonic_ns() - self._epoch)
            answer |= {"run_ns": run_ns, "positions": hearing.where(run_ns)}
        else:
            raise BackendError(f"the medium cannot {what} here")
        if what != "where":
            self.decisions.forget()
        if said.get("reply"):
            control.send(json.dumps(answer).encode())

    def report(self) -> dict[str, Any]:
        """What was measured."""
        return {
            "lateness_ms": self.lateness.summary_ms(),
            "beacon_lateness_ms": self.beacon_lateness.summary_ms(),
            "backlog": self.backlog,
            "frames": self.decisions.counts(),
            "routing": self.decisions.routing_counts(),
            "cpu_s": round(time.process_time() - self._cpu_before, 3),
        }


def register(air: int) -> tuple[socket.socket, int]:
    """A netlink socket to which all frames of the run's radios come, and the number of the family they come with."""
    with kernel.namespace_kept():
        kernel.enter_namespace(air)
        asking = netlink.Socket(netlink.NETLINK_GENERIC, port=_PORT + os.getpid())
    family = netlink.family(asking, messages.FAMILY)
    for option in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):
        asking.raw.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
    try:
        asking.ask(family, netlink.generic(messages.REGISTER))
    except netlink.NetlinkError as error:
        raise BackendError(f"the medium cannot register with {messages.FAMILY}: {error.strerror}") from None
    return asking.raw, family


def make_hearing(plan: Plan, nodes: int) -> Hearing:
    """Who hears whom."""
    if plan.geometry is None:
        return GivenPairs(nodes, plan.allowed)
    return Places(plan.geometry.trajectories, plan.geometry.air)


def serve(
    control: socket.socket, watcher: socket.socket, wire: socket.socket, family: int, radios: Fleet, plan: Plan
) -> None:
    """The life of the process."""
    try:
        radios.let_go()
        packer = messages.Packer(family, radios.frequency_mhz)
        hearing, rng = make_hearing(plan, radios.nodes), plan.rng or Random()
        capture = Capture(plan.pcap, radios.frequency_mhz, radios.radio.tx_power_dbm) if plan.pcap else None
        medium = Medium(
            wire,
            control,
            watcher,
            lambda on_try: Decisions(
                hearing,
                radios.radio,
                radios.addresses,
                packer,
                rng,
                plan.settings,
                on_try,
                radio_addresses=radios.radio_addresses,
            ),
            capture,
        )
        kernel.be_punctual()
        control.send(b'{"ready": true}')
        medium.run()
        if capture is not None:
            capture.close()
        control.send(json.dumps({"end": medium.report()}).encode())
    except (OSError, BackendError, ValueError, KeyError) as error:
        control.send(json.dumps({"failed": one_line(f"{type(error).__name__}: {error}"[:500])}).encode())
        os._exit(1)


class MediumProcess:
    """The orchestrator's end: starts the process on entering the context, and ends it on leaving."""

    def __init__(self, radios: Fleet, plan: Plan) -> None:
        self._radios = radios
        self._plan = plan
        self._pid = 0

    def __enter__(self) -> MediumProcess:
        self._wire, family = register(self._radios.air)
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.watcher, watched = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                die_with_parent(parent)
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                self.control.close()
                self.watcher.close()
                serve(theirs, watched, self._wire, family, self._radios, self._plan)
            finally:
                os._exit(0)
        theirs.close()
        watched.close()
        self._radios.on_let_go += [self._wire.close, self.control.close, self.watcher.close]
        self._expect("ready")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.control.close()
        self.watcher.close()
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0
        self._wire.close()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._pid

    def start(self, epoch_ns: int) -> None:
        """Nodes move from this time of CLOCK_MONOTONIC on."""
        self._say({"do": "start", "epoch": epoch_ns})

    def forbid(self, pairs: Iterable[Sequence[int]]) -> None:
        """The complete list of pairs that faults keep apart; it holds when this returns."""
        self._request({"do": "forbid", "pairs": [list(pair) for pair in pairs]})

    def allow(self, pairs: Iterable[Sequence[int]]) -> None:
        """The complete list of pairs that hear each other, without geometry; it holds when this returns."""
        self._request({"do": "allow", "pairs": [list(pair) for pair in pairs]})

    def place(self, positions: dict[int, Position]) -> None:
        """Put nodes elsewhere for a trial, and all others, or all if there are none, on their trajectories."""
        self._request({"do": "place", "positions": {str(node): list(place) for node, place in positions.items()}})

    def finish(self) -> dict[str, Any]:
        """End the medium, and get what it measured."""
        self._say({"do": "finish"})
        report: dict[str, Any] = self._expect("end")
        return report

    def _request(self, what: dict[str, Any]) -> None:
        """Wait until it holds."""
        self._say(what | {"reply": True})
        self._expect("done")

    def _say(self, what: dict[str, Any]) -> None:
        try:
            self.control.send(json.dumps(what).encode())
        except OSError as error:
            raise BackendError(f"the medium died ({error.strerror}): nobody heard anybody since") from None

    def _expect(self, key: str) -> Any:
        data = self.control.recv(1 << 20)
        if not data:
            raise BackendError("the medium died: nobody heard anybody since")
        said = json.loads(data)
        if "failed" in said:
            raise BackendError(f"the medium failed: {said['failed']}")
        return said[key]
