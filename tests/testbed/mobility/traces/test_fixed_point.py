"""Conversion keeps every node within a millimetre, and a second conversion changes nothing."""

from __future__ import annotations

import math
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from testbed.errors import InputError
from testbed.mobility.traces import Trace, convert, read, write
from testbed.mobility.trajectory import Trajectory, Waypoint

from .samples import SAMPLES, WRITABLE, sample

ENDINGS = (*WRITABLE, "movements.gz")
CLIMBING = ("sample_3d.movements", "sample.csv", "sample.gpx")


def moments(trajectory: Trajectory) -> list[float]:
    """The times of waypoints, those just before and after, and some between."""
    times = sorted({waypoint.t for waypoint in trajectory.waypoints})
    between = [a + share * (b - a) for a, b in pairwise(times) for share in (0.001, 0.25, 0.5, 0.9)]
    around = [math.nextafter(t, to) for t in times for to in (-math.inf, math.inf)]
    return [0.0, *times, *between, *around, times[-1] + 1]


def assert_same(before: Trajectory, after: Trajectory) -> None:
    """The node is never a millimetre away, and it appears and leaves at the same times."""
    for t in moments(before) + moments(after):
        assert math.dist(before.at(t), after.at(t)) < 1e-3, f"at {t} s"
    assert (before.appears, before.leaves) == (after.appears, after.leaves)


def assert_fixed(first: Path, ending: str) -> None:
    """Convert a file twice: the same movements, then the same bytes."""
    directory = first.parent
    second, third = directory / f"second.{ending}", directory / f"third.{ending}"
    convert(first, second)
    before, after = read(first), read(second)
    assert len(before.names) == len(after.names)
    for a, b in zip(before.trajectories, after.trajectories, strict=True):
        assert_same(a, b)
    convert(second, third)
    assert second.read_bytes() == third.read_bytes()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", SAMPLES)
def test_samples(tmp_path: Path, name: str, ending: str) -> None:
    """Every sample into every format; only ns-2 cannot express a climb, which is an error."""
    if ending == "ns2" and name in CLIMBING:
        with pytest.raises(InputError, match=r"second\.ns2: found node \d climbs between"):
            assert_fixed(sample(tmp_path, name), ending)
    else:
        assert_fixed(sample(tmp_path, name), ending)


def test_degrees(tmp_path: Path) -> None:
    """Projected coordinates have all digits of a float; without heights, ns-2 can express them."""
    path = sample(tmp_path, "sample.gpx")
    path.write_text(path.read_text().replace("<ele>390</ele>", ""))
    assert_fixed(path, "ns2")


@st.composite
def trajectories(draw: st.DrawFn, climbs: bool) -> Trajectory:
    """Paths with pauses, jumps, and movements from a nanometre to a million kilometres, in picoseconds or in years."""
    coordinate = st.floats(-1e9, 1e9) | st.floats(-100, 100) | st.sampled_from([0.0, -0.0, 1e-7, -1e-300, 1 / 3])
    step = st.floats(-1e-5, 1e-5) | st.floats(-100, 100)
    lasting = st.floats(1e-12, 1e-6) | st.floats(0.01, 100) | st.floats(0.01, 5e7) | st.sampled_from([0.0, 1e-200])
    t = draw(st.just(0.0) | st.floats(0, 1e6))
    x, y, z = draw(coordinate), draw(coordinate), draw(coordinate)
    waypoints = [Waypoint(t, x, y, z)]
    for kind in draw(st.lists(st.sampled_from(["pause", "jump", "step", "leap", "ulp"]), max_size=12)):
        if kind == "ulp":
            t = math.nextafter(t, math.inf) if t > 1e-9 else 1e-9
        elif kind != "jump":
            t += draw(lasting)
        if kind in ("step", "ulp"):
            x, y = min(1e9, x + draw(step)), min(1e9, y + draw(step))
            x, y = max(-1e9, x), max(-1e9, y)
        elif kind in ("jump", "leap"):
            x, y = draw(coordinate), draw(coordinate)
        if kind == "jump" or (climbs and kind != "pause"):
            z = draw(coordinate)
        waypoints.append(Waypoint(t, x, y, z))
    appears = draw(st.just(-math.inf) | st.floats(-10, 10))
    leaves = draw(st.just(math.inf) | st.floats(10, 1e6))
    return Trajectory(tuple(waypoints), appears, leaves)


def assert_fixed_in_memory(paths: list[Trajectory], ending: str) -> Trace:
    """Write, read and compare; then write once more. Returns the trace that was read."""
    names = tuple(str(i) for i in range(len(paths)))
    with tempfile.TemporaryDirectory() as directory:
        first = Path(directory) / f"first.{ending}"
        write(first, Trace(names, tuple(paths)))
        back = read(first)
        assert back.names == names
        for a, b in zip(paths, back.trajectories, strict=True):
            assert_same(a, b)
        second = first.with_name(f"second.{ending}")
        convert(first, second)
        assert first.read_bytes() == second.read_bytes()
        return back


@pytest.mark.parametrize("ending", ["csv", "movements"])
@given(st.lists(trajectories(climbs=True), min_size=1, max_size=3))
@settings(max_examples=50, deadline=None)
def test_any_trajectories(ending: str, paths: list[Trajectory]) -> None:
    """In the formats that express movements completely, conversion is exact."""
    assert assert_fixed_in_memory(paths, ending).trajectories == tuple(paths)


@given(st.lists(trajectories(climbs=False), min_size=1, max_size=3))
@example([Trajectory((Waypoint(3, 0, 0), Waypoint(3, 1, 0), Waypoint(3, 2, 0), Waypoint(3, 0, 0), Waypoint(4, 0, 0)))])
@example([Trajectory((Waypoint(5, 1, 1), Waypoint(5, 2, 1), Waypoint(5, 2, 1), Waypoint(9, 2, 1), Waypoint(9, 2, 1)))])
@example([Trajectory((Waypoint(0, 0, 0), Waypoint(9e8, 1e-6, 0), Waypoint(9e8 + 1e-6, 1e9, 0)))])
@settings(max_examples=150, deadline=None)
def test_trajectories_that_do_not_climb(paths: list[Trajectory]) -> None:
    """ns-2 has speeds instead of times, and no heights. Still each arrival is exact: its time, and its micrometres."""
    for before, after in zip(paths, assert_fixed_in_memory(paths, "ns2").trajectories, strict=True):
        if len(after.waypoints) > 1:
            assert {waypoint.t for waypoint in before.waypoints} >= {waypoint.t for waypoint in after.waypoints}
        assert all(value == round(value, 6) for waypoint in after.waypoints for value in waypoint[1:])


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_foreign_movements(data: st.DataObject) -> None:
    """Statements as other tools write them: few digits, interrupted, at one time, jumps during a movement."""
    number = st.floats(-500, 500).map(lambda value: f"{value:.2f}")
    speed = st.sampled_from(["0", "0.01", "1.5", "33.33", "1e5"])
    text = "$node_(3) set X_ 1.5\n$node_(3) set Y_ 2\n"
    t = 0.0
    for gap in data.draw(st.lists(st.sampled_from([0, 0.01, 1, 7.3, 500]), max_size=12)):
        t += gap
        setdest = st.builds("setdest {} {} {}".format, number, number, speed)
        command = data.draw(setdest | st.builds("set {} {}".format, st.sampled_from(["X_", "Y_", "Z_"]), number))
        text += f'$ns_ at {t:.2f} "$node_(3) {command}"\n'
    with tempfile.TemporaryDirectory() as directory:
        first = Path(directory) / "first.ns2"
        first.write_text(text)
        for ending in WRITABLE:
            assert_fixed(first, ending)
