"""The formats of traces: their names, the endings of their files, and how they are read and written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import InputError
from testbed.mobility.traces import bonnmotion, csvfile, fcd, gpx, limits, ns2
from testbed.mobility.traces.source import Source, fault
from testbed.mobility.traces.target import write_lines
from testbed.mobility.traces.trace import Trace
from testbed.mobility.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Format:
    """A format. One without `write` can only be read."""

    name: str
    endings: tuple[str, ...]
    read: Callable[[Source], Trace]
    write: Callable[[Trace, Path], Iterator[str]] | None = None


FORMATS = (
    Format("ns2", (".ns2", ".ns_movements", ".setdest", ".tcl"), ns2.read, ns2.write),
    Format("bonnmotion", (".movements",), bonnmotion.read, bonnmotion.write),
    Format("fcd", (".xml", ".fcd"), fcd.read),
    Format("csv", (".csv",), csvfile.read, csvfile.write),
    Format("gpx", (".gpx",), gpx.read),
)
NAMES = tuple(known.name for known in FORMATS)


def detect(path: Path, name: str | None = None) -> Format:
    """The format of that name or, without a name, the format of the file's ending; a final .gz is ignored."""
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    for known in FORMATS:
        if known.name == name or (name is None and ending in known.endings):
            return known
    if name is not None:
        raise InputError(f"{name!r} is not a format of traces; allowed: {', '.join(NAMES)}")
    endings = ", ".join(ending for known in FORMATS for ending in known.endings)
    raise fault(path, "a name with the ending of no known format", f"names ending in {endings}, with or without .gz")


def read(path: Path, format_name: str | None = None) -> Trace:
    """Read a trace of that format or, without one, of the format of the file's ending."""
    return detect(path, format_name).read(Source(path))


def write(path: Path, trace: Trace, format_name: str | None = None) -> None:
    """Write a trace that reads back as the same, as far as the format can express it."""
    chosen = detect(path, format_name)
    if chosen.write is None:
        writable = ", ".join(known.name for known in FORMATS if known.write)
        raise fault(path, f"the format {chosen.name}, which is only read", writable)
    _check_readable(trace, path)
    write_lines(path, chosen.write(trace, path))


def convert(source: Path, target: Path) -> None:
    """Write a trace in another format; the file names give both formats."""
    detect(target)
    write(target, read(source))


def _check_readable(trace: Trace, path: Path) -> None:
    """Refuse to write what could not be read back: a trace need not come from a file."""
    if not 0 < len(trace.names) <= limits.MAX_NODES:
        raise fault(path, f"{len(trace.names)} nodes", f"from 1 to {limits.MAX_NODES}")
    if sum(len(trajectory.waypoints) for trajectory in trace.trajectories) > limits.MAX_WAYPOINTS:
        raise fault(path, f"more than {limits.MAX_WAYPOINTS} waypoints")
    for name, trajectory in zip(trace.names, trace.trajectories, strict=True):
        if not name or name != name.strip() or not name.isprintable():
            raise fault(path, f"a node called {name!r}", "a name of printable characters")
        if not _is_readable(trajectory):
            raise fault(path, f"node {name} at a time or place out of bounds", "times from 0, metres up to 1e9")


def _is_readable(trajectory: Trajectory) -> bool:
    appears, leaves = trajectory.appears, trajectory.leaves
    return (
        appears <= leaves
        and all(abs(t) <= limits.MAX_SECONDS for t in (appears, leaves) if not math.isinf(t))
        and appears < math.inf
        and leaves > -math.inf
        and 0 <= trajectory.waypoints[0].t <= trajectory.waypoints[-1].t <= limits.MAX_SECONDS
        and all(abs(value) <= limits.MAX_METRES for waypoint in trajectory.waypoints for value in waypoint[1:])
    )
