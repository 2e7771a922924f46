"""The paths of nodes while a file is read: in order of time, and within the limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from testbed.mobility.traces import limits
from testbed.mobility.traces.source import Source, fault
from testbed.mobility.traces.trace import Trace
from testbed.mobility.trajectory import Trajectory, Waypoint


class Builder:
    """Collects waypoints by the names of their nodes, and checks the rules that hold in every format."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._paths: dict[str, list[Waypoint]] = {}
        self._stays: dict[str, tuple[float, float]] = {}
        self._waypoints = 0

    def path(self, name: str) -> list[Waypoint]:
        """The waypoints of a node so far; empty for a new node."""
        path = self._paths.get(name)
        if path is None:
            if len(self._paths) == limits.MAX_NODES:
                raise self._source.error(f"more than {limits.MAX_NODES} nodes")
            path = self._paths[name] = []
        return path

    def add(self, name: str, waypoint: Waypoint) -> None:
        """Add the next waypoint of a node."""
        path = self.path(name)
        if path and waypoint.t < path[-1].t:
            raise self._source.error(
                f"node {name} at {waypoint.t:g} s, after {path[-1].t:g} s", "times that do not go backwards"
            )
        self._waypoints += 1
        if self._waypoints > limits.MAX_WAYPOINTS:
            raise self._source.error(f"more than {limits.MAX_WAYPOINTS} waypoints")
        path.append(waypoint)

    def drop(self, name: str) -> None:
        """Remove the last waypoint of a node."""
        self._paths[name].pop()
        self._waypoints -= 1

    def stay(self, name: str, appears: float, leaves: float) -> None:
        """Set from when until when a node is present; by default it is always present."""
        if leaves < appears:
            raise self._source.error(
                f"node {name} leaves at {leaves:g} s and appears at {appears:g} s", "to appear first"
            )
        self._stays[name] = (appears, leaves)

    def trace(self, order: Callable[[str], Any] | None = None) -> Trace:
        """The trace of the file, its nodes in the order of the file or sorted by a key of their names."""
        if not self._paths:
            raise fault(self._source.path, "no node and no position")
        for name in self._stays:
            if name not in self._paths:
                raise fault(self._source.path, f"node {name} appears or leaves, but has no position")
        names = sorted(self._paths, key=order) if order else list(self._paths)
        always = (-math.inf, math.inf)
        return Trace(
            tuple(names), tuple(Trajectory(tuple(self._paths[name]), *self._stays.get(name, always)) for name in names)
        )
