"""`mininet-wifi`: the stations of a Mininet-WiFi network, with our medium between them or wmediumd.

It needs root, a kernel with mac80211_hwsim, and Mininet-WiFi, which the user installs. Where the kernel has no virtual
radios, the same run happens in a guest that has them.
"""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from testbed.backends.base import Backend, RunOptions
from testbed.backends.hwsim import babel
from testbed.backends.hwsim.backend import TRANSPORT, plan_medium
from testbed.backends.hwsim.backend import runs_here as hwsim_runs_here
from testbed.backends.hwsim.control_plane import missing_control
from testbed.backends.mininet_wifi.installation import lacking
from testbed.backends.mininet_wifi.plan import WMEDIUMD, plan_network
from testbed.backends.mininet_wifi.terminal import Terminal
from testbed.backends.repetition import Repetition
from testbed.backends.stations.backend import StationBackend
from testbed.backends.stations.environment import StationEnvironment
from testbed.backends.stations.processes import MEDIUM, Processes
from testbed.backends.stations.station_log import output_path
from testbed.errors import BackendError, InputError
from testbed.guest.needs import missing as missing_for_guest
from testbed.processes import find_program
from testbed.progress import Report
from testbed.radio.radio import Radio
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario

NETWORK = "mininet-wifi"
"""The process that Mininet-WiFi runs in."""


class MininetWifiBackend(StationBackend):
    """Every station is a process in the namespace of a station of Mininet-WiFi."""

    name = "mininet-wifi"
    summary = "the stations of a Mininet-WiFi network, with our medium or wmediumd, real time; in a guest like hwsim"
    routings = ("builtin", "babel", "batman")
    media = ("ours", WMEDIUMD)
    captures = ("air",)
    has_command_line = True
    may_run_elsewhere = True

    def missing(self) -> str | None:
        """What this machine lacks. A guest replaces a kernel without Wi-Fi; Mininet-WiFi has to be installed here."""
        return lacking() or (missing_control() if self.runs_here() else missing_for_guest())

    def missing_extra(self) -> str | None:
        """As for hwsim; Mininet-WiFi itself is in no extra."""
        return "hwsim" if lacking() is None and self.runs_here() else None

    def check(self, scenario: Scenario, options: RunOptions) -> None:
        """Refuse what Mininet-WiFi or the chosen medium cannot do, and what needs a program that is not installed."""
        super().check(scenario, options)
        plan_network(Repetition(scenario, Streams(scenario.seed, 0)))
        if options.pcap and scenario.medium == WMEDIUMD:
            raise InputError("--pcap: found medium wmediumd; allowed: ours, which sees every try of a frame")
        if scenario.routing == "babel":
            babel.program()
        if scenario.routing == "batman" and find_program("batctl") is None:
            raise BackendError(
                "routing batman needs batctl, which is not installed: `apt-get install batctl` (as root)"
            )
        if scenario.medium == WMEDIUMD and find_program("wmediumd") is None:
            raise BackendError(
                "medium wmediumd: wmediumd is not installed; Mininet-WiFi's util/install.sh -l builds it"
            )

    def attached(self) -> Backend:
        """The backend that runs on stations which an external script has built."""
        from testbed.backends.mininet_wifi.attached import AttachedBackend

        return AttachedBackend()

    def runs_here(self) -> bool:
        """Whether this kernel has virtual radios, and we may make some."""
        return hwsim_runs_here()

    def run_elsewhere(self, scenario: Scenario, out: Path, report: Report, options: RunOptions) -> Path:
        """Run the scenario in a guest; returns the run directory."""
        from testbed.backends.in_guest import run_in_guest
        from testbed.backends.mininet_wifi.in_guest import shared_guest

        arguments = options.as_arguments()
        return run_in_guest(scenario, out, report, *arguments, guest=shared_guest(), is_interactive=options.cli)

    def environment(self, scenario: Scenario, folder: Path, options: RunOptions) -> StationEnvironment:
        """What is around the stations in one repetition."""
        return MininetWifiEnvironment(folder / "air.pcap" if options.pcap else None, cli=options.cli)


class MininetWifiEnvironment(StationEnvironment):
    """A network in a sandbox, and a medium that carries the frames of its radios."""

    def __init__(self, pcap: Path | None, *, cli: bool) -> None:
        self._pcap = pcap
        self._made = ExitStack()
        self._has_cli = self._is_open = cli
        self._notes: dict[str, Any] = {}
        self._terminal: Terminal | None = None

    def open(self, processes: Processes, repetition: Repetition, spec: dict[str, Any]) -> bool:
        """Build the network, start the medium, and test it."""
        from testbed.backends.hwsim.self_test import check_medium, hearing_at_the_start
        from testbed.backends.mininet_wifi.routing import set_up
        from testbed.backends.mininet_wifi.stations import MininetStations

        scenario = repetition.scenario
        output = output_path(Path(spec["folder"]), NETWORK)
        radio = scenario.radio or Radio()
        spec = {**spec, "nodes": scenario.stations}
        stations = self._made.enter_context(MininetStations(secrets.token_hex(3), radio, spec, output))
        self._stations = stations
        pairs = list(repetition.graph.links())
        if scenario.medium == WMEDIUMD:
            check_medium(stations, stations, repetition.geometry, pairs)
            processes.adopt(MEDIUM, stations.control)
        else:
            self._open_medium(processes, repetition, pairs)
            self.helpers = (NETWORK,)
            processes.adopt(NETWORK, stations.control)
        self._notes = {"mininet_wifi": stations.versions, "medium": scenario.medium}
        self._notes |= hearing_at_the_start(stations, pairs)
        set_up(stations, scenario)
        if self._has_cli:
            self._terminal = Terminal()
            stations.control.send({"do": "cli"}, 0, 2)
        return True

    def _open_medium(self, processes: Processes, repetition: Repetition, pairs: list[tuple[int, int]]) -> None:
        from testbed.backends.hwsim.medium import MediumProcess
        from testbed.backends.hwsim.self_test import check_medium

        medium = self._made.enter_context(MediumProcess(self._stations, plan_medium(repetition, pairs, self._pcap)))
        check_medium(self._stations, medium, repetition.geometry, pairs)
        if repetition.geometry is not None:
            self._stations.control.send({"do": "watch"}, medium.watcher.fileno())
        processes.adopt(MEDIUM, medium.control)

    def transport(self, medium_ready: Any) -> dict[str, Any]:
        """A station needs nothing but its namespace: Mininet-WiFi has started the other programs in it."""
        return {"class": TRANSPORT, "babel_hello_s": None}

    def descriptors(self, node: int) -> tuple[int, ...]:
        """The namespace."""
        return (self._stations.namespace(node),)

    def hear(self, message: dict[str, Any]) -> None:
        """Notice that the user has left the command line."""
        if message.get("cli") == "closed":
            self._is_open = False
            if self._terminal is not None:
                self._terminal.take_back()

    def is_held(self) -> bool:
        """As long as the command line is open."""
        return self._is_open

    def notes(self) -> dict[str, Any]:
        """The versions, and which stations heard each other at the start against what the scenario's radio says."""
        return self._notes

    def close(self) -> None:
        """End the sandbox, and with it everything that runs in it."""
        self._made.close()
        if self._is_open and self._terminal is not None:
            self._terminal.take_back()
