"""`loopback`: real processes and real UDP on this machine, and a medium between them. No root, any Linux."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from testbed.backends.base import RunOptions
from testbed.backends.repetition import Repetition
from testbed.backends.stations.backend import StationBackend
from testbed.backends.stations.environment import StationEnvironment
from testbed.backends.stations.processes import MEDIUM, Processes
from testbed.scenario.schema import Scenario


class LoopbackBackend(StationBackend):
    """Every station is a process with a UDP socket on 127.0.0.1."""

    name = "loopback"
    summary = "real processes on UDP, a medium of our own between them, real time"

    def missing(self) -> str | None:
        """What this machine lacks; None if nothing."""
        return None if sys.platform == "linux" else "needs Linux"

    def environment(self, scenario: Scenario, folder: Path, options: RunOptions) -> StationEnvironment:
        """What is around the stations in one repetition."""
        return LoopbackEnvironment()


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
