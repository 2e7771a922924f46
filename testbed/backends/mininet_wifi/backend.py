"""`mininet-wifi`: the stations of a Mininet-WiFi network, with our medium between them or wmediumd.

It needs root, a kernel with mac80211_hwsim, and Mininet-WiFi, which the user has. Where the kernel has no virtual
radios, the same run happens in a guest that has them.
"""

from __future__ import annotations

import os
import secrets
import signal
import termios
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from analysis.listener import Listener
from testbed.backends.hwsim.backend import runs_here as hwsim_runs_here
from testbed.runtime.initial_state import Beginning
from testbed.errors import BackendError, InputError
from testbed.guest.needs import find
from testbed.guest.needs import missing as missing_for_guest
from testbed.backends.hwsim import babel
from testbed.backends.mininet_wifi.installation import lacking
from testbed.backends.mininet_wifi.plan import WMEDIUMD, plan_network
from testbed.progress import Report
from testbed.radio.radio import Radio
from testbed.scenario.schema import Scenario
from testbed.backends.stations.processes import MEDIUM, Children
from testbed.backends.stations.control import Control
from testbed.backends.stations.station_log import output_path
from testbed.backends.stations.orchestrator import Orchestrator
from testbed.backends.stations.environment import WorldOfStations
from testbed.randomness import Streams

SUMMARY = "the stations of a Mininet-WiFi network, with our medium or wmediumd, real time; in a guest like hwsim"
REAL_TIME = True
HAS_AIR = True
HAS_COMMAND_LINE = True
NETWORK = "mininet-wifi"
"""The process that has the network."""


def missing() -> str | None:
    """What this machine lacks; a guest makes up for a kernel without Wi-Fi, but not for Mininet-WiFi."""
    return lacking() or (None if runs_here() else missing_for_guest())


def runs_here() -> bool:
    """Whether this kernel has virtual radios, and we may make some."""
    return hwsim_runs_here()


def check(scenario: Scenario, *, pcap: bool = False, cli: bool = False) -> None:
    """Refuse what Mininet-WiFi, or the medium that is asked for, cannot do, and what is not installed."""
    plan_network(Beginning(scenario, Streams(scenario.seed, 0)))
    if pcap and scenario.medium == WMEDIUMD:
        raise InputError("--pcap: found medium wmediumd; allowed: ours, which sees every try of a frame")
    if scenario.routing == "babel":
        babel.program()
    if scenario.routing == "batman" and find("batctl") is None:
        raise BackendError("routing batman needs batctl, which is not installed: `apt-get install batctl` (as root)")
    if scenario.medium == WMEDIUMD and find("wmediumd") is None:
        raise BackendError("medium wmediumd: wmediumd is not installed; Mininet-WiFi's util/install.sh -l builds it")


def run_elsewhere(scenario: Scenario, out: Path, report: Report, *, pcap: bool = False, cli: bool = False) -> Path:
    """The same run in a guest; returns its directory."""
    from testbed.backends.in_guest import run_in_guest
    from testbed.backends.mininet_wifi.in_guest import shared_guest

    options = [*(["--pcap"] if pcap else []), *(["--cli"] if cli else [])]
    return run_in_guest(scenario, out, report, *options, guest=shared_guest(), is_interactive=cli)


class MininetWifi(WorldOfStations):
    """A network in a cage, and a medium that hears its radios."""

    def __init__(self, pcap: Path | None, *, cli: bool) -> None:
        self._pcap = pcap
        self._made = ExitStack()
        self._has_cli = self._is_open = cli
        self._notes: dict[str, Any] = {}
        self._terminal: Terminal | None = None

    def open(self, children: Children, beginning: Beginning, spec: dict[str, Any]) -> bool:
        """Build the network, start the medium, and see that it works."""
        from testbed.backends.hwsim.self_test import hearing_at_the_start, prove
        from testbed.backends.mininet_wifi.routing import set_up
        from testbed.backends.mininet_wifi.stations import MininetStations

        scenario = beginning.scenario
        output = output_path(Path(spec["folder"]), NETWORK)
        radio = scenario.radio or Radio()
        spec = {**spec, "nodes": scenario.nodes}
        stations = self._made.enter_context(MininetStations(secrets.token_hex(3), radio, spec, output))
        self._stations = stations
        pairs = list(beginning.graph.links())
        if scenario.medium == WMEDIUMD:
            prove(stations, stations, beginning.geometry, pairs)
            children.adopt(MEDIUM, stations.control)
        else:
            self._open_medium(children, beginning, pairs)
            self.helpers = (NETWORK,)
            children.adopt(NETWORK, stations.control)
        self._notes = {"mininet_wifi": stations.versions, "medium": scenario.medium}
        self._notes |= hearing_at_the_start(stations, pairs)
        set_up(stations, scenario)
        if self._has_cli:
            self._terminal = Terminal()
            stations.control.send({"do": "cli"}, 0, 2)
        return True

    def _open_medium(self, children: Children, beginning: Beginning, pairs: list[tuple[int, int]]) -> None:
        from testbed.backends.hwsim.backend import plan_medium
        from testbed.backends.hwsim.medium import MediumProcess
        from testbed.backends.hwsim.self_test import prove

        medium = self._made.enter_context(MediumProcess(self._stations, plan_medium(beginning, pairs, self._pcap)))
        prove(self._stations, medium, beginning.geometry, pairs)
        if beginning.geometry is not None:
            self._stations.control.send({"do": "watch"}, medium.watcher.fileno())
        children.adopt(MEDIUM, Control(medium.control))

    def transport(self, medium_ready: Any) -> dict[str, Any]:
        """A station needs to know nothing but its namespace: Mininet-WiFi has started what else is to run there."""
        return {"kind": "hwsim", "babel_hello_s": None}

    def descriptors(self, node: int) -> tuple[int, ...]:
        """The namespace."""
        return (self._stations.namespace(node),)

    def hear(self, message: dict[str, Any]) -> None:
        """The user has left the command line."""
        if message.get("cli") == "closed":
            self._is_open = False
            if self._terminal is not None:
                self._terminal.take_back()

    def is_held(self) -> bool:
        """For as long as the command line is open."""
        return self._is_open

    def notes(self) -> dict[str, Any]:
        """The versions, and who heard whom at the start although the scenario's radio says otherwise."""
        return self._notes

    def close(self) -> None:
        """The cage goes, and all that is in it."""
        self._made.close()
        if self._is_open and self._terminal is not None:
            self._terminal.take_back()


class Terminal:
    """A user's terminal, which somebody else is given for a while, who may not leave it as it was."""

    def __init__(self) -> None:
        self._settings = termios.tcgetattr(0) if os.isatty(0) else None

    def take_back(self) -> None:
        """Be in the foreground again, with the settings of before."""
        if self._settings is None:
            return
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with suppress(OSError, termios.error):
            os.tcsetpgrp(0, os.getpgrp())
            termios.tcsetattr(0, termios.TCSADRAIN, self._settings)
        signal.signal(signal.SIGTTOU, before)


def run_repetition(
    scenario: Scenario,
    repetition: int,
    listener: Listener,
    report: Callable[[float], None],
    folder: Path,
    *,
    pcap: bool = False,
    cli: bool = False,
) -> None:
    """Run one repetition of a scenario, telling the listener everything."""
    world = MininetWifi(folder / "air.pcap" if pcap else None, cli=cli)
    Orchestrator(scenario, repetition, world, listener, report, folder).run_all()
