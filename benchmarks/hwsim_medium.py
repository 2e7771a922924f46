"""What the medium costs: frames a second and CPU per frame, with the radio module and as a bare forwarding loop.

    python -m benchmarks.hwsim_medium [--stations N] [--seconds S] [--rounds R] [--move]

Needs root and a kernel with mac80211_hwsim; meant for the guest. Two stations send each other datagrams of 100 bytes as
fast as they are answered. One in ten is a broadcast, which all other stations hear. Three programs are compared: the
medium (`radio`), a loop that parses attributes one by one and sends one message after the other (`bare`), and a loop
that reads and packs frames with the medium's own functions and sends to all receivers at once (`tight`). The loops
forward and do nothing else: no radio module, no airtime, no clock, no counts. All are measured in turns, in one run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from testbed.backends.hwsim import messages, netlink
from testbed.backends.hwsim.medium import MediumProcess, Plan, register
from testbed.backends.hwsim.names import PORT, address, broadcast_address
from testbed.backends.hwsim.radios import Radios
from testbed.backends.repetition import make_geometry
from testbed.processes import die_with_parent
from testbed.randomness import Streams
from testbed.scenario.loader import loads
from testbed.scenario.schema import Scenario

_BROADCAST_EVERY = 10
_TIMEOUT_S = 0.5


class Bare:
    """A loop that only forwards, in a process of its own."""

    def __init__(self, radios: Radios, forward: Callable[[socket.socket, int, Radios], None]) -> None:
        self._radios = radios
        self._forward = forward

    def __enter__(self) -> Bare:
        self._wire, family = register(self._radios.air)
        self._report, theirs = socket.socketpair()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            die_with_parent(parent)
            signal.signal(signal.SIGTERM, lambda *_: _finish(theirs))
            self._forward(self._wire, family, self._radios)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._wire.close()

    def finish(self) -> dict[str, Any]:
        """End it; returns what it measured."""
        os.kill(self._pid, signal.SIGTERM)
        report: dict[str, Any] = json.loads(self._report.recv(1 << 16))
        return report


_measured = {"frames": 0, "cpu_s": 0.0}


def _finish(to: socket.socket) -> None:
    _measured["cpu_s"] = time.process_time() - _measured["cpu_s"]
    to.send(json.dumps(_measured).encode())


def _bare(wire: socket.socket, family: int, radios: Radios) -> None:
    _measured["cpu_s"] = time.process_time()
    while True:
        data = wire.recv(1 << 13)
        if data[16] != messages.FRAME:
            continue
        found = netlink.attributes_of(data, 20)
        frame, transmitter, tries = (
            found[messages.ATTR_FRAME],
            found[messages.ADDR_TRANSMITTER],
            found[messages.TX_INFO],
        )
        for mac in radios.addresses:
            if mac == frame[4:10] or (frame[4] & 1 and mac != transmitter):
                heard = netlink.generic(
                    messages.FRAME,
                    netlink.attribute(messages.ADDR_RECEIVER, mac),
                    netlink.attribute(messages.ATTR_FRAME, frame),
                    netlink.attribute(messages.RX_RATE, netlink.u32(tries[0])),
                    netlink.attribute(messages.SIGNAL, netlink.u32(-50)),
                    netlink.attribute(messages.FREQ, found[messages.FREQ]),
                )
                wire.send(netlink.message(family, netlink.REQUEST, heard))
        flags = int.from_bytes(found[messages.FLAGS], "little") | messages.WAS_ACKED
        status = netlink.generic(
            messages.TX_INFO_FRAME,
            netlink.attribute(messages.ADDR_TRANSMITTER, transmitter),
            netlink.attribute(messages.FLAGS, netlink.u32(flags)),
            netlink.attribute(messages.SIGNAL, netlink.u32(-50)),
            netlink.attribute(messages.TX_INFO, tries),
            netlink.attribute(messages.COOKIE, found[messages.COOKIE]),
        )
        wire.send(netlink.message(family, netlink.REQUEST, status))
        _measured["frames"] += 1


def _tight(wire: socket.socket, family: int, radios: Radios) -> None:
    packer = messages.Packer(family, radios.frequency_mhz)
    receivers = {mac: messages.receiver(mac) for mac in radios.addresses}
    strength = messages.signal(-50)
    _measured["cpu_s"] = time.process_time()
    while True:
        sent = messages.read_sent(wire.recv(1 << 13))
        if sent is None:
            continue
        frame = sent.attribute
        head, tail = packer.head(len(frame)), packer.tails[sent.tries[0]]
        to = frame[8:14]
        parts: list[bytes] = []
        for mac, receiver in receivers.items():
            if mac == to or (to[0] & 1 and mac != sent.transmitter):
                parts += (head, receiver, frame, tail, strength)
        used = (sent.tries[0], 1, -1, 0, -1, 0, -1, 0)
        parts += (packer.tx_info(sent.transmitter, sent.flags | messages.WAS_ACKED, -50, used), sent.cookie)
        wire.send(b"".join(parts))
        _measured["frames"] += 1


def _exchange(radios: Radios, seconds: float) -> float:
    """Round trips a second between the first two stations."""
    a, b = radios.socket_in(0), radios.socket_in(1)
    for one in (a, b):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        one.bind(("", PORT))
        one.settimeout(_TIMEOUT_S)
    own, trips, began = {a: address(0), b: address(1)}, 0, time.monotonic()
    while time.monotonic() - began < seconds:
        to = broadcast_address() if trips % _BROADCAST_EVERY == 0 else address(1)
        text = trips.to_bytes(4, "big") * 18  # 100 bytes with the headers of UDP and IP
        try:
            a.sendto(text, (to, PORT))
            _receive(b, text, own[b])
            b.sendto(text, (address(0), PORT))
            _receive(a, text, own[a])
        except TimeoutError:  # the kernel drops the first frame of a station that it does not know yet
            continue
        trips += 1
    a.close()
    b.close()
    return trips / (time.monotonic() - began)


def _receive(one: socket.socket, text: bytes, own: str) -> None:
    while True:
        data, (ip, _) = one.recvfrom(256)
        if data == text and ip != own:
            return


def _scenario(stations: int, move: bool) -> Scenario:
    mobility = "{kind: random-walk, speed: 2}" if move else "static"
    return loads(
        f"""
        name: bench
        algorithm: rl
        nodes: {stations}
        topology: geometric
        area: [60, 60]
        placement: grid
        mobility: {mobility}
        radio: {{range: 200}}
        links: radio
        workload: {{rate: 1}}
        duration: 1000
        """
    )


def _one_round(radios: Radios, plan: Plan, seconds: float) -> dict[str, dict[str, Any]]:
    rows = {}
    for name, forward in (("bare", _bare), ("tight", _tight)):
        with Bare(radios, forward) as bare:
            trips = _exchange(radios, seconds)
            report = bare.finish()
        rows[name] = {"trips": trips, "frames": report["frames"], "cpu_s": report["cpu_s"]}
    with MediumProcess(radios, plan) as medium:
        medium.start(time.monotonic_ns())
        trips = _exchange(radios, seconds)
        report = medium.finish()
    frames = sum(report["frames"]["sent"].values())
    rows["radio"] = {"trips": trips, "frames": frames, "cpu_s": report["cpu_s"], "lateness_ms": report["lateness_ms"]}
    rows["radio"]["backlog"] = report["backlog"]
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stations", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--move", action="store_true", help="nodes move, so that received powers change")
    options = parser.parse_args()
    scenario = _scenario(options.stations, options.move)
    assert scenario.radio is not None
    geometry = make_geometry(scenario, Streams(1, 0))
    ratios = []
    with Radios(f"bench{os.getpid()}", options.stations, scenario.radio) as radios:
        for _ in range(options.rounds):
            rows = _one_round(radios, Plan(geometry), options.seconds)
            per_frame = {name: 1000 * row["cpu_s"] / max(1, row["frames"]) for name, row in rows.items()}
            for name, row in rows.items():
                line = f"{name:6} {row['trips']:7.1f} round trips/s  {row['frames'] / options.seconds:7.1f} frames/s"
                late = f"  lateness {row['lateness_ms']}, backlog {row['backlog']}" if "lateness_ms" in row else ""
                print(f"{line}  {per_frame[name]:.3f} ms CPU per frame{late}")
            ratios.append([per_frame["radio"] / per_frame[name] for name in ("bare", "tight")])
            bare, tight = ratios[-1]
            print(f"CPU per frame: radio is {bare:.2f} times bare, {tight:.2f} times tight", flush=True)
    bare, tight = (sorted(column)[len(ratios) // 2] for column in zip(*ratios, strict=True))
    print(f"median with {options.stations} stations: {bare:.2f} times bare, {tight:.2f} times tight")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
