"""The benchmark of crossings runs, and compares only programs that agree. The measured times are not tested."""

import itertools
import json
import math
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.crossings import (
    RANGE_M,
    SPEEDS_M_PER_S,
    WrongCrossings,
    brute_force,
    check_agreement,
    random_waypoint,
    table,
)
from testbed.mobility.crossings import Crossing
from testbed.mobility.trajectory import Trajectory, Waypoint

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("crossings benchmark")  # they share one run
MEASURED = ("link_events", "seconds", "us_per_link_event", "peak_memory_mb", "brute_force_us_per_link_event")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """The rows that a quick run prints; it would fail if brute force found other crossings."""
    command = [sys.executable, "-m", "benchmarks.crossings", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert "60 nodes" in done.stderr
    return list(json.loads(done.stdout)["crossings"])  # nothing but the document on stdout


def test_the_table_is_complete(rows: list[dict[str, Any]]) -> None:
    """A row for each size, at about the same density."""
    assert [row["n"] for row in rows] == [30, 60]
    assert rows[1]["side_m"] ** 2 == pytest.approx(2 * rows[0]["side_m"] ** 2)
    for row in rows:
        assert all(row[name] > 0 for name in MEASURED), row
        assert 5 < row["mean_degree"] < 14
        assert row["us_per_link_event"] == pytest.approx(1e6 * row["seconds"] / row["link_events"])
        assert row["ratio_brute_force"] == pytest.approx(
            row["brute_force_us_per_link_event"] / row["us_per_link_event"]
        )


def test_the_table_as_text(rows: list[dict[str, Any]]) -> None:
    """Markdown, with a dash for a value that was not measured."""
    lines = table([rows[0], {**rows[1], "ratio_brute_force": None}]).splitlines()
    assert lines[0].startswith("|  n | side, m |")
    assert len({len(line) for line in lines}) == 1
    assert lines[3].endswith(" - |")


def test_random_waypoint_stays_inside_and_within_its_speeds() -> None:
    """For the whole duration, and at different speeds."""
    waypoints = random_waypoint(Random(1), side_m=500.0, duration_s=2_000.0).waypoints
    assert waypoints[0].t == 0.0
    assert waypoints[-2].t < 2_000.0 <= waypoints[-1].t
    assert all(0.0 <= place <= 500.0 for waypoint in waypoints for place in waypoint[1:])
    speeds = [math.dist(a[1:], b[1:]) / (b.t - a.t) for a, b in itertools.pairwise(waypoints)]
    assert SPEEDS_M_PER_S[0] <= min(speeds) < max(speeds) <= SPEEDS_M_PER_S[1]


def test_brute_force_by_hand() -> None:
    """One node stands, and another passes at 10 m/s, on two legs of one straight line."""
    standing = Trajectory((Waypoint(0.0, 0.0, 0.0), Waypoint(99.0, 0.0, 0.0)))
    passing = Trajectory(tuple(Waypoint(t, 10.0 * t - 3 * RANGE_M, 0.0) for t in (0.0, 25.0, 60.0)))
    up, down = Crossing(20.0, 0, 1, True), Crossing(40.0, 0, 1, False)
    assert brute_force([standing, passing], 99.0) == [up, down]
    assert brute_force([standing, passing], 39.0) == [up]


@pytest.mark.parametrize(
    "spoilt",
    [
        [Crossing(1.0, 0, 1, True)],
        [Crossing(1.0, 0, 1, True), Crossing(2.0, 0, 1, True)],
        [Crossing(1.0, 0, 1, True), Crossing(2.1, 0, 1, False)],
        [Crossing(1.0, 0, 1, True), Crossing(2.0, 0, 2, False)],
    ],
    ids=["missing", "other way", "other time", "other pair"],
)
def test_programs_that_differ_are_not_compared(spoilt: list[Crossing]) -> None:
    """A crossing that is missing or different, on either side."""
    right = [Crossing(1.0, 0, 1, True), Crossing(2.0, 0, 1, False)]
    check_agreement(right, [Crossing(t + 1e-9, a, b, up) for t, a, b, up in right])
    with pytest.raises(WrongCrossings):
        check_agreement(right, spoilt)
    with pytest.raises(WrongCrossings):
        check_agreement(spoilt, right)
