"""What differs between backends of stations: the medium, and how stations get their datagrams to it."""

from __future__ import annotations

from typing import Any

from testbed.backends.repetition import Repetition
from testbed.backends.stations.processes import Processes


class StationEnvironment:
    """What is around the stations of a run, as the orchestrator sees it; most methods do nothing by default."""

    helpers: tuple[str, ...] = ()
    """Processes besides the medium that are told when the run begins, and report at its end."""

    def open(self, processes: Processes, repetition: Repetition, spec: dict[str, Any]) -> bool:
        """Start the medium; returns whether it is ready already. If not, it sends `ready` when it is."""
        raise NotImplementedError

    def transport(self, medium_ready: Any) -> dict[str, Any]:
        """The spec of a station's transport, given what the medium sent when it was ready.

        `class` names the `Transport` as `module:class`; the other keys are its arguments.
        """
        raise NotImplementedError

    def descriptors(self, node: int) -> tuple[int, ...]:
        """The file descriptors that a station inherits."""
        return ()

    def station_ready(self, processes: Processes, node: int, port: int) -> None:
        """A station has started, and listens on a port."""

    def hear(self, message: dict[str, Any]) -> None:
        """Take a message of the medium or a helper that only this environment understands."""

    def is_held(self) -> bool:
        """Whether the run must not end yet, because a user is still looking at the network."""
        return False

    def notes(self) -> dict[str, Any]:
        """What else to keep in the run's `ends.json`."""
        return {}

    def close(self) -> None:
        """All processes have ended: remove what was made for them."""
