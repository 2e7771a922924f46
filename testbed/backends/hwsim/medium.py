"""The medium: a process that carries every frame of a run from radio to radio, in real time.

A socket is registered with mac80211_hwsim in the run's own namespace. From then on every frame of the run's radios
comes to this socket and goes nowhere else. When a registered socket closes, the kernel switches to a perfect medium in
which all radios hear each other. So the orchestrator keeps the socket open too: if the medium process dies, no radio
hears another.

**Control.** Messages of `testbed.backends.stations.control`. To the medium:

    {"do": "start", "epoch": ns}                      of CLOCK_MONOTONIC: nodes move from then on
    {"do": "forbid", "pairs": [[a, b], ...]}          the complete list of pairs that do not hear each other
    {"do": "allow", "pairs": [[a, b], ...]}           the complete list of those that do, where nodes have no positions
    {"do": "place", "positions": {"0": [x, y, z]}}    elsewhere than on their trajectories, for a trial
    {"do": "where"}                                   the answer has the positions that the medium uses
    {"do": "finish"}

From it: `{"ready": true}`, `{"failed": "one line"}`, `{"end": {...}}`, and `{"done": what}` in answer to any message
with `"reply": true`. If the orchestrator closes its end, the medium exits at once. A second control channel, the
watcher, takes the same messages from another process, which may close it at any time.
"""

from __future__ import annotations

import errno
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

from testbed.backends.hwsim import kernel, messages, netlink
from testbed.backends.hwsim.capture import Capture
from testbed.backends.hwsim.control_plane import ControlError
from testbed.backends.hwsim.fleet import Fleet
from testbed.backends.hwsim.frames import Impairments, Try
from testbed.backends.hwsim.hearing import GivenPairs, Hearing, Places
from testbed.backends.hwsim.outcomes import FrameOutcomes
from testbed.backends.stations.control import Control
from testbed.backends.stations.lateness import Lateness
from testbed.errors import BackendError, one_line
from testbed.mobility.trajectory import Position
from testbed.network.geometry import Geometry
from testbed.processes import die_with_parent

_BUFFER_BYTES = 1 << 18
"""Of its netlink socket, in each direction: enough for a burst, but not for seconds of frames that are out of date."""
_SEND_BYTES = 1 << 14
_FRAME_BYTES = 1 << 13
_SLEPT_NS = 50_000
_EARLY_NS = 30_000
"""Frames are delivered up to this much early: the kernel's timers are no more accurate."""
_SHORT_NS = 1_500_000
_MOST = 100
"""The most frames to read before those that are due are delivered."""
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_PORT = 0x54000000
"""Its netlink socket has this plus the process number as its port number. When a socket of any netlink protocol closes
that has the port number of the registered one, that one is unregistered; and the kernel gives the process number itself
to the first socket of each protocol."""


@dataclass(frozen=True)
class Plan:
    """What the medium is to do."""

    geometry: Geometry | None
    """Gives the positions, by which nodes hear each other; None if pairs are given instead."""
    allowed: Collection[Sequence[int]] = ()
    """The pairs that hear each other at the start, where there is no geometry."""
    impairments: Impairments = field(default_factory=Impairments)
    pcap: Path | None = None
    rng: Random | None = None


class RadioMedium:
    """The loop: reads frames, and delivers each when it is due."""

    def __init__(
        self,
        wire: socket.socket,
        control: Control,
        watcher: Control,
        make: Callable[[Callable[[Try, bytes, bool], None] | None], FrameOutcomes],
        capture: Capture | None = None,
    ) -> None:
        self._wire = wire
        self._control = control
        self._watcher = watcher
        self._capture = capture
        self._epoch: int | None = None
        self._wall_offset = time.time_ns() - time.monotonic_ns()
        self.outcomes = make(self._write_try if capture else None)
        self.lateness = Lateness()
        self.beacon_lateness = Lateness()
        self.backlog = 0
        """The most frames that were found waiting at once."""
        self._is_over = False
        self._waiting = select.epoll()
        self._cpu_before = 0.0

    def run(self) -> None:
        """Run until told to finish, or until the orchestrator has exited.

        If nothing is on the air, the medium sleeps until a frame comes, otherwise until the next frame is due. It does
        not know how long a frame has waited to be read. If it did not sleep before, it assumes that the frame came when
        it had finished with the previous one, so that lateness is understated by the time of one frame at most.
        """
        wire, outcomes = self._wire, self.outcomes
        now_ns = time.monotonic_ns
        waiting = self._waiting
        for one in (wire, self._control, self._watcher):
            waiting.register(one, select.EPOLLIN)
        wire_number, control_number = wire.fileno(), self._control.fileno()
        busy_since = now_ns()
        self._cpu_before = time.process_time()
        while not self._is_over:
            before = now_ns()
            due = outcomes.next_due(before)
            if due is not None:
                if due <= before + _EARLY_NS:
                    busy_since = self._deliver(before + _EARLY_NS)
                    if not outcomes.is_beacon:
                        continue
                    before = busy_since  # look for data after each beacon: stations send all beacons at the same time
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
                else:  # the frame was there already
                    self._take(busy_since)
                    busy_since = woken

    def _take(self, came_ns: int) -> None:
        """Read the frames that have come. poll(0) is cheaper than a recv that would block."""
        epoch, take, receive, more = self._epoch, self.outcomes.take, self._wire.recv, self._waiting.poll
        run_ns = came_ns - epoch if epoch is not None and came_ns > epoch else 0
        taken = 0
        while True:
            try:
                data = receive(_FRAME_BYTES, socket.MSG_DONTWAIT)
            except OSError as error:
                if error.errno == errno.ENOBUFS:
                    self.outcomes.lost["netlink overrun"] += 1
                elif error.errno != errno.EAGAIN:  # only a control channel had a message
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
        """Count errors: the kernel refuses frames for radios that are not up."""
        for kind, _, _, _ in netlink.messages_of(data):
            if kind == netlink.NLMSG_ERROR:
                self.outcomes.lost["refused by the kernel"] += 1

    def _deliver(self, now: int) -> int:
        """Deliver all frames that are due, in one send if it does not become too long; returns the time at the end."""
        outcomes, epoch = self.outcomes, self._epoch
        run_ns = now - epoch if epoch is not None and now > epoch else 0
        due = outcomes.next_due(now)
        data, dues = b"", []
        while due is not None and due <= now and len(data) < _SEND_BYTES:
            data += outcomes.land(run_ns, now)
            dues.append(due)
            if outcomes.is_beacon:
                break
            due = outcomes.next_due(now)
        if data:
            self._wire.send(data)
        done = time.monotonic_ns()
        note = self.beacon_lateness.note if outcomes.is_beacon else self.lateness.note
        for due in dues:
            note(done - due if done > due else 0)
        return done

    def _write_try(self, one: Try, frame: bytes, is_retry: bool) -> None:
        assert self._capture is not None
        run_us = 0 if self._epoch is None else (one.start_ns - self._epoch) // 1000
        self._capture.write(one.start_ns + self._wall_offset, run_us, one.mbps, frame, is_retry)

    # -- control -----------------------------------------------------------------------------------------------------

    def _obey(self, control: Control) -> None:
        said, _ = control.receive()
        if said is None and control is self._control:
            os._exit(1)  # the orchestrator has exited
        if said is None:
            self._waiting.unregister(control)
            return
        what, hearing = said["do"], self.outcomes.hearing
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
            self.outcomes.forget()
        if said.get("reply"):
            control.send(answer)

    def report(self) -> dict[str, Any]:
        """What was measured."""
        return {
            "lateness_ms": self.lateness.summary_ms(),
            "beacon_lateness_ms": self.beacon_lateness.summary_ms(),
            "backlog": self.backlog,
            "frames": self.outcomes.counts(),
            "routing": self.outcomes.routing_counts(),
            "cpu_s": round(time.process_time() - self._cpu_before, 3),
        }


def register(air: int) -> tuple[socket.socket, int]:
    """A netlink socket to which all frames of the run's radios come, and the number of their netlink family."""
    with kernel.namespace_kept():
        kernel.enter_namespace(air)
        asking = netlink.Socket(netlink.NETLINK_GENERIC, port=_PORT + os.getpid())
    family = netlink.family(asking, messages.FAMILY)
    for option in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):
        asking.raw.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
    try:
        asking.ask(family, netlink.generic(messages.REGISTER))
    except ControlError as error:
        raise BackendError(f"the medium cannot register with {messages.FAMILY}: {error.strerror}") from None
    return asking.raw, family


def make_hearing(plan: Plan, nodes: int) -> Hearing:
    """Which nodes hear each other, by positions or by pairs."""
    if plan.geometry is None:
        return GivenPairs(nodes, plan.allowed)
    return Places(plan.geometry.trajectories, plan.geometry.air)


def serve(control: Control, watcher: Control, wire: socket.socket, family: int, radios: Fleet, plan: Plan) -> None:
    """The medium process, from its start to its end."""
    try:
        radios.let_go()
        packer = messages.Packer(family, radios.frequency_mhz)
        hearing, rng = make_hearing(plan, radios.nodes), plan.rng or Random()
        capture = Capture(plan.pcap, radios.frequency_mhz, radios.radio.tx_power_dbm) if plan.pcap else None
        medium = RadioMedium(
            wire,
            control,
            watcher,
            lambda on_try: FrameOutcomes(
                hearing,
                radios.radio,
                radios.addresses,
                packer,
                rng,
                plan.impairments,
                on_try,
                radio_addresses=radios.radio_addresses,
            ),
            capture,
        )
        kernel.be_punctual()
        control.send({"ready": True})
        medium.run()
        if capture is not None:
            capture.close()
        control.send({"end": medium.report()})
    except (OSError, BackendError, ValueError, KeyError) as error:
        control.send({"failed": one_line(f"{type(error).__name__}: {error}"[:500])})
        os._exit(1)


class MediumProcess:
    """The orchestrator's side: starts the medium process on entering the context, and ends it on leaving."""

    def __init__(self, radios: Fleet, plan: Plan) -> None:
        self._radios = radios
        self._plan = plan
        self._pid = 0

    def __enter__(self) -> MediumProcess:
        self._wire, family = register(self._radios.air)
        self.control, theirs = Control.pair()
        self.watcher, watched = Control.pair()
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
        """The number of the process."""
        return self._pid

    def start(self, epoch_ns: int) -> None:
        """Nodes move from this time of CLOCK_MONOTONIC on."""
        self._say({"do": "start", "epoch": epoch_ns})

    def forbid(self, pairs: Iterable[Sequence[int]]) -> None:
        """Set the complete list of pairs that faults keep apart; it is in effect when this returns."""
        self._request({"do": "forbid", "pairs": [list(pair) for pair in pairs]})

    def allow(self, pairs: Iterable[Sequence[int]]) -> None:
        """Set the complete list of pairs that hear each other, without geometry; it is in effect when this returns."""
        self._request({"do": "allow", "pairs": [list(pair) for pair in pairs]})

    def place(self, positions: dict[int, Position]) -> None:
        """Put these nodes elsewhere for a trial, and all other nodes on their trajectories."""
        self._request({"do": "place", "positions": {str(node): list(place) for node, place in positions.items()}})

    def finish(self) -> dict[str, Any]:
        """End the medium; returns what it measured."""
        self._say({"do": "finish"})
        report: dict[str, Any] = self._expect("end")
        return report

    def _request(self, what: dict[str, Any]) -> None:
        """Send an order, and wait until it is in effect."""
        self._say(what | {"reply": True})
        self._expect("done")

    def _say(self, what: dict[str, Any]) -> None:
        try:
            self.control.send(what)
        except OSError as error:
            raise BackendError(f"the medium died ({error.strerror}): no station has heard another since") from None

    def _expect(self, key: str) -> Any:
        said, _ = self.control.receive()
        if said is None:
            raise BackendError("the medium died: no station has heard another since")
        if "failed" in said:
            raise BackendError(f"the medium failed: {said['failed']}")
        return said[key]
