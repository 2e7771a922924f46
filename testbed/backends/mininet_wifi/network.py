"""The process that runs the Mininet-WiFi network, in a sandbox: builds it, moves its stations, opens its command line.

**Control.** Messages of `testbed.backends.stations.control`. From this process, while it builds: `{"air": true}` with a
descriptor of the namespace that the radios were made in, `{"station": n, "address": mac}` with one of the station's
namespace, and `{"built": versions}`. Then to this process, some with descriptors:

    {"do": "watch"}                                  and a control channel to the medium, to ask for positions
    {"do": "place", "positions": {"0": [x, y, z]}}   elsewhere than on their trajectories, for a trial; answer: `done`
    {"do": "cli"}                                    and descriptors to read from and write to, for the command line
    {"do": "start", "epoch": ns}                     of CLOCK_MONOTONIC: stations move from then on, and the command
                                                     line opens if there was a `cli`
    {"do": "finish"}                                 answer: `end`

From this process also `{"cli": "closed"}` when the user has left the command line, and `{"failed": "one line"}`.
"""

from __future__ import annotations

import logging
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from math import dist
from typing import Any

from testbed.backends.mininet_wifi import hwsim_mgmt, sandbox
from testbed.backends.mininet_wifi.installation import load
from testbed.backends.mininet_wifi.plan import WMEDIUMD, NetworkPlan, plan_network, position_text
from testbed.backends.mininet_wifi.wmediumd import WMEDIUMD_DIED, Wmediumd
from testbed.backends.repetition import Repetition
from testbed.backends.stations.control import Control, become_child
from testbed.errors import BackendError, TestbedError, one_line
from testbed.mobility.trajectory import Position, Trajectory
from testbed.processes import SYSTEM_PATHS
from testbed.randomness import Streams
from testbed.scenario.loader import loads

PUSH_EVERY_S = 0.2
"""How often stations are moved; even a car moves only a few metres in this time."""


class MininetNetwork:
    """A network, and the positions of its stations."""

    def __init__(self, plan: NetworkPlan, paths: list[Trajectory]) -> None:
        self._paths = paths
        self._pushed: dict[int, Position] = {}
        self._pushed_at = 0.0
        self._medium: Control | None = None
        self.pushes = 0
        self.worst_m = 0.0
        """The largest distance between the positions of a station in the medium and in Mininet-WiFi."""
        self.net, self.stations = build(plan)
        self.wmediumd = Wmediumd() if plan.medium == WMEDIUMD else None

    def push(self, t: float, elsewhere: dict[int, Position] | None = None) -> None:
        """Move all stations to their positions at time t, and compare with the positions in wmediumd."""
        self._pushed_at = t
        for node, path in enumerate(self._paths):
            position = (elsewhere or {}).get(node) or path.at(t)
            if position == self._pushed.get(node):
                continue
            self._pushed[node] = position
            self.stations[node].setPosition(position_text(position))
            self.pushes += 1
            if self.wmediumd is not None:
                self._note(position, self.wmediumd.put(self.stations[node].wintfs[0].mac, position))

    def watch(self, medium: Control) -> None:
        """From now on, ask the testbed's own medium for its positions."""
        self._medium = medium

    def compare(self) -> None:
        """Compare the positions in Mininet-WiFi with those in the testbed's own medium."""
        if self._medium is None:
            return
        try:
            self._medium.send({"do": "where", "reply": True})
            answer, _ = self._medium.receive()
        except OSError:
            answer = None
        if answer is None:  # the medium has exited; the orchestrator sees that too
            self._medium = None
            return
        for station, path, theirs in zip(self.stations, self._paths, answer["positions"], strict=True):
            moved_m = dist(path.at(self._pushed_at), path.at(answer["run_ns"] / 1e9))  # since the last push
            self._note(Position(*station.position), Position(*theirs), moved_m)

    def _note(self, ours: Position, theirs: Position, moved_m: float = 0.0) -> None:
        self.worst_m = max(self.worst_m, dist(ours, theirs) - moved_m)

    def summary(self) -> dict[str, Any]:
        """What is reported at the end. There is no lateness: wmediumd does not say when a frame was due."""
        here = {node: station.position for node, station in enumerate(self.stations)}
        return {"lateness_ms": None, "pushes": self.pushes, "worst_m": round(self.worst_m, 4), "positions": here}


def build(plan: NetworkPlan) -> tuple[Any, list[Any]]:
    """Build the network; returns it, and its stations by node."""
    from mininet.log import setLogLevel
    from mn_wifi.link import adhoc, wmediumd
    from mn_wifi.net import Mininet_wifi
    from mn_wifi.wmediumdConnector import interference

    setLogLevel("info")
    by_wmediumd = {"link": wmediumd, "wmediumd_mode": interference} if plan.medium == WMEDIUMD else {}
    # Without automatic association, which waits a second for every station; there is no access point.
    net = Mininet_wifi(autoAssociation=False, allAutoAssociation=False, **by_wmediumd)
    stations = [net.addStation(name, **arguments) for name, arguments in plan.stations.items()]
    if plan.propagation:
        net.setPropagationModel(**plan.propagation)
    net.configureNodes()
    for station in stations:
        net.addLink(station, cls=adhoc, intf=f"{station.name}-wlan0", **plan.link)
    net.build()
    for station in stations:  # automatic association would set these; the command line finds addresses by them
        station.intfs[0].ip, station.intfs[0].mac = station.wintfs[0].ip, station.wintfs[0].mac
    return net, stations


class Server:
    """Carries out the orchestrator's orders, and moves the stations in between."""

    def __init__(self, network: MininetNetwork, control: Control) -> None:
        self._network = network
        self._control = control
        self._epoch_ns: int | None = None
        self.cli: list[int] = []
        """Descriptors of the user's terminal."""
        self.has_cli = threading.Event()

    def serve(self) -> None:
        """Until the orchestrator has closed the control channel."""
        due, wmediumd = 0.0, self._network.wmediumd
        watched = [self._control.fileno(), *([] if wmediumd is None else [wmediumd.fileno()])]
        while True:
            wait_s = None if self._epoch_ns is None else max(0.0, due - time.monotonic())
            ready = select.select(watched, [], [], wait_s)[0]
            if wmediumd is not None and wmediumd.fileno() in ready:
                raise BackendError(WMEDIUMD_DIED)  # it sends nothing by itself, so this is the end of the stream
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
        """Report the error, if the orchestrator still listens."""
        with suppress(OSError):
            self._control.send({"failed": one_line(f"Mininet-WiFi: {error}"[:500])})

    def _obey(self, message: dict[str, Any], descriptors: list[int]) -> None:
        what = message["do"]
        if what == "watch":
            self._network.watch(Control.inherited(descriptors[0]))
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


def build_and_serve(control: Control, spec: dict[str, Any]) -> None:
    """In the sandbox: build the network, then serve until the end."""
    os.setpgid(0, 0)  # a user's Ctrl-C reaches this process only while the command line is open
    signal.signal(signal.SIGINT, signal.default_int_handler)  # so that programs started here can be interrupted
    prepare_environment()
    try:
        versions = load().versions
        scenario = loads(spec["scenario"])
        repetition = Repetition(scenario, Streams(scenario.seed, spec["repetition"]))
        paths = repetition.geometry.trajectories if repetition.geometry is not None else []
        network = MininetNetwork(plan_network(repetition), paths)
        send_namespaces(network, control)
    except (Exception, SystemExit) as error:
        control.send({"failed": one_line(f"Mininet-WiFi: {type(error).__name__}: {error}"[:500])})
        raise
    control.send({"built": versions})
    server = Server(network, control)
    threading.Thread(target=_serve_or_exit, args=(server,), daemon=True).start()
    while True:  # signals, such as a user's Ctrl-C, are delivered to this thread
        server.has_cli.wait()
        server.has_cli.clear()
        open_command_line(network.net, server.cli)
        control.send({"cli": "closed"})


def prepare_environment() -> None:
    """Set what Mininet-WiFi expects, and what keeps its files in the sandbox."""
    programs = sandbox.WORK / "bin"
    programs.mkdir()
    known = (os.environ.get("PATH", os.defpath), *SYSTEM_PATHS, os.path.dirname(sys.executable), str(programs))
    os.environ["PATH"] = os.pathsep.join(known)
    if shutil.which("hwsim_mgmt") is None:
        hwsim_mgmt.write_stand_in(programs)
    tempfile.tempdir = str(sandbox.WORK)
    os.environ.update(
        TMPDIR=str(sandbox.WORK), MPLBACKEND="Agg", MPLCONFIGDIR=str(sandbox.WORK), HOME=str(sandbox.WORK)
    )
    logging.basicConfig(handlers=[logging.NullHandler()])  # or Mininet-WiFi would log to a file in /tmp


def send_namespaces(network: MininetNetwork, control: Control) -> None:
    """Give the orchestrator the namespaces of all stations."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    control.send({"air": True}, own)
    os.close(own)
    for node, station in enumerate(network.stations):
        namespace = os.open(f"/proc/{station.pid}/ns/net", os.O_RDONLY)
        control.send({"station": node, "address": station.wintfs[0].mac}, namespace)
        os.close(namespace)


def open_command_line(net: Any, terminal: list[int]) -> None:
    """Open Mininet-WiFi's command line on the user's terminal; returns when the user leaves it."""
    from mininet.log import setLogLevel
    from mn_wifi.cli import CLI

    for number, descriptor in ((0, terminal[0]), (1, terminal[1]), (2, terminal[1])):
        os.dup2(descriptor, number)
    if os.isatty(0):  # Ctrl-C goes to the command line while it is open
        for number in (signal.SIGTTOU, signal.SIGTSTP):  # if it were stopped, no shell could continue it
            signal.signal(number, signal.SIG_IGN)
        with suppress(OSError):  # not the controlling terminal of this session
            os.tcsetpgrp(0, os.getpgrp())
    setLogLevel("info")
    CLI(net, stdin=sys.stdin)


def _serve_or_exit(server: Server) -> None:
    """End the process if serving fails: the stations would no longer move."""
    try:
        server.serve()
    except Exception as error:
        traceback.print_exc()
        server.fail(error)
        raise
    finally:
        os._exit(1)


def main(control: Control) -> None:
    """The process, with its control channel."""
    become_child("mininet-wifi")
    spec, _ = control.receive()
    assert spec is not None
    sandbox.enter(lambda: build_and_serve(control, spec))


if __name__ == "__main__":
    main(Control.inherited(int(sys.argv[1])))
