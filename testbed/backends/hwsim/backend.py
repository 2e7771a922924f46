"""`hwsim`: Linux's own Wi-Fi stack on virtual radios, every station in a network namespace, our medium between them.

It needs root and a kernel with mac80211_hwsim. Where there is none, the same run happens in a guest that has one.
"""

from __future__ import annotations

import os
import secrets
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.backends.base import Refusal, RunOptions
from testbed.backends.hwsim.control_plane import missing_control
from testbed.backends.hwsim.kernel import has_hwsim
from testbed.backends.hwsim.names import MAX_NODES
from testbed.backends.repetition import Repetition
from testbed.backends.stations.backend import StationBackend
from testbed.backends.stations.environment import StationEnvironment
from testbed.backends.stations.processes import MEDIUM, Processes
from testbed.guest.needs import missing as missing_for_guest
from testbed.progress import Report
from testbed.radio.radio import Radio
from testbed.scenario.schema import Scenario

if TYPE_CHECKING:
    from testbed.backends.hwsim.medium import Plan

TRANSPORT = "testbed.backends.hwsim.transport:NamespaceTransport"


def runs_here() -> bool:
    """Whether this kernel has virtual radios, and we may make some."""
    return os.geteuid() == 0 and has_hwsim()


class HwsimBackend(StationBackend):
    """Every station is a process in a network namespace with a virtual radio."""

    name = "hwsim"
    summary = (
        "Linux's own Wi-Fi stack on virtual radios (mac80211_hwsim), real time; in a guest where the kernel has none"
    )
    routings = ("builtin", "babel", "batman")
    captures = ("air",)
    may_run_elsewhere = True

    def missing(self) -> str | None:
        """What this machine lacks; a guest replaces a kernel without Wi-Fi."""
        return missing_control() if self.runs_here() else missing_for_guest()

    def missing_extra(self) -> str | None:
        """Only this machine's own kernel is controlled by what an extra has."""
        return "hwsim" if self.runs_here() else None

    def refuses(self, scenario: Scenario) -> Refusal | None:
        """More stations than there are addresses."""
        if scenario.stations <= MAX_NODES:
            return None
        return Refusal("nodes", str(scenario.stations), f"at most {MAX_NODES} stations with backend {self.name}")

    def runs_here(self) -> bool:
        """Whether this kernel has virtual radios, and we may make some."""
        return runs_here()

    def run_elsewhere(self, scenario: Scenario, out: Path, report: Report, options: RunOptions) -> Path:
        """Run the scenario in a guest; returns the run directory."""
        from testbed.backends.in_guest import run_in_guest

        return run_in_guest(scenario, out, report, *options.as_arguments())

    def environment(self, scenario: Scenario, folder: Path, options: RunOptions) -> StationEnvironment:
        """What is around the stations in one repetition."""
        return HwsimEnvironment(folder / "air.pcap" if options.pcap else None)


def plan_medium(repetition: Repetition, pairs: list[tuple[int, int]], pcap: Path | None) -> Plan:
    """What our medium is to do in a repetition."""
    from testbed.backends.hwsim.frames import Impairments
    from testbed.backends.hwsim.medium import Plan
    from testbed.backends.hwsim.routing_frames import RoutingFrames

    scenario, links = repetition.scenario, repetition.radio_links
    routing = RoutingFrames(scenario.warmup * scenario.time_unit) if scenario.routing != "builtin" else None
    impairments = Impairments(links.loss, links.duplicate, links.collisions, routing)
    return Plan(repetition.geometry, pairs, impairments, pcap, repetition.streams.of("medium"))


class HwsimEnvironment(StationEnvironment):
    """A radio for each station, and a medium that carries their frames."""

    def __init__(self, pcap: Path | None) -> None:
        self._pcap = pcap
        self._made = ExitStack()

    def open(self, processes: Processes, repetition: Repetition, spec: dict[str, Any]) -> bool:
        """Make the radios, start the medium, and test it."""
        from testbed.backends.hwsim.medium import MediumProcess
        from testbed.backends.hwsim.radios import Radios
        from testbed.backends.hwsim.routing import set_up
        from testbed.backends.hwsim.self_test import check_medium

        scenario = repetition.scenario
        self._radios = Radios(secrets.token_hex(3), scenario.stations, scenario.radio or Radio())
        self._made.enter_context(self._radios)
        pairs = list(repetition.graph.links())
        plan = plan_medium(repetition, pairs, self._pcap)
        medium = self._made.enter_context(MediumProcess(self._radios, plan))
        check_medium(self._radios, medium, repetition.geometry, pairs)
        self._hello_s = repetition.radio_links.hello * scenario.time_unit
        self._routing = scenario.routing
        set_up(self._radios, self._routing, self._hello_s)
        processes.adopt(MEDIUM, medium.control)
        return True

    def transport(self, medium_ready: Any) -> dict[str, Any]:
        """A station needs its namespace, which it inherits, and has to know whether to run babeld beside it."""
        return {"class": TRANSPORT, "babel_hello_s": self._hello_s if self._routing == "babel" else None}

    def descriptors(self, node: int) -> tuple[int, ...]:
        """The namespace."""
        return (self._radios.namespace(node),)

    def close(self) -> None:
        """Destroy the radios, and with them the namespaces."""
        self._made.close()
