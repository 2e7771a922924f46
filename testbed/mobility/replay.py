"""Movements from a file: whatever format, read as `testbed.mobility.traces` reads it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from testbed.mobility.area import Area
from testbed.mobility.model import Model
from testbed.mobility.traces.formats import read
from testbed.mobility.traces.trace import Trace
from testbed.mobility.trajectory import Position, Trajectory, Waypoint
from testbed.randomness import Streams


class Replay(Model):
    """Nodes move as a trace file says: ns-2, BonnMotion, SUMO FCD, CSV or GPX, told by its name."""

    kind: Literal["trace"] = "trace"
    file: Annotated[str, Field(min_length=1)]
    """Beside the scenario, if it is not an absolute path."""
    start: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    """The second of the trace that the run begins at."""

    def trajectories(
        self, starts: list[Position] | None, nodes: int, area: Area, duration: float, streams: Streams
    ) -> list[Trajectory]:
        """The first nodes of the trace, from `start` on; they are where the trace says, whatever the seed."""
        if starts is not None:
            raise ValueError("a trace and a placement: allowed is one of them, as a trace says where nodes are")
        path = Path(self.file)
        trace = _read(path, path.stat().st_mtime_ns if path.exists() else 0)
        if len(trace.trajectories) < nodes:
            raise ValueError(f"{path}: {len(trace.trajectories)} nodes: allowed are at least the scenario's {nodes}")
        return [cut_out(trajectory, self.start, duration) for trajectory in trace.trajectories[:nodes]]


@lru_cache(maxsize=4)
def _read(path: Path, changed: int) -> Trace:
    """A scenario is checked before it runs, and runs several times: it reads its trace once."""
    return read(path)


def cut_out(trajectory: Trajectory, start: float, duration: float) -> Trajectory:
    """The part of a trajectory that lasts from `start` for so long, as if it had begun at 0."""
    end = start + duration
    kept = [Waypoint(start, *trajectory.at(start))]
    kept += [waypoint for waypoint in trajectory.waypoints if start < waypoint.t <= end]
    if kept[-1].t < end:
        kept.append(Waypoint(end, *trajectory.at(end)))
    moved = tuple(Waypoint(waypoint.t - start, *waypoint[1:]) for waypoint in kept)
    return Trajectory(moved, trajectory.appears - start, trajectory.leaves - start)
