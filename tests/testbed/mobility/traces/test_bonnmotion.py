"""BonnMotion's files: two or three dimensions, and what decides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.errors import InputError
from testbed.mobility.traces import read
from testbed.mobility.trajectory import Waypoint

from .samples import sample, written

TWELVE = "0 1 2 3 4 5 6 7 8 9 10 11"  # four waypoints in two dimensions, three in three


def test_the_samples(tmp_path: Path) -> None:
    """Every line but a comment is a node."""
    flat = read(sample(tmp_path, "sample.movements"))
    assert flat.names == ("0", "1")
    assert flat.trajectories[0].waypoints[1] == Waypoint(5.5, 30, 20)
    assert [len(trajectory.waypoints) for trajectory in flat.trajectories] == [4, 1]
    high = read(sample(tmp_path, "sample_3d.movements"))
    assert high.trajectories[0].waypoints == (Waypoint(0, 10, 20, 1), Waypoint(5.5, 30, 20, 3))


@pytest.mark.parametrize(
    ("parameters", "header", "waypoints"),
    [
        (None, "", 4),
        (None, "#3D\n", 3),
        ("model=RandomWaypoint\nJ=3D\n", "", 3),
        ("model=RandomWaypoint\nJ=2D\ndim=3\n", "", 4),
        ("J=3D", "#2D\n", 4),
        ("model=RandomWaypoint\ndim=3\n", "", 4),
        ("z=9.0\n", "", 3),
        ("z=9.0\nJ=2D\n", "", 4),
        (None, "# not about #3D\n", 4),
    ],
)
def test_the_dimension(tmp_path: Path, parameters: str | None, header: str, waypoints: int) -> None:
    """The header decides, else the parameters beside the file; else it is flat."""
    if parameters is not None:
        written(tmp_path / "walk.params", parameters)
    for name in ("walk.movements", "walk.movements.gz"):
        trace = read(written(tmp_path / name, header + TWELVE))
        assert len(trace.trajectories[0].waypoints) == waypoints


def test_a_header_below_a_node_is_a_comment(tmp_path: Path) -> None:
    """The dimension does not change within a file."""
    assert len(read(written(tmp_path / "a.movements", f"{TWELVE}\n#3D\n{TWELVE}")).trajectories[1].waypoints) == 4


def test_a_model_with_a_status_is_refused(tmp_path: Path) -> None:
    """Its status would be read as a coordinate."""
    written(tmp_path / "a.params", "model=DisasterArea\n")
    with pytest.raises(InputError, match=r"a\.params:1: .*DisasterArea"):
        read(written(tmp_path / "a.movements", TWELVE))


def test_presence_is_a_comment(tmp_path: Path) -> None:
    """Before or after the line of the node; a comment that only looks similar is ignored."""
    text = "# node 1 appears 2.5\n0 1 1\n0 2 2\n# node 0 appears 1 leaves 3\n# node 1 left long ago\n"
    first, second = read(written(tmp_path / "a.movements", text)).trajectories
    assert (first.appears, first.leaves) == (1, 3)
    assert second.appears == 2.5
    assert second.is_there(1e12)
