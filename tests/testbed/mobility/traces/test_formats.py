"""The format of a file, and files that are compressed, missing or not writable."""

from __future__ import annotations

import gzip
import math
import os
from pathlib import Path

import pytest

from testbed.errors import InputError
from testbed.mobility.traces import Trace, convert, limits, read, write
from testbed.mobility.traces.formats import FORMATS, detect
from testbed.mobility.trajectory import Trajectory, Waypoint

from .samples import BONNMOTION, SAMPLES, sample, written

STANDING = Trajectory((Waypoint(0, 0, 0),))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.ns2", "ns2"),
        ("rwp.ns_movements", "ns2"),
        ("scen.tcl.gz", "ns2"),
        ("rwp.movements.gz", "bonnmotion"),
        ("RWP.MOVEMENTS.GZ", "bonnmotion"),
        ("run.fcd.xml", "fcd"),
        ("a.csv", "csv"),
        ("a.b.gpx.gz", "gpx"),
    ],
)
def test_the_ending_gives_the_format(name: str, expected: str) -> None:
    """With or without .gz, in upper or lower case."""
    assert detect(Path(name)).name == expected


@pytest.mark.parametrize("name", ["a", "a.gz", ".gz", "", "/", "csv", "a.txt", ".csv"])
def test_names_without_a_known_ending(name: str) -> None:
    """The error lists the endings; if the format is given, any file name is allowed."""
    with pytest.raises(InputError, match=r"\.ns2, .*\.movements, .*\.csv, "):
        detect(Path(name))
    assert detect(Path(name), "csv").name == "csv"


def test_an_unknown_format(tmp_path: Path) -> None:
    """The error lists the known formats."""
    with pytest.raises(InputError, match="'kml' is not a format of traces; allowed: ns2, bonnmotion, fcd, csv, gpx"):
        read(tmp_path / "a.csv", "kml")


def test_a_format_by_its_name(tmp_path: Path) -> None:
    """The movement files of setdest have no ending."""
    path = tmp_path / "scen-50x50"
    write(path, Trace(("a",), (STANDING,)), "ns2")
    assert path.read_text().startswith("$node_(0) set X_")
    assert read(path, "ns2").names == ("0",)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_is_read_compressed(tmp_path: Path, name: str) -> None:
    """With or without .gz in the name."""
    plain = read(sample(tmp_path, name))
    for ending in ("", ".gz"):
        path = written(tmp_path / f"zip_{name}{ending}", gzip.compress(SAMPLES[name].encode()))
        assert read(path) == plain


def test_every_format_has_a_sample() -> None:
    """So tests of all samples are tests of all formats."""
    assert {detect(Path(name)).name for name in SAMPLES} == {known.name for known in FORMATS}


def test_compressed_files_have_no_time_and_no_name(tmp_path: Path) -> None:
    """The same trace gives the same bytes."""
    trace = read(written(tmp_path / "a.movements", BONNMOTION))
    write(tmp_path / "b.movements.gz", trace)
    write(tmp_path / "c.movements.gz", trace)
    first = (tmp_path / "b.movements.gz").read_bytes()
    assert first == (tmp_path / "c.movements.gz").read_bytes()
    assert first[3:8] == bytes(5)  # no flags, no time
    assert gzip.decompress(first).startswith(b"#2D\n0.0 10.0 20.0 5.5 ")


@pytest.mark.parametrize("name", ["out.xml", "out.gpx"])
def test_formats_that_are_only_read(tmp_path: Path, name: str) -> None:
    """The error names the formats that can be written."""
    with pytest.raises(InputError, match=r"only read; allowed: ns2, bonnmotion, csv"):
        convert(sample(tmp_path, "sample.csv"), tmp_path / name)


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    """Missing, a directory, a pipe that would never end, impossible to open: one line each."""
    (tmp_path / "dir.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    for name, why in {
        "missing.csv": "no such file",
        "dir.csv": "a directory, not a trace",
        "pipe.csv": "neither a file nor a link to one",
        "loop.csv": "cannot be read: Too many levels of symbolic links",
        "zero\0.csv": "no such file",
        f"{'long' * 99}.movements": "cannot be read: File name too long",
        "dir.csv/missing/a.csv": "no such file",
    }.items():
        with pytest.raises(InputError, match=why) as caught:
            read(tmp_path / name)
        assert str(caught.value).isprintable()


def test_a_target_that_cannot_be_written(tmp_path: Path) -> None:
    """One line, and no partial file is left."""
    (tmp_path / "dir.csv").mkdir()
    for name in ("missing/a.csv", "dir.csv", f"{'long' * 99}.csv"):
        with pytest.raises(InputError, match="cannot be written: "):
            write(tmp_path / name, Trace(("a",), (STANDING,)))
    assert [path.name for path in tmp_path.iterdir()] == ["dir.csv"]


@pytest.mark.parametrize(
    ("names", "trajectory"),
    [
        ((), None),
        (("",), STANDING),
        ((" a",), STANDING),
        (("a\nb",), STANDING),
        (("a",), Trajectory((Waypoint(-1, 0, 0),))),
        (("a",), Trajectory((Waypoint(0, math.nan, 0),))),
        (("a",), Trajectory((Waypoint(0, 0, 0), Waypoint(math.inf, 0, 0)))),
        (("a",), Trajectory((Waypoint(0, 0, 0, 2e9),))),
        (("a",), Trajectory(STANDING.waypoints, appears=5, leaves=4)),
        (("a",), Trajectory(STANDING.waypoints, appears=math.nan)),
        (("a",), Trajectory(STANDING.waypoints, appears=math.inf)),
        (("a",), Trajectory(STANDING.waypoints, leaves=1e10)),
    ],
)
@pytest.mark.parametrize("ending", ["ns2", "movements", "csv"])
def test_a_trace_that_could_not_be_read_is_not_written(
    tmp_path: Path, names: tuple[str, ...], trajectory: Trajectory | None, ending: str
) -> None:
    """A trace need not come from a file."""
    trajectories = (trajectory,) if trajectory else ()
    with pytest.raises(InputError, match=f"out.{ending}: found "):
        write(tmp_path / f"out.{ending}", Trace(names, trajectories))


def test_no_more_is_written_than_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither nodes nor waypoints."""
    monkeypatch.setattr(limits, "MAX_NODES", 2)
    monkeypatch.setattr(limits, "MAX_WAYPOINTS", 3)
    write(tmp_path / "a.csv", Trace(("a", "b"), (STANDING, STANDING)))
    with pytest.raises(InputError, match="found 3 nodes; allowed: from 1 to 2"):
        write(tmp_path / "a.csv", Trace(("a", "b", "c"), (STANDING, STANDING, STANDING)))
    with pytest.raises(InputError, match="more than 3 waypoints"):
        write(tmp_path / "a.csv", Trace(("a",), (Trajectory(STANDING.waypoints * 4),)))
