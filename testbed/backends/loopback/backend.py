"""`loopback`: real processes and real UDP on this machine, and a medium between them. No root, any Linux."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.listener import Listener
from testbed.runtime.initial_state import Beginning
from testbed.scenario.schema import Scenario
from testbed.backends.stations.processes import MEDIUM, Children
from testbed.backends.stations.orchestrator import Orchestrator
from testbed.backends.stations.environment import WorldOfStations

SUMMARY = "real processes on UDP, a medium of our own between them, real time"
REAL_TIME = True


def missing() -> str | None:
    """What this machine lacks."""
    return None if sys.platform == "linux" else "needs Linux"


class Loopback(WorldOfStations):
    """Stations reach the medium at its port."""

    def open(self, children: Children, beginning: Beginning, spec: dict[str, Any]) -> bool:
        """Start the medium, which will say its port."""
        children.start(MEDIUM, "testbed.backends.loopback.medium", spec)
        return False

    def transport(self, medium_ready: int) -> dict[str, Any]:
        """All a station needs to know is the medium's port."""
        return {"kind": "loopback", "medium_port": medium_ready}

    def welcome(self, children: Children, node: int, port: int) -> None:
        """The medium knows stations by their ports."""
        children.tell(MEDIUM, {"do": "station", "node": node, "port": port})


def run_repetition(
    scenario: Scenario, repetition: int, listener: Listener, report: Callable[[float], None], folder: Path
) -> None:
    """Run one repetition of a scenario, telling the listener everything."""
    Orchestrator(scenario, repetition, Loopback(), listener, report, folder).run_all()
