"""SUMO's floating car data: nodes that appear, leave and return."""

from __future__ import annotations

import math
from pathlib import Path

from testbed.mobility.traces import read
from testbed.mobility.trajectory import Waypoint

from .samples import sample, written


def test_the_sample(tmp_path: Path) -> None:
    """Vehicles and persons with the same id are two nodes, in the order of their first appearance."""
    trace = read(sample(tmp_path, "sample.xml"))
    assert trace.names == ("east", "west", "person east")
    east, west, person = trace.trajectories
    assert (west.appears, west.leaves) == (1, 4)
    assert (person.appears, person.leaves) == (1, 3)
    assert person.waypoints == (Waypoint(1, 50, 2), Waypoint(2, 51, 2))
    assert west.waypoints[2] == Waypoint(3, 70, 8)
    # A node that is missing for a while stands where it was and jumps to where it appears again.
    assert (east.appears, east.leaves) == (-math.inf, math.inf)
    assert east.waypoints == (
        Waypoint(0, 0, 5),
        Waypoint(1, 10, 5),
        Waypoint(4, 10, 5),
        Waypoint(4, 60, 5),
        Waypoint(5, 70, 5),
    )


def test_steps_without_nodes_are_steps(tmp_path: Path) -> None:
    """A node that is not in the first or the last step has appeared or left, also if these steps are empty."""
    vehicle = '<vehicle id="a" x="1" y="2"/>'
    steps = ["", vehicle, ""]
    text = "".join(f'<timestep time="{t}">{step}</timestep>' for t, step in enumerate(steps))
    (path,) = read(written(tmp_path / "a.xml", f"<fcd-export>{text}</fcd-export>")).trajectories
    assert (path.appears, path.leaves) == (1, 2)


def test_heights(tmp_path: Path) -> None:
    """An elevation that is not given is zero."""
    steps = """<timestep time="0"><vehicle id="a" x="1" y="2" z="3.5"/><vehicle id="b" x="1" y="2"/></timestep>"""
    trace = read(written(tmp_path / "a.xml", f"<fcd-export>{steps}</fcd-export>"))
    assert [path.at(0).z for path in trace.trajectories] == [3.5, 0]


def test_other_elements_are_ignored(tmp_path: Path) -> None:
    """Vehicles count only where SUMO puts them."""
    text = """<fcd-export><vehicle/><timestep time="0"><container id="c"/><vehicle id="a" x="1" y="2">
    <vehicle/></vehicle></timestep></fcd-export>"""
    assert read(written(tmp_path / "a.fcd", text)).names == ("a",)
