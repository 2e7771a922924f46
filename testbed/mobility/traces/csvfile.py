"""Comma-separated values: the only format here that expresses everything in a trace, exactly.

The first line names the columns: `node`, `t`, `x` and `y`, and where needed `z`, `appears` and `leaves`, in any order.
Every other line is a waypoint: at `t` seconds the node is at `x`, `y`, `z` metres, and it goes there in a straight line
from its previous waypoint. The lines of a node are in the order of their times, and two of the same time are a jump;
the lines of different nodes may be mixed. The nodes are numbered in the order of their first lines, and named by the
column `node`.

    node,t,x,y,appears,leaves
    red,0.0,0.0,50.0,,
    red,60.0,300.0,50.0,,
    blue,10.0,20.0,20.0,10.0,45.0
    blue,45.0,90.0,20.0,,

A node is present from the time `appears` until the time `leaves`, which only its first line gives; without them it is
always present.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

from testbed.mobility.traces import presence
from testbed.mobility.traces.builder import Builder
from testbed.mobility.traces.source import Source
from testbed.mobility.traces.target import decimal
from testbed.mobility.traces.trace import Trace
from testbed.mobility.trajectory import Waypoint

REQUIRED = ("node", "t", "x", "y")
OPTIONAL = ("z", "appears", "leaves")


def read(source: Source) -> Trace:
    """Read a trace."""
    builder = Builder(source)
    for row in _rows(source):
        name = source.name(row["node"])
        if row["appears"] or row["leaves"]:
            if builder.path(name):
                raise source.error(f"appears or leaves of node {name}", "these in its first line only")
            builder.stay(name, *presence.parse(source, row["appears"], row["leaves"]))
        place = (source.metres(row[axis], axis) for axis in "xyz")
        builder.add(name, Waypoint(source.seconds(row["t"]), *place))
    return builder.trace()


def _rows(source: Source) -> Iterator[dict[str, str]]:
    """The lines as mappings from column to value, with defaults for missing columns."""
    defaults = {"z": "0", "appears": "", "leaves": ""}
    columns: list[str] | None = None
    for cells in _cells(source):
        if columns is None:
            columns = _checked_columns(source, cells)
        elif len(cells) != len(columns):
            raise source.error(f"{len(cells)} values", f"{len(columns)}, as many as there are columns")
        else:
            yield defaults | dict(zip(columns, cells, strict=True))


def _cells(source: Source) -> Iterator[list[str]]:
    """The values of every line that is not empty. No value extends over the end of a line."""
    for line in source.lines():
        if not line or line.isspace():
            continue
        try:
            (cells,) = csv.reader([line], strict=True)
        except csv.Error:
            raise source.error(f"{line[:40]!r}", "values separated by commas") from None
        yield [cell.strip() for cell in cells]


def _checked_columns(source: Source, columns: list[str]) -> list[str]:
    known = {*REQUIRED, *OPTIONAL}
    if len(set(columns)) < len(columns) or not {*REQUIRED} <= {*columns} <= known:
        raise source.error(f"the columns {','.join(columns)[:80]!r}", f"{','.join(REQUIRED)}[,{'][,'.join(OPTIONAL)}]")
    return columns


def write(trace: Trace, _: Path) -> Iterator[str]:
    """The lines of a trace, node by node."""
    high = any(waypoint.z for trajectory in trace.trajectories for waypoint in trajectory.waypoints)
    comes = any(trajectory.appears > -math.inf for trajectory in trace.trajectories)
    goes = any(trajectory.leaves < math.inf for trajectory in trace.trajectories)
    shown = [True] * len(REQUIRED) + [high, comes, goes]
    yield _line([*REQUIRED, *OPTIONAL], shown)
    for name, trajectory in zip(trace.names, trace.trajectories, strict=True):
        stay = [decimal(t) if math.isfinite(t) else "" for t in (trajectory.appears, trajectory.leaves)]
        for waypoint in trajectory.waypoints:
            yield _line([name, *map(decimal, waypoint), *stay], shown)
            stay = ["", ""]


def _line(cells: list[str], shown: list[bool]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cell for cell, show in zip(cells, shown, strict=True) if show)
    return text.getvalue()
