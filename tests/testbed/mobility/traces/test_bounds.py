"""No file takes more time or memory to read than the limits allow."""

from __future__ import annotations

import gzip
import re
import tracemalloc
from pathlib import Path

import pytest

from testbed.errors import InputError
from testbed.mobility.traces import bonnmotion, limits, read, xmlfile

from .samples import SAMPLES, sample, written

ENDLESS = {  # the start of a decompression bomb of each format, and what it repeats
    "a.ns2": ("", "# nothing at all\n"),
    "a.movements": ("", "# nothing at all\n"),
    "a.csv": ("node,t,x,y\n", "\n"),
    "a.xml": ("<fcd-export>", "                "),
    "a.gpx": ("<gpx>", "<!-- nothing -->"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_bomb_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Five megabytes in less than fifty kilobytes: reading ends at the limit and takes little memory."""
    monkeypatch.setattr(limits, "MAX_BYTES", 200_000)
    begin, endless = ENDLESS[name]
    path = written(tmp_path / f"{name}.gz", gzip.compress((begin + endless * (5_000_000 // len(endless))).encode(), 1))
    assert path.stat().st_size < 50_000
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="more than 200000 bytes once decompressed"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ns2", "# " + "x" * 2000),
        ("a.csv", "node,t,x,y\n" + "x" * 2000 + ",0,0,0"),
        ("a.movements", "0 0 0 " * 400),
        ("a.xml", f'<fcd-export><timestep time="{"1" * 500_000}"/></fcd-export>'),
        ("a.gpx", f"<gpx><!-- {'x' * 500_000} --></gpx>"),
    ],
)
def test_long_lines_and_tags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    """They are refused before they are read completely."""
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(bonnmotion, "MAX_LINE_BYTES", 1000)
    with pytest.raises(InputError, match=r"of more than 1000 bytes"):
        read(written(tmp_path / name, text))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("limit", ["MAX_NODES", "MAX_WAYPOINTS", "MAX_LINES", "MAX_BYTES"])
def test_every_limit_holds_in_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: str
) -> None:
    """A sample with one node, waypoint, line or byte too many is refused; with none too many it is read."""
    path = sample(tmp_path, name)
    trace = read(path)
    counts = {
        "MAX_BYTES": path.stat().st_size,
        "MAX_NODES": len(trace.names),
        "MAX_WAYPOINTS": sum(len(trajectory.waypoints) for trajectory in trace.trajectories),
        "MAX_LINES": len(re.findall(r"<\w", SAMPLES[name])) or SAMPLES[name].count("\n"),
    }
    monkeypatch.setattr(limits, limit, counts[limit])
    assert read(path) == trace
    monkeypatch.setattr(limits, limit, counts[limit] - 1)
    with pytest.raises(InputError, match=f"more than {counts[limit] - 1} "):
        read(path)


def test_deep_xml(tmp_path: Path) -> None:
    """Expat would keep every open element."""
    with pytest.raises(InputError, match="more than 50 elements inside each other"):
        read(written(tmp_path / "a.gpx", "<gpx>" + "<a>" * 2000))


def test_xml_of_ever_new_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expat would keep every different word."""
    monkeypatch.setattr(xmlfile, "MAX_WORDS", 100)
    for text in ("".join(f"<a{i}/>" for i in range(100)), "".join(f'<a b{i}=""/>' for i in range(100))):
        with pytest.raises(InputError, match="more than 100 different tags and attributes"):
            read(written(tmp_path / "a.gpx", f"<gpx>{text}</gpx>"))


def test_long_texts_are_cut(tmp_path: Path) -> None:
    """Of a name of a megabyte, a thousand characters are kept."""
    text = SAMPLES["sample.gpx"].replace("the first", "the first " * 100_000)
    assert len(read(written(tmp_path / "a.gpx", text)).names[0]) <= 1000
