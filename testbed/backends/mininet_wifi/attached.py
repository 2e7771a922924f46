"""Stations that somebody else has built, such as a script that `testbed export` wrote: the agents run there. What is
between the stations, and where they are, is that somebody's business.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.listener import Listener
from testbed.runtime.initial_state import Beginning
from testbed.errors import InputError
from testbed.backends.hwsim.self_test import hearing_at_the_start
from testbed.backends.mininet_wifi.stations import attached
from testbed.radio.radio import Radio
from testbed.scenario.schema import Scenario
from testbed.backends.stations.processes import MEDIUM, Children
from testbed.backends.stations.orchestrator import Orchestrator
from testbed.backends.stations.environment import WorldOfStations

REAL_TIME = True


def check(scenario: Scenario, *, attach: tuple[int, ...]) -> None:
    """Refuse what only who has built the stations could do."""
    if len(attach) != scenario.nodes:
        raise InputError(f"--attach: found {len(attach)} processes; allowed: one for each of {scenario.nodes} nodes")
    for process in attach:
        try:
            os.stat(f"/proc/{process}/ns/net")
        except OSError as error:
            allowed = "processes in the namespaces of stations"
            raise InputError(f"--attach: found {process} ({error.strerror}); allowed: {allowed}") from None
    if any(fault.kind not in ("crash", "restart") for fault in scenario.faults):
        raise InputError("--attach: found faults of links; allowed: crash and restart, for the medium is not ours")
    if scenario.routing != "builtin":
        raise InputError(f"--attach: found routing {scenario.routing}; allowed: builtin, for the kernels are not ours")


class Attached(WorldOfStations):
    """Known by processes in their namespaces."""

    def __init__(self, processes: tuple[int, ...], radio: Radio) -> None:
        self._stations = attached(secrets.token_hex(3), radio, processes)
        self._notes: dict[str, Any] = {}

    def open(self, children: Children, beginning: Beginning, spec: dict[str, Any]) -> bool:
        """See who hears whom; in place of a medium there is a process that says when the run begins."""
        self._notes = hearing_at_the_start(self._stations, beginning.graph.links())
        children.start(MEDIUM, "testbed.backends.mininet_wifi.null_medium", spec)
        return False

    def transport(self, medium_ready: Any) -> dict[str, Any]:
        """A station needs to know nothing but its namespace."""
        return {"kind": "hwsim", "babel_hello_s": None}

    def descriptors(self, node: int) -> tuple[int, ...]:
        """The namespace."""
        return (self._stations.namespace(node),)

    def hear(self, message: dict[str, Any]) -> None:
        """Tell whoever moves the stations when the run begins: the first line of what a run prints."""
        if "began" in message:
            print(f"began {message['began'] / 1e9:.6f}", flush=True)

    def notes(self) -> dict[str, Any]:
        """Who heard whom at the start although the scenario's radio says otherwise."""
        return self._notes

    def close(self) -> None:
        """Let go of the namespaces."""
        self._stations.let_go()


def run_repetition(
    scenario: Scenario,
    repetition: int,
    listener: Listener,
    report: Callable[[float], None],
    folder: Path,
    *,
    attach: tuple[int, ...],
) -> None:
    """Run one repetition of a scenario, telling the listener everything."""
    world = Attached(attach, scenario.radio or Radio())
    Orchestrator(scenario, repetition, world, listener, report, folder).run_all()
