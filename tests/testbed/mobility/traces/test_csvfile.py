"""Comma-separated values: the columns, and that nothing is lost."""

from __future__ import annotations

import math
from pathlib import Path

from testbed.mobility.traces import Trace, csvfile, read, write
from testbed.mobility.trajectory import Trajectory, Waypoint

from .samples import sample, written


def test_the_sample(tmp_path: Path) -> None:
    """Nodes are numbered by their first lines, names may contain commas, and the first line gives the presence."""
    trace = read(sample(tmp_path, "sample.csv"))
    assert trace.names == ("red", "blue", "blue, the second")
    assert trace.trajectories == (
        Trajectory((Waypoint(0, 0, 50), Waypoint(60, 300, 50))),
        Trajectory((Waypoint(10, 20, 20, 3), Waypoint(45, 90, 20, 4), Waypoint(45, 10, 20, 4)), 10, 45),
        Trajectory((Waypoint(0, 0, 0),), -math.inf, 90),
    )


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    """The example of the module is read as described there."""
    assert csvfile.__doc__
    text = "\n".join(line.strip() for line in csvfile.__doc__.splitlines() if line.startswith("    "))
    trace = read(written(tmp_path / "a.csv", text))
    assert trace.names == ("red", "blue")
    assert (trace.trajectories[1].appears, trace.trajectories[1].leaves) == (10, 45)


def test_columns_in_any_order(tmp_path: Path) -> None:
    """With blanks, a byte order mark, the line ends of another system and empty lines."""
    text = b"\xef\xbb\xbf y , x,leaves,node,t\r\n\r\n \t\r\n1,2,,a,3\r\n\r\n"
    assert read(written(tmp_path / "a.csv", text)) == Trace(("a",), (Trajectory((Waypoint(3, 2, 1),)),))


def test_nothing_is_lost(tmp_path: Path) -> None:
    """Numbers come back to the last bit, names with their commas and quotes."""
    trace = Trace(
        ('a "quoted", name', "b"),
        (
            Trajectory((Waypoint(0.1 + 0.2, 1 / 3, -1e-9, 1e9), Waypoint(1e9, 5e-324, 0)), appears=-1 / 3),
            Trajectory((Waypoint(0, 0, 0), Waypoint(0, 1, 0), Waypoint(0, 0, 0))),
        ),
    )
    write(tmp_path / "a.csv.gz", trace)
    assert read(tmp_path / "a.csv.gz") == trace


def test_columns_that_are_not_needed_are_left_out(tmp_path: Path) -> None:
    """A flat trace of nodes that are always present has only the required columns, and zero has no sign."""
    write(tmp_path / "a.csv", Trace(("a",), (Trajectory((Waypoint(0.0, -0.0, 2.5),)),)))
    assert (tmp_path / "a.csv").read_text() == "node,t,x,y\na,0.0,0.0,2.5\n"
