"""BonnMotion's `.movements`: one line for each node, `t x y t x y ...`, or `t x y z ...` in three dimensions.

The comment `#3D` at the top means three dimensions. Without it, the parameters in the file `.params` of the same name
decide: `J=3D`, or a depth `z` and no `J` (BonnMotion's `Printer.java` and `Scenario.java`; `dim` means something else).
Other lines beginning with # are comments. Nodes have no names, so their numbers are used.

Two waypoints at one time are a jump. BonnMotion itself makes none and refuses them. Its model DisasterArea writes a
status after every waypoint, which cannot be distinguished from a coordinate; it is refused if the parameters name it.
When nodes appear and leave is a comment (see `presence`), and their names are lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from testbed.mobility.traces import presence
from testbed.mobility.traces.builder import Builder
from testbed.mobility.traces.source import Source
from testbed.mobility.traces.target import decimal
from testbed.mobility.traces.trace import Trace
from testbed.mobility.trajectory import Waypoint

MAX_LINE_BYTES = 1 << 26  # a line is the whole path of a node
_HEADER = re.compile(r"#\s*([23])D\s*", re.IGNORECASE)
_WORD = re.compile(r"\S+")


def read(source: Source) -> Trace:
    """Read a trace."""
    builder = Builder(source)
    is_high = _parameters_say_3d(source.path)
    nodes = 0
    for line in source.lines(MAX_LINE_BYTES):
        if header := _HEADER.fullmatch(line) if nodes == 0 else None:
            is_high = header[1] == "3"
        elif line.startswith("#"):
            presence.note(line, source, builder)
        elif line and not line.isspace():
            for waypoint in _waypoints(line, is_high, source):
                builder.add(str(nodes), waypoint)
            nodes += 1
    return builder.trace()


def _waypoints(line: str, is_high: bool, source: Source) -> Iterator[Waypoint]:
    """The waypoints of a line, word by word: a list of its words could take more memory than its path."""
    axes = "xyz" if is_high else "xy"
    words = (match[0] for match in _WORD.finditer(line))
    for time in words:
        place = [source.metres(word, axis) for axis, word in zip(axes, words, strict=False)]
        if len(place) < len(axes):
            raise source.error(f"a waypoint of {len(place) + 1} numbers at the end", f"t {' '.join(axes)} for each")
        yield Waypoint(source.seconds(time), *place)


def _parameters_say_3d(path: Path) -> bool:
    """Whether the parameter file beside a trace, if there is one, says that it has three dimensions."""
    beside = path.parent / f"{Path(path.name.removesuffix('.gz')).stem}.params"
    if not os.path.isfile(beside):  # unlike Path.is_file, this is False for every invalid name
        return False
    parameters = Source(beside)
    values = dict(line.replace(" ", "").split("=", 1) for line in parameters.lines() if "=" in line)
    if values.get("model") == "DisasterArea":
        raise parameters.error("the model DisasterArea, whose waypoints have a status", "any other model")
    return values.get("J", "3D" if "z" in values else "2D").upper() == "3D"


def write(trace: Trace, _: Path) -> Iterator[str]:
    """The lines of a trace. A header gives the dimension, so that an old parameter file cannot change it."""
    is_high = any(waypoint.z for trajectory in trace.trajectories for waypoint in trajectory.waypoints)
    numbers = 4 if is_high else 3
    yield f"#{numbers - 1}D\n"
    for number, trajectory in enumerate(trace.trajectories):
        yield presence.comment(number, trajectory)
    for trajectory in trace.trajectories:
        words = (decimal(value) for waypoint in trajectory.waypoints for value in waypoint[:numbers])
        yield f"{' '.join(words)}\n"
