"""What differs between worlds of stations: the medium, and how stations get their datagrams to it."""

from __future__ import annotations

from typing import Any

from testbed.runtime.initial_state import Beginning
from testbed.backends.stations.processes import Children


class WorldOfStations:
    """A world, as the orchestrator sees it; what most of them have no use for does nothing here."""

    helpers: tuple[str, ...] = ()
    """Processes besides the medium that are told when the run begins, and say something at its end."""

    def open(self, children: Children, beginning: Beginning, spec: dict[str, Any]) -> bool:
        """Start the medium; returns whether it is ready already. If not, it will say so."""
        raise NotImplementedError

    def transport(self, medium_ready: Any) -> dict[str, Any]:
        """What a station is told of its way to the air, from what the medium said when it was ready."""
        raise NotImplementedError

    def descriptors(self, node: int) -> tuple[int, ...]:
        """What a station is given on its way."""
        return ()

    def welcome(self, children: Children, node: int, port: int) -> None:
        """A station has come up, and listens on a port."""

    def hear(self, message: dict[str, Any]) -> None:
        """The medium or a helper says something that only this world understands."""

    def is_held(self) -> bool:
        """Whether somebody is still looking at the network, so that the run must not end."""
        return False

    def notes(self) -> dict[str, Any]:
        """What else is worth keeping of a run."""
        return {}

    def close(self) -> None:
        """Everybody is gone: take away what was made for them."""
