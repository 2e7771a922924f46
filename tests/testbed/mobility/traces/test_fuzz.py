"""Damaged files: each is read, or refused with one line, in a short time."""

from __future__ import annotations

import gzip
import math
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.errors import InputError
from testbed.mobility.traces import read

from .samples import SAMPLES

WORDS = '- nan 1e999 1e308 1e-320 " < > & &#0; <!DOCTYPE <![CDATA[ --> # #3D , ; $ $node_( set </timestep> </trk> 0 T'
CONTROL = [b"", b"\0", b"\n", b"\r", b" ", b"9" * 400, b"# node 0 leaves x\n"]
NOT_ASCII = [b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b", b"\xd9\xa3"]  # the last is a digit, but not an ASCII one
PIECES = st.sampled_from([*WORDS.encode().split(), *CONTROL, *NOT_ASCII])


def damaged(data: st.DataObject, whole: bytes) -> bytes:
    """Some pieces cut out, put in, or doubled."""
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(whole)))
        end = min(len(whole), start + data.draw(st.sampled_from([0, 0, 1, 2, 5, 40, 400])))
        piece = data.draw(PIECES | st.binary(max_size=5) | st.just(whole[start:end] * 2))
        whole = whole[:start] + piece + whole[end:]
    return whole


def assert_read_or_refused(path: Path) -> None:
    """Either a trace whose numbers are all finite, or one line about the file."""
    try:
        trace = read(path)
    except InputError as error:
        text = str(error)
    else:
        for trajectory in trace.trajectories:
            assert trajectory.waypoints[0].t >= 0
            assert all(math.isfinite(value) for waypoint in trajectory.waypoints for value in waypoint)
        return
    assert text.isprintable()
    assert text.startswith(f"{path}:")
    assert len(text) < len(str(path)) + 300


@pytest.mark.parametrize("name", SAMPLES)
@given(st.data())
@settings(max_examples=80, deadline=timedelta(seconds=5))
def test_damaged_files(name: str, data: st.DataObject) -> None:
    """Every sample, damaged at random."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / name
        path.write_bytes(damaged(data, SAMPLES[name].encode()))
        assert_read_or_refused(path)


@given(st.data())
@settings(max_examples=80, deadline=timedelta(seconds=5))
def test_damaged_gzip(data: st.DataObject) -> None:
    """Damage to the compressed bytes."""
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"{name}.gz"
        path.write_bytes(damaged(data, gzip.compress(SAMPLES[name].encode(), mtime=0)))
        assert_read_or_refused(path)
