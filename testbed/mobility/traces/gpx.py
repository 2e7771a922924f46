"""GPX, the tracks of satellite receivers: each track is a node, and latitude and longitude become metres.

The projection is the local equirectangular one: with the radius R of the mean Earth and the latitude m halfway between
the southernmost and the northernmost point of the file,

    x = R cos(m) (longitude - westernmost)    y = R (latitude - southernmost)    z = elevation - lowest

so that all coordinates begin at zero, as those of an area do. Over ten kilometres, at the latitudes where most people
live, its error is less than that of the receiver. Elevations are used if every point has one; else z is 0.

Times are seconds since the earliest time of the file, and every point must have one. A node goes straight from point to
point, also from the last point of a segment to the first of the next, and is always present. Tracks without a point,
routes and single points are ignored.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from testbed.errors import one_line
from testbed.mobility.traces import limits
from testbed.mobility.traces.builder import Builder
from testbed.mobility.traces.source import Source, fault
from testbed.mobility.traces.trace import Trace
from testbed.mobility.traces.xmlfile import Element, elements
from testbed.mobility.trajectory import Waypoint

EARTH_RADIUS_M = 6_371_008.8  # the mean radius of the IUGG
_TRACK = ("gpx", "trk")
_POINT = (*_TRACK, "trkseg", "trkpt")


class _Point(NamedTuple):
    """A point of a track, and the line it is on. Longitudes are degrees east of the first point of the file."""

    line: int | None
    time: datetime
    latitude: float
    longitude: float
    elevation: float | None


def read(source: Source) -> Trace:
    """Read a trace."""
    reader = _Reader(source)
    for element in elements(source, _TRACK[0]):
        reader.take(element)
    if not reader.tracks:
        raise fault(source.path, "no track with a point")
    return _projected(reader.tracks, source)


class _Reader:
    """Collects tracks from the elements of a file: a name and points each."""

    def __init__(self, source: Source) -> None:
        self.tracks: dict[str, list[_Point]] = {}
        self._source = source
        self._first_longitude: float | None = None
        self._name = ""
        self._points: list[_Point] = []
        self._place = (0.0, 0.0)
        self._texts = {"time": "", "ele": ""}

    def take(self, element: Element) -> None:
        """Process the next element."""
        *parents, tag = element.path
        if element.path == _POINT and not element.ends:
            self._begin_point(element.attributes)
        elif not element.ends:
            return
        elif element.path == _POINT:
            self._end_point()
        elif element.path == _TRACK:
            self._end_track()
        elif element.path == (*_TRACK, "name"):
            self._name = one_line(" ".join(element.text.split()))
        elif parents == [*_POINT] and tag in self._texts:
            self._texts[tag] = element.text.strip()

    def _end_track(self) -> None:
        name, points = self._name, self._points
        self._name, self._points = "", []
        if not points:
            return
        number = f"track {len(self.tracks) + 1}"
        if not name or name in self.tracks:
            name = f"{name} ({number})" if name else number
        if name in self.tracks:
            raise self._source.error(f"another track called {name[:40]!r}", "names that differ")
        self.tracks[name] = points

    def _begin_point(self, attributes: dict[str, str]) -> None:
        self._texts = dict.fromkeys(self._texts, "")
        latitude = self._source.number(attributes.get("lat", ""), "the latitude", -90, 90)
        longitude = self._source.number(attributes.get("lon", ""), "the longitude", -180, 180)
        if self._first_longitude is None:
            self._first_longitude = longitude
        east = (
            longitude - self._first_longitude + 180
        ) % 360 - 180  # the shorter way around, also across the date line
        self._place = (latitude, east)

    def _end_point(self) -> None:
        time = self._time(self._texts["time"])
        if self._points and time < self._points[-1].time:
            raise self._source.error(f"{time}, after {self._points[-1].time}", "times that do not go backwards")
        text = self._texts["ele"]
        elevation = self._source.number(text, "the elevation", -1e6, 1e6) if text else None
        self._points.append(_Point(self._source.line, time, *self._place, elevation))

    def _time(self, text: str) -> datetime:
        """A time; without a zone it is in UTC, as GPX requires."""
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            found = f"the time {text[:40]!r}" if text else "a point without a time"
            raise self._source.error(found, "a time such as 2009-10-17T18:37:26Z") from None
        return time if time.tzinfo else time.replace(tzinfo=UTC)


def _projected(tracks: dict[str, list[_Point]], source: Source) -> Trace:
    points = [point for track in tracks.values() for point in track]
    start = min(point.time for point in points)
    south, north = min(point.latitude for point in points), max(point.latitude for point in points)
    west = min(point.longitude for point in points)
    heights = [point.elevation for point in points if point.elevation is not None]
    lowest = min(heights) if len(heights) == len(points) else None
    metres_north = math.radians(EARTH_RADIUS_M)  # for each degree
    metres_east = metres_north * math.cos(math.radians((south + north) / 2))
    builder = Builder(source)
    for name, track in tracks.items():
        for line, time, latitude, longitude, elevation in track:
            source.line = line
            t = (time - start) / timedelta(seconds=1)
            if t > limits.MAX_SECONDS:
                raise source.error(f"a time {t:g} s after the earliest", f"at most {limits.MAX_SECONDS:g} s")
            x, y = metres_east * (longitude - west), metres_north * (latitude - south)
            z = 0.0 if elevation is None or lowest is None else elevation - lowest
            builder.add(name, Waypoint(t, x, y, z))
    return builder.trace()
