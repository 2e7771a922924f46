"""`hwsim`: Linux's own Wi-Fi stack on virtual radios, every station in a network namespace, our medium between them.

It needs root and a kernel with mac80211_hwsim. Where there is none, the same run happens in a guest that has one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.listener import Listener
from testbed.runtime.initial_state import Beginning
from testbed.errors import InputError
from testbed.guest.needs import missing as missing_for_guest
from testbed.backends.hwsim.kernel import has_hwsim
from testbed.backends.hwsim.names import MAX_NODES
from testbed.scenario.links import RadioChoice
from testbed.progress import Report
from testbed.radio.radio import Radio
from testbed.scenario.schema import Scenario
from testbed.backends.stations.processes import MEDIUM, Children
from testbed.backends.stations.control import Control
from testbed.backends.stations.orchestrator import Orchestrator
from testbed.backends.stations.environment import WorldOfStations

if TYPE_CHECKING:
    from testbed.backends.hwsim.medium import Plan

SUMMARY = "Linux's own Wi-Fi stack on virtual radios (mac80211_hwsim), real time; in a guest where the kernel has none"
REAL_TIME = True
HAS_AIR = True
"""Whether there are frames to be captured."""


def missing() -> str | None:
    """What this machine lacks; a guest makes up for a kernel without Wi-Fi."""
    return None if runs_here() else missing_for_guest()


def runs_here() -> bool:
    """Whether this kernel has virtual radios, and we may make some."""
    return os.geteuid() == 0 and has_hwsim()


def check(scenario: Scenario, *, pcap: bool = False) -> None:
    """Refuse what cannot be, before anything is booted for it."""
    if scenario.nodes > MAX_NODES:
        raise InputError(f"nodes: found {scenario.nodes}; allowed on hwsim: at most {MAX_NODES}")


def run_elsewhere(scenario: Scenario, out: Path, report: Report, *, pcap: bool = False) -> Path:
    """The same run in a guest; returns its directory."""
    from testbed.backends.in_guest import run_in_guest

    return run_in_guest(scenario, out, report, *(["--pcap"] if pcap else []))


def plan_medium(beginning: Beginning, pairs: list[tuple[int, int]], pcap: Path | None) -> Plan:
    """What our medium is to do in a repetition."""
    from testbed.backends.hwsim.outcomes import Settings
    from testbed.backends.hwsim.medium import Plan
    from testbed.backends.hwsim.routing_frames import RoutingFrames

    scenario, links = beginning.scenario, beginning.scenario.links
    assert isinstance(links, RadioChoice), "stations have no other links"
    routing = RoutingFrames(scenario.warmup * scenario.time_unit) if scenario.routing != "builtin" else None
    settings = Settings(links.loss, links.duplicate, links.collisions, routing)
    return Plan(beginning.geometry, pairs, settings, pcap, beginning.streams.of("medium"))


class VirtualRadios(WorldOfStations):
    """A radio to a station, and a medium that hears them all."""

    def __init__(self, pcap: Path | None) -> None:
        self._pcap = pcap
        self._made = ExitStack()

    def open(self, children: Children, beginning: Beginning, spec: dict[str, Any]) -> bool:
        """Make radios and the medium, and see that it works."""
        from testbed.backends.hwsim.medium import MediumProcess
        from testbed.backends.hwsim.self_test import prove
        from testbed.backends.hwsim.radios import Radios
        from testbed.backends.hwsim.routing import set_up

        scenario, links = beginning.scenario, beginning.scenario.links
        assert isinstance(links, RadioChoice), "stations have no other links"
        self._radios = Radios(secrets.token_hex(3), scenario.nodes, scenario.radio or Radio())
        self._made.enter_context(self._radios)
        pairs = list(beginning.graph.links())
        plan = plan_medium(beginning, pairs, self._pcap)
        medium = self._made.enter_context(MediumProcess(self._radios, plan))
        prove(self._radios, medium, beginning.geometry, pairs)
        self._hello_s = links.hello * scenario.time_unit
        self._routing = scenario.routing
        set_up(self._radios, self._routing, self._hello_s)
        children.adopt(MEDIUM, Control(medium.control))
        return True

    def transport(self, medium_ready: Any) -> dict[str, Any]:
        """A station needs to know nothing but its namespace, and whether it is to have a babeld beside it."""
        return {"kind": "hwsim", "babel_hello_s": self._hello_s if self._routing == "babel" else None}

    def descriptors(self, node: int) -> tuple[int, ...]:
        """The namespace."""
        return (self._radios.namespace(node),)

    def close(self) -> None:
        """The radios go, and the namespaces with them."""
        self._made.close()


def run_repetition(
    scenario: Scenario,
    repetition: int,
    listener: Listener,
    report: Callable[[float], None],
    folder: Path,
    *,
    pcap: bool = False,
) -> None:
    """Run one repetition of a scenario, telling the listener everything."""
    world = VirtualRadios(folder / "air.pcap" if pcap else None)
    Orchestrator(scenario, repetition, world, listener, report, folder).run_all()
