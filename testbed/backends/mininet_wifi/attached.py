"""Stations that an external script has built, such as one that `testbed export` wrote: the agents run there.

The external script owns the medium and the positions.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.backends.base import RunOptions
from testbed.backends.hwsim.backend import TRANSPORT
from testbed.backends.hwsim.self_test import hearing_at_the_start
from testbed.backends.mininet_wifi.stations import attached
from testbed.backends.repetition import Repetition
from testbed.backends.stations.backend import StationBackend
from testbed.backends.stations.environment import StationEnvironment
from testbed.backends.stations.processes import MEDIUM, Processes
from testbed.errors import InputError
from testbed.radio.radio import Radio
from testbed.scenario.schema import Scenario


class AttachedBackend(StationBackend):
    """Runs agents in the namespaces of processes that are named on the command line. No scenario can name it."""

    name = "mininet-wifi"
    summary = "stations that an external script has built"

    def check(self, scenario: Scenario, options: RunOptions) -> None:
        """Refuse what only the external script could do."""
        attach = options.attach
        if len(attach) != scenario.stations:
            allowed = f"one for each of {scenario.stations} stations"
            raise InputError(f"--attach: found {len(attach)} processes; allowed: {allowed}")
        for process in attach:
            try:
                os.stat(f"/proc/{process}/ns/net")
            except OSError as error:
                allowed = "processes in the namespaces of stations"
                raise InputError(f"--attach: found {process} ({error.strerror}); allowed: {allowed}") from None
        if any(fault.kind not in ("crash", "restart") for fault in scenario.faults):
            raise InputError("--attach: found faults of links; allowed: crash and restart, for the medium is not ours")
        if scenario.routing != "builtin":
            allowed = "builtin, for the kernels are not ours"
            raise InputError(f"--attach: found routing {scenario.routing}; allowed: {allowed}")
        super().check(scenario, replace(options, attach=()))

    def environment(self, scenario: Scenario, folder: Path, options: RunOptions) -> StationEnvironment:
        """What is around the stations in one repetition."""
        return AttachedEnvironment(options.attach, scenario.radio or Radio())


class AttachedEnvironment(StationEnvironment):
    """Stations known by processes in their namespaces."""

    def __init__(self, processes: tuple[int, ...], radio: Radio) -> None:
        self._stations = attached(secrets.token_hex(3), radio, processes)
        self._notes: dict[str, Any] = {}

    def open(self, processes: Processes, repetition: Repetition, spec: dict[str, Any]) -> bool:
        """See which stations hear each other; in place of a medium there is a process that says when the run begins."""
        self._notes = hearing_at_the_start(self._stations, repetition.graph.links())
        processes.start(MEDIUM, "testbed.backends.mininet_wifi.null_medium", spec)
        return False

    def transport(self, medium_ready: Any) -> dict[str, Any]:
        """A station needs nothing but its namespace, which it inherits."""
        return {"class": TRANSPORT, "babel_hello_s": None}

    def descriptors(self, node: int) -> tuple[int, ...]:
        """The namespace."""
        return (self._stations.namespace(node),)

    def hear(self, message: dict[str, Any]) -> None:
        """Tell the script that moves the stations when the run begins: the first line of what a run prints."""
        if "began" in message:
            print(f"began {message['began'] / 1e9:.6f}", flush=True)

    def notes(self) -> dict[str, Any]:
        """Which stations heard each other at the start against what the scenario's radio says."""
        return self._notes

    def close(self) -> None:
        """Close the namespaces."""
        self._stations.let_go()
