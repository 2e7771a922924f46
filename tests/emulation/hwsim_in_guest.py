"""Tests of the virtual radios, on a kernel that has them: run as root in the guest, it prints one JSON object.

python hwsim_in_guest.py radios|line|edge|killed|medium_killed|unproven|babel_routes|batman_routes
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed.backends.hwsim import babel, kernel, lock
from testbed.backends.hwsim.clean import clean, leftovers
from testbed.backends.hwsim.frames import Impairments
from testbed.backends.hwsim.medium import MediumProcess, Plan
from testbed.backends.hwsim.names import PORT, address, broadcast_address, node_of
from testbed.backends.hwsim.radios import Radios
from testbed.backends.hwsim.routing import set_up
from testbed.backends.hwsim.routing_frames import RoutingFrames
from testbed.backends.hwsim.self_test import check_medium
from testbed.backends.repetition import make_geometry
from testbed.errors import BackendError
from testbed.mobility.trajectory import Position
from testbed.network.geometry import Geometry
from testbed.processes import die_with_parent
from testbed.radio.radio import Radio
from testbed.randomness import Streams
from testbed.scenario.loader import loads


def devices() -> int:
    """How many virtual radios the kernel has, in all namespaces."""
    return len(list(Path("/sys/class/mac80211_hwsim").glob("hwsim*")))


def geometry(positions: list[list[float]], radio: str) -> tuple[Geometry, Radio]:
    scenario = loads(
        f"""
        name: places
        algorithm: rl
        nodes: {len(positions)}
        topology: geometric
        area: [1000, 1000]
        placement: {{kind: explicit, places: {json.dumps(positions)}}}
        radio: {radio}
        links: radio
        workload: {{rate: 1}}
        duration: 100
        """
    )
    assert scenario.radio is not None
    return make_geometry(scenario, Streams(1, 0)), scenario.radio


def sockets(radios: Radios) -> list[socket.socket]:
    made = [radios.socket_in(node) for node in range(radios.nodes)]
    for one in made:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        one.bind(("", PORT))
    return made


def heard(one: socket.socket, own: int, seconds: float = 0.4) -> list[tuple[int, str]]:
    """The senders and texts of datagrams that arrive, until none has come for a while."""
    found = []
    one.settimeout(seconds)
    try:
        while True:
            data, (ip, _) = one.recvfrom(2048)
            if node_of(ip) != own:
                found.append((node_of(ip), data[:8].decode().rstrip()))
    except TimeoutError:
        return found


def introduce(stations: list[socket.socket]) -> None:
    """The kernel drops the first frame of a station that it has not heard before."""
    for _ in range(3):
        for one in stations:
            one.sendto(b"hello", (broadcast_address(), PORT))
        time.sleep(0.1)
    for node, one in enumerate(stations):
        heard(one, node, 0.2)


def radios() -> dict[str, Any]:
    before, began = devices(), time.monotonic()
    with Radios("try", 10, Radio()) as made:
        took, during = time.monotonic() - began, devices()
        with Radios("other", 2, Radio(standard="802.11a")):
            both = devices()
        try:
            with Radios("try", 1, Radio()):
                refused = ""
        except BackendError as error:
            refused = str(error)
        cleaned = clean()
        began = time.monotonic()
        made.close()
        gone = time.monotonic() - began
    counts = [before, during - before, both - before, devices() - before]
    return {"counts": counts, "took": took, "gone": gone, "refused": refused, "cleaned": cleaned}


def line() -> dict[str, Any]:
    """Three stations of which only neighbours are in range; then one pair is cut, and healed."""
    places, radio = geometry([[0, 0], [80, 0], [160, 0]], "{range: 100}")
    result: dict[str, Any] = {}
    pcap = Path("/tmp/air.pcap")
    with Radios("line", 3, radio) as made, MediumProcess(made, Plan(places, pcap=pcap)) as medium:
        began = time.monotonic()
        check_medium(made, medium, places, [])
        result["self_test"] = time.monotonic() - began
        medium.start(time.monotonic_ns())
        stations = sockets(made)
        introduce(stations)
        for node, one in enumerate(stations):
            one.sendto(b"all", (broadcast_address(), PORT))
            for peer in range(3):
                if peer != node:
                    one.sendto(b"one", (address(peer), PORT))
        result["heard"] = [sorted(heard(one, node)) for node, one in enumerate(stations)]
        for what, pairs in (("cut", [(1, 0)]), ("healed", [])):
            medium.forbid(pairs)
            stations[0].sendto(what.encode(), (broadcast_address(), PORT))
            result[what] = heard(stations[1], 1)
        result["report"] = medium.finish()
    result["pcap"] = pcap.stat().st_size
    return result


def edge() -> dict[str, Any]:
    """Broadcasts and unicasts at the edge of the range: what arrives, and what the radio model predicts."""
    places, radio = geometry([[0, 0], [100, 0]], "{range: 100, rate: 54}")
    sent, size = 400, 24 + 8 + 20 + 8 + 100 + 4  # of 802.11, LLC, IP, UDP, the data and the checksum
    lost = places.air.frame_error_rate(0, 1, Position(0.0, 0.0), Position(100.0, 0.0), size)
    result: dict[str, Any] = {"sent": sent, "predicted": lost}
    with Radios("edge", 2, radio) as made, MediumProcess(made, Plan(places)) as medium:
        medium.place({0: Position(0.0, 0.0), 1: Position(10.0, 0.0)})
        stations = sockets(made)
        introduce(stations)
        medium.place({})
        for name, to in (("broadcast", broadcast_address()), ("unicast", address(1))):
            arrived = 0
            for _ in range(sent // 50):
                for _ in range(50):
                    stations[0].sendto(name.encode().ljust(100), (to, PORT))
                arrived += len([1 for _, text in heard(stations[1], 1, 0.15) if name.startswith(text)])
            result[name] = arrived
        result["report"] = medium.finish()
    return result


def _orchestrate(ready: socket.socket, what: str) -> None:
    """A run that will be killed: radios, a medium, stations in their namespaces. As a `survivor`, one station is not
    killed with it; `in flight`, the medium is stopped and all stations have a frame on the air."""
    places, radio = geometry([[0, 0], [80, 0], [160, 0]], "{range: 100}")
    with Radios("killed", 3, radio) as made, MediumProcess(made, Plan(places)) as medium:
        if what == "in flight":
            introduce(sockets(made))
            os.kill(medium.pid, signal.SIGSTOP)
        for node in range(3):
            parent = os.getpid()
            if os.fork() == 0:
                if not (what == "survivor" and node == 0):
                    die_with_parent(parent)
                made.enter(node)
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                    one.sendto(b"last", (broadcast_address(), PORT))
                    ready.send(f"station {os.getpid()}".encode())
                    time.sleep(120)
                os._exit(0)
        assert made.reaper is not None
        ready.send(f"reaper {made.reaper.pid}".encode())
        time.sleep(120)


def killed() -> dict[str, Any]:
    """kill -9 of an orchestrator: nothing is left, unless a station survives and the radio reaper does not; then
    `clean` finds the radio in that station's namespace."""
    result: dict[str, Any] = {}
    before = devices()
    for what in ("none", "in flight", "survivor"):
        survives = what == "survivor"
        ready, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        run = os.fork()
        if run == 0:
            try:
                _orchestrate(theirs, what)
            finally:
                os._exit(1)
        theirs.close()
        started = [ready.recv(64).decode().split() for _ in range(4)]
        (reaper,) = [int(pid) for name, pid in started if name == "reaper"]
        stations = sorted(int(pid) for name, pid in started if name == "station")  # the first was forked first
        during, alive = devices() - before, lock.is_alive("killed")
        if survives:
            os.kill(reaper, signal.SIGKILL)
        os.kill(run, signal.SIGKILL)
        os.waitpid(run, 0)
        until = time.monotonic() + 10
        while devices() - before > survives and time.monotonic() < until:
            time.sleep(0.05)
        with Radios("running", 2, Radio()):
            left, cleaned = leftovers(), clean()
            spared = devices() - before
        if survives:
            os.kill(stations[0], signal.SIGKILL)
            time.sleep(0.5)
        seen = {"during": during, "alive": alive, "left": left, "cleaned": cleaned, "spared": spared}
        result[what] = seen | {"after": devices() - before, "again": clean()}
    return result


def medium_killed() -> dict[str, Any]:
    """Without their medium stations hear nothing, and the orchestrator gets an error."""
    places, radio = geometry([[0, 0], [50, 0]], "{range: 100}")
    with Radios("silent", 2, radio) as made, MediumProcess(made, Plan(places)) as medium:
        stations = sockets(made)
        introduce(stations)
        stations[0].sendto(b"before", (broadcast_address(), PORT))
        before = heard(stations[1], 1)
        os.kill(medium.pid, signal.SIGKILL)
        time.sleep(0.2)
        stations[0].sendto(b"after", (broadcast_address(), PORT))
        after = heard(stations[1], 1)
        try:
            medium.finish()
            said = ""
        except BackendError as error:
            said = str(error)
    return {"before": before, "after": after, "said": said}


def unproven() -> dict[str, Any]:
    """With the kernel's perfect medium the self-test fails; with given pairs it succeeds."""
    places, radio = geometry([[0, 0], [50, 0]], "{range: 100}")

    class Pretended:
        def place(self, positions: dict[int, Position]) -> None:
            pass

    said = []
    with Radios("unproven", 2, radio) as made:
        try:
            check_medium(made, Pretended(), places, [])  # type: ignore[arg-type]
        except BackendError as error:
            said.append(str(error))
        with MediumProcess(made, Plan(None)) as medium:
            check_medium(made, medium, None, [(0, 1)])
            stations = sockets(made)
            stations[0].sendto(b"given", (broadcast_address(), PORT))
            given = heard(stations[1], 1)
            try:
                medium.place({})
            except BackendError as error:
                said.append(str(error))
    return {"said": said, "given": given}


def _until_heard(stations: list[socket.socket], source: int, target: int) -> float:
    """How long it takes until a datagram gets from one station to another; -1 if none does."""
    began = time.monotonic()
    while time.monotonic() < began + 20:
        with suppress(OSError):  # no route yet
            stations[source].sendto(b"routed", (address(target), PORT))
        if heard(stations[target], target, 0.1):
            return time.monotonic() - began
    return -1.0


def _start_babeld(made: Radios, node: int) -> tuple[int, int]:
    """Start a station with a babeld beside it; returns both processes."""
    said, saying = os.pipe()
    parent, station = os.getpid(), os.fork()
    if station == 0:
        die_with_parent(parent)
        made.enter(node)
        os.write(saying, str(babel.start(0.25).pid).encode())
        time.sleep(120)
        os._exit(0)
    return station, int(os.read(said, 64))


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def babel_routes() -> dict[str, Any]:
    """A datagram over an intermediate node, whose station is killed, which ends its babeld, and started again."""
    places, radio = geometry([[0, 0], [80, 0], [160, 0]], "{range: 100}")
    plan = Plan(places, impairments=Impairments(routing=RoutingFrames()))
    with Radios("babel", 3, radio) as made, MediumProcess(made, plan) as medium:
        set_up(made, "babel", 0.25)
        began = [_start_babeld(made, node) for node in range(3)]
        stations = sockets(made)
        first, back = _until_heard(stations, 0, 2), _until_heard(stations, 2, 0)
        station, daemon = began[1]
        before = _is_running(daemon)
        os.kill(station, signal.SIGKILL)
        os.waitpid(station, 0)
        until = time.monotonic() + 5
        while _is_running(daemon) and time.monotonic() < until:
            time.sleep(0.05)
        after = _is_running(daemon)
        with kernel.namespace_kept():
            kernel.enter_namespace(made.namespace(1))
            routes = [babel.forget_routes(), babel.forget_routes()]
        began[1] = _start_babeld(made, 1)
        again = _until_heard(stations, 2, 0)
        report = medium.finish()
        os.kill(began[2][1], signal.SIGKILL)
        without_babeld = os.waitstatus_to_exitcode(os.waitpid(began.pop()[0], 0)[1])
        for station, _ in began:
            os.kill(station, signal.SIGKILL)
            os.waitpid(station, 0)
    files = [path for path in ("/var/run/babeld.pid", "/var/lib/babel-state") if Path(path).exists()]
    found = {"first": first, "back": back, "alive": [before, after], "routes": routes, "again": again, "files": files}
    return found | {"without_babeld": without_babeld, "counts": report["routing"]["frames"]}


def batman_routes() -> dict[str, Any]:
    """A datagram over an intermediate node."""
    places, radio = geometry([[0, 0], [80, 0], [160, 0]], "{range: 100}")
    plan = Plan(places, impairments=Impairments(routing=RoutingFrames()))
    before = devices()
    with Radios("batman", 3, radio) as made, MediumProcess(made, plan) as medium:
        set_up(made, "batman", 0.25)
        first = _until_heard(sockets(made), 0, 2)
        report = medium.finish()
    return {"first": first, "counts": report["routing"]["frames"], "left": devices() - before}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
