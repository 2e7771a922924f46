"""`loopback`: real processes and real UDP on this machine, and a medium between them. No root, any Linux."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.listener import Listener
from testbed.backends.base import Backend, RunOptions
from testbed.backends.repetition import Repetition
from testbed.backends.stations.environment import StationEnvironment
from testbed.backends.stations.processes import MEDIUM, Processes
from testbed.scenario.schema import Scenario


class LoopbackBackend(Backend):
    """Every station is a process with a UDP socket on 127.0.0.1."""

    name = "loopback"
    summary = "real processes on UDP, a medium of our own between them, real time"
    real_time = True

    def missing(self) -> str | None:
        """What this machine lacks; None if nothing."""
        return None if sys.platform == "linux" else "needs Linux"

    def run_repetition(
        self,
        scenario: Scenario,
        repetition: int,
        listener: Listener,
        report: Callable[[float], None],
        folder: Path | None,
        options: RunOptions,
    ) -> None:
        """Run one repetition, passing everything that happens to the listener."""
        from testbed.backends.stations.orchestrator import Orchestrator

        assert folder is not None, "stations write logs"
        Orchestrator(scenario, repetition, LoopbackEnvironment(), listener, report, folder).run_all()


class LoopbackEnvironment(StationEnvironment):
    """Stations reach the medium at its port."""

    def open(self, processes: Processes, repetition: Repetition, spec: dict[str, Any]) -> bool:
        """Start the medium, which sends its port when it is ready."""
        processes.start(MEDIUM, "testbed.backends.loopback.medium", spec)
        return False

    def transport(self, medium_ready: int) -> dict[str, Any]:
        """A station only needs to know the medium's port."""
        return {"class": "testbed.backends.loopback.transport:LoopbackTransport", "medium_port": medium_ready}

    def station_ready(self, processes: Processes, node: int, port: int) -> None:
        """Tell the medium, which knows stations by their ports."""
        processes.tell(MEDIUM, {"do": "station", "node": node, "port": port})
