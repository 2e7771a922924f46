"""Movements from a trace file, in any format that `testbed.mobility.traces` reads."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from testbed.mobility.area import Area
from testbed.mobility.model import MobilityModel
from testbed.mobility.traces.formats import read
from testbed.mobility.traces.trace import Trace
from testbed.mobility.trajectory import Position, Trajectory, Waypoint
from testbed.randomness import Streams


class TraceReplay(MobilityModel):
    """Nodes move as a trace file says: ns-2, BonnMotion, SUMO FCD, CSV or GPX, chosen by the file name."""

    kind: Literal["trace"] = "trace"
    file: Annotated[str, Field(min_length=1)]
    """Relative to the scenario's folder, if it is not an absolute path."""
    start: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    """The second of the trace at which the run begins."""

    def trajectories(
        self, starts: list[Position] | None, nodes: int, area: Area, duration: float, streams: Streams
    ) -> list[Trajectory]:
        """The first nodes of the trace, from `start` on; their positions do not depend on the seed."""
        if starts is not None:
            raise ValueError("a trace and a placement: allowed is one of them, as a trace says where nodes are")
        path = Path(self.file)
        trace = _read(path, path.stat().st_mtime_ns if path.exists() else 0)
        if len(trace.trajectories) < nodes:
            raise ValueError(f"{path}: {len(trace.trajectories)} nodes: allowed are at least the scenario's {nodes}")
        return [cut_out(trajectory, self.start, duration) for trajectory in trace.trajectories[:nodes]]


@lru_cache(maxsize=4)
def _read(path: Path, changed: int) -> Trace:
    """Read a trace once, although the scenario is checked before it runs, and runs several times."""
    return read(path)


def cut_out(trajectory: Trajectory, start: float, duration: float) -> Trajectory:
    """The section of a trajectory that begins at `start` and lasts `duration`, with times counted from its begin."""
    end = start + duration
    kept = [Waypoint(start, *trajectory.at(start))]
    kept += [waypoint for waypoint in trajectory.waypoints if start < waypoint.t <= end]
    if kept[-1].t < end:
        kept.append(Waypoint(end, *trajectory.at(end)))
    moved = tuple(Waypoint(waypoint.t - start, *waypoint[1:]) for waypoint in kept)
    return Trajectory(moved, trajectory.appears - start, trajectory.leaves - start)
