"""GPX: degrees become metres, and dates become seconds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from testbed.mobility.traces import read
from testbed.mobility.trajectory import Trajectory

from .samples import sample, written

DEGREE_M = 111_195.08  # of latitude, on a sphere of the Earth's mean radius


def tracks(directory: Path, *points: str) -> tuple[Trajectory, ...]:
    """The paths of tracks of one point each, given as `lat lon ele`."""
    text = ""
    for point in points:
        latitude, longitude, *elevation = point.split()
        height = f"<ele>{elevation[0]}</ele>" if elevation else ""
        time = "<time>2020-01-01T00:00:00Z</time>"
        text += f'<trk><trkseg><trkpt lat="{latitude}" lon="{longitude}">{height}{time}</trkpt></trkseg></trk>'
    return read(written(directory / "a.gpx", f"<gpx>{text}</gpx>")).trajectories


def test_the_sample(tmp_path: Path) -> None:
    """Two tracks, times from the earliest of both, places from the south-west corner, heights from the lowest."""
    trace = read(sample(tmp_path, "sample.gpx"))
    assert trace.names == ("Ada the first", "track 2")
    ada, second = trace.trajectories
    assert [waypoint.t for waypoint in ada.waypoints] == [60.0, 120.5, 240.0]
    east = DEGREE_M * math.cos(math.radians(47))
    assert ada.waypoints[0][1:] == pytest.approx((east * 0.001, DEGREE_M * 0.001, 10.5), abs=0.01)
    assert ada.waypoints[2][1:] == pytest.approx((east * 0.003, DEGREE_M * 0.002, 15), abs=0.01)
    assert second.waypoints == ((0.0, 0.0, 0.0, 0.0),)


def test_the_date_line(tmp_path: Path) -> None:
    """Places on either side of it are near each other."""
    a, b, c = tracks(tmp_path, "0 179.999", "0 -179.999", "0 180")
    assert b.at(0).x - a.at(0).x == pytest.approx(DEGREE_M * 0.002, abs=0.01)
    assert c.at(0).x - a.at(0).x == pytest.approx(DEGREE_M * 0.001, abs=0.01)


def test_heights_are_all_or_nothing(tmp_path: Path) -> None:
    """A point without an elevation is not at sea level."""
    assert [path.at(0).z for path in tracks(tmp_path, "0 0 400", "0 0 500")] == [0, 100]
    assert [path.at(0).z for path in tracks(tmp_path, "0 0 400", "0 0")] == [0, 0]


def test_distances_are_those_on_the_ground(tmp_path: Path) -> None:
    """A kilometre north-east of the Eiffel tower, by the haversine formula."""
    a, b = tracks(tmp_path, "48.8584 2.2945", "48.8648 2.3042")
    latitudes = math.radians(48.8584), math.radians(48.8648)
    half = math.radians(0.0064) / 2, math.radians(0.0097) / 2
    chord = math.sin(half[0]) ** 2 + math.cos(latitudes[0]) * math.cos(latitudes[1]) * math.sin(half[1]) ** 2
    haversine = 2 * 6_371_008.8 * math.asin(math.sqrt(chord))
    assert math.dist(a.at(0), b.at(0)) == pytest.approx(haversine, abs=0.01)


def test_tracks_of_one_name(tmp_path: Path) -> None:
    """The second has its number in its name; a track without points is ignored, and so are prefixes of tags."""
    point = '<trkseg><trkpt lat="0" lon="0"><time>2020-01-01</time></trkpt></trkseg>'
    text = f"<gpx><trk><name>log</name>{point}</trk><trk/><trk><name> log </name>{point}</trk></gpx>"
    assert read(written(tmp_path / "a.gpx", text)).names == ("log", "log (track 2)")
    prefixed = text.replace("<", "<g:").replace("<g:/", "</g:")
    assert read(written(tmp_path / "a.gpx", prefixed)).names == ("log", "log (track 2)")


def test_times_without_a_zone(tmp_path: Path) -> None:
    """They are in UTC, also together with other zones."""
    point = '<trkpt lat="0" lon="0"><time>2020-01-01T{}</time></trkpt>'
    text = f"<gpx><trk><trkseg>{point.format('10:00:00')}{point.format('11:30:00+01:00')}</trkseg></trk></gpx>"
    assert [waypoint.t for waypoint in read(written(tmp_path / "a.gpx", text)).trajectories[0].waypoints] == [0, 1800]


def test_times_at_the_ends_of_the_calendar(tmp_path: Path) -> None:
    """A zone that leads out of the calendar is no error."""
    point = '<trkpt lat="0" lon="0"><time>0001-01-01T00:00:00+{}:00</time></trkpt>'
    text = f"<gpx><trk><trkseg>{point.format('23')}{point.format('22')}</trkseg></trk></gpx>"
    assert [waypoint.t for waypoint in read(written(tmp_path / "a.gpx", text)).trajectories[0].waypoints] == [0, 3600]
