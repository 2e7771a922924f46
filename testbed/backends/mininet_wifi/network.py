"""The process that has the Mininet-WiFi network, in a cage: builds it, moves its stations, opens its command line.

**Control.** JSON messages over a socket pair. From it, while it builds: `{"air": true}` with the descriptor of the
namespace that the radios were made in, `{"station": n, "address": mac}` with that of the station's namespace, and
`{"built": versions}`. To it, then, some with a descriptor:

    {"do": "watch"}                                  and a socket to the medium, to ask it where stations are
    {"do": "place", "positions": {"0": [x, y, z]}}   elsewhere than on their trajectories, for a trial; it says `done`
    {"do": "cli"}                                    and descriptors to read from and write to, for the command line
    {"do": "start", "epoch": ns}                     of CLOCK_MONOTONIC: stations move from then on, and the command
                                                     line opens, if there is to be one
    {"do": "finish"}                                 it says `end`

It says `{"cli": "closed"}` when the user has left, and `{"failed": "one line"}`.
"""

from __future__ import annotations

import json
import logging
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from math import dist
from typing import Any

from testbed.runtime.initial_state import Beginning
from testbed.errors import BackendError, TestbedError, one_line
from testbed.guest.needs import SYSTEM_PATHS
from testbed.backends.mininet_wifi import sandbox
from testbed.backends.mininet_wifi import hwsim_mgmt
from testbed.backends.mininet_wifi.installation import load
from testbed.backends.mininet_wifi.plan import WMEDIUMD, NetworkPlan, plan_network, position_text
from testbed.backends.mininet_wifi.wmediumd import WMEDIUMD_DIED, Wmediumd
from testbed.mobility.trajectory import Position, Trajectory
from testbed.scenario.schema import loads
from testbed.backends.stations.control import Control, become_child
from testbed.randomness import Streams

PUSH_EVERY_S = 0.2
"""How often stations are moved: in this time even a car goes no farther than a few metres."""


class Network:
    """A network that was built, and where its stations are."""

    def __init__(self, plan: NetworkPlan, paths: list[Trajectory]) -> None:
        self._paths = paths
        self._told: dict[int, Position] = {}
        self._pushed_at = 0.0
        self._watch: socket.socket | None = None
        self.pushes = 0
        self.worst_m = 0.0
        """The farthest that a station was, according to the medium, from where Mininet-WiFi has it."""
        self.net, self.stations = build(plan)
        self.wmediumd = Wmediumd() if plan.medium == WMEDIUMD else None

    def push(self, t: float, elsewhere: dict[int, Position] | None = None) -> None:
        """Put all stations that have moved where they are at a time, and see that the medium believes the same."""
        self._pushed_at = t
        for node, path in enumerate(self._paths):
            position = (elsewhere or {}).get(node) or path.at(t)
            if position == self._told.get(node):
                continue
            self._told[node] = position
            self.stations[node].setPosition(position_text(position))
            self.pushes += 1
            if self.wmediumd is not None:
                self._note(position, self.wmediumd.put(self.stations[node].wintfs[0].mac, position))

    def watch(self, medium: socket.socket) -> None:
        """From now on our own medium is asked where stations are."""
        self._watch = medium

    def compare(self) -> None:
        """Ask our own medium where it believes the stations to be."""
        if self._watch is None:
            return
        try:
            self._watch.send(json.dumps({"do": "where", "reply": True}).encode())
            answer = self._watch.recv(1 << 20)
        except OSError:
            answer = b""
        if not answer:  # it is gone: it has ended, or somebody else will notice
            self._watch = None
            return
        said = json.loads(answer)
        for station, path, believed in zip(self.stations, self._paths, said["positions"], strict=True):
            gone_m = dist(path.at(self._pushed_at), path.at(said["run_ns"] / 1e9))  # meanwhile, by itself
            self._note(Position(*station.position), Position(*believed), gone_m)

    def _note(self, ours: Position, believed: Position, gone_m: float = 0.0) -> None:
        self.worst_m = max(self.worst_m, dist(ours, believed) - gone_m)

    def summary(self) -> dict[str, Any]:
        """What is said at the end; there is no lateness, for nobody knows when a frame was due."""
        here = {node: station.position for node, station in enumerate(self.stations)}
        return {"lateness_ms": None, "pushes": self.pushes, "worst_m": round(self.worst_m, 4), "positions": here}


def build(plan: NetworkPlan) -> tuple[Any, list[Any]]:
    """The network, and its stations by node."""
    from mininet.log import setLogLevel
    from mn_wifi.link import adhoc, wmediumd
    from mn_wifi.net import Mininet_wifi
    from mn_wifi.wmediumdConnector import interference

    setLogLevel("info")
    by_wmediumd = {"link": wmediumd, "wmediumd_mode": interference} if plan.medium == WMEDIUMD else {}
    # Without its automatic association, which waits a second for every station and has nothing to associate with.
    net = Mininet_wifi(autoAssociation=False, allAutoAssociation=False, **by_wmediumd)
    stations = [net.addStation(name, **arguments) for name, arguments in plan.stations.items()]
    if plan.propagation:
        net.setPropagationModel(**plan.propagation)
    net.configureNodes()
    for station in stations:
        net.addLink(station, cls=adhoc, intf=f"{station.name}-wlan0", **plan.link)
    net.build()
    for station in stations:  # as its automatic association does, so that its command line knows addresses by names
        station.intfs[0].ip, station.intfs[0].mac = station.wintfs[0].ip, station.wintfs[0].mac
    return net, stations


class Server:
    """Listens to the orchestrator, and moves the stations in between."""

    def __init__(self, network: Network, control: Control) -> None:
        self._network = network
        self._control = control
        self._epoch_ns: int | None = None
        self.cli: list[int] = []
        """The descriptors of a user's terminal."""
        self.has_cli = threading.Event()

    def serve(self) -> None:
        """Until nobody is there any more."""
        due, wmediumd = 0.0, self._network.wmediumd
        watched = [self._control.fileno(), *([] if wmediumd is None else [wmediumd.fileno()])]
        while True:
            wait_s = None if self._epoch_ns is None else max(0.0, due - time.monotonic())
            ready = select.select(watched, [], [], wait_s)[0]
            if wmediumd is not None and wmediumd.fileno() in ready:
                raise BackendError(WMEDIUMD_DIED)  # it says nothing unless it is asked
            if ready:
                message, descriptors = self._control.receive()
                if message is None:
                    os._exit(0)
                self._obey(message, descriptors)
            if self._epoch_ns is not None and time.monotonic() >= due:
                self._network.push(max(0.0, (time.monotonic_ns() - self._epoch_ns) / 1e9))
                self._network.compare()
                due = time.monotonic() + PUSH_EVERY_S

    def fail(self, error: Exception) -> None:
        """Say what has happened, as long as somebody listens."""
        with suppress(OSError):
            self._control.send({"failed": one_line(f"Mininet-WiFi: {error}"[:500])})

    def _obey(self, message: dict[str, Any], descriptors: list[int]) -> None:
        what = message["do"]
        if what == "watch":
            self._network.watch(socket.socket(fileno=descriptors[0]))
        elif what == "place":
            self._network.push(0.0, {int(node): Position(*place) for node, place in message["positions"].items()})
            self._control.send({"done": what})
        elif what == "cli":
            self.cli = descriptors
        elif what == "start":
            self._epoch_ns = message["epoch"]
            if self.cli:
                self.has_cli.set()
        elif what == "finish":
            self._epoch_ns = None
            self._control.send({"end": self._network.summary()})
        else:
            raise TestbedError(f"a Mininet-WiFi network cannot {what}")


def live(control: Control, spec: dict[str, Any]) -> None:
    """In the cage: build, then serve until the end."""
    os.setpgid(0, 0)  # a user's Ctrl-C is for us only while the command line is open
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs that are started here can be interrupted
    prepare_surroundings()
    try:
        versions = load().versions
        scenario = loads(spec["scenario"])
        beginning = Beginning(scenario, Streams(scenario.seed, spec["repetition"]))
        paths = beginning.geometry.trajectories if beginning.geometry is not None else []
        network = Network(plan_network(beginning), paths)
        present(network, control)
    except (Exception, SystemExit) as error:
        control.send({"failed": one_line(f"Mininet-WiFi: {type(error).__name__}: {error}"[:500])})
        raise
    control.send({"built": versions})
    server = Server(network, control)
    threading.Thread(target=_serve_or_die, args=(server,), daemon=True).start()
    while True:  # signals, such as a user's Ctrl-C, come to this thread
        server.has_cli.wait()
        server.has_cli.clear()
        open_command_line(network.net, server.cli)
        control.send({"cli": "closed"})


def prepare_surroundings() -> None:
    """What Mininet-WiFi expects, and what keeps its files in the cage."""
    programs = sandbox.WORK / "bin"
    programs.mkdir()
    known = (os.environ.get("PATH", os.defpath), *SYSTEM_PATHS, os.path.dirname(sys.executable), str(programs))
    os.environ["PATH"] = os.pathsep.join(known)
    if shutil.which("hwsim_mgmt") is None:
        hwsim_mgmt.write_stand_in(programs)
    tempfile.tempdir = str(sandbox.WORK)
    os.environ.update(TMPDIR=str(sandbox.WORK), MPLBACKEND="Agg", MPLCONFIGDIR=str(sandbox.WORK), HOME=str(sandbox.WORK))
    logging.basicConfig(handlers=[logging.NullHandler()])  # or it would send everybody's log to a file in /tmp


def present(network: Network, control: Control) -> None:
    """Give the orchestrator the namespaces of all stations."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    control.send({"air": True}, own)
    os.close(own)
    for node, station in enumerate(network.stations):
        namespace = os.open(f"/proc/{station.pid}/ns/net", os.O_RDONLY)
        control.send({"station": node, "address": station.wintfs[0].mac}, namespace)
        os.close(namespace)


def open_command_line(net: Any, terminal: list[int]) -> None:
    """Mininet-WiFi's own, on a user's terminal; returns when the user leaves it."""
    from mininet.log import setLogLevel
    from mn_wifi.cli import CLI

    for number, descriptor in ((0, terminal[0]), (1, terminal[1]), (2, terminal[1])):
        os.dup2(descriptor, number)
    if os.isatty(0):  # Ctrl-C is for the command line, while it is open
        for number in (signal.SIGTTOU, signal.SIGTSTP):  # nobody could let it go on if it were stopped
            signal.signal(number, signal.SIG_IGN)
        with suppress(OSError):  # a terminal that is not ours to control
            os.tcsetpgrp(0, os.getpgrp())
    setLogLevel("info")
    CLI(net, stdin=sys.stdin)


def _serve_or_die(server: Server) -> None:
    """A network that nobody moves any more is of no use."""
    try:
        server.serve()
    except Exception as error:
        traceback.print_exc()
        server.fail(error)
        raise
    finally:
        os._exit(1)


def main(control: Control) -> None:
    """The life of the process."""
    become_child("mininet-wifi")
    spec, _ = control.receive()
    assert spec is not None
    sandbox.enter(lambda: live(control, spec))


if __name__ == "__main__":
    main(Control.inherited(int(sys.argv[1])))
