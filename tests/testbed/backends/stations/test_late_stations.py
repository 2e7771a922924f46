"""A run whose stations were late is known to be so: one is stopped on purpose, for longer than the bound."""

import os
import signal
import time
from pathlib import Path

import pytest

from analysis.check import INCONCLUSIVE
from analysis.load import load_run
from tests.testbed.backends.stations.stage import LINE, events, has_begun, processes, run_directory, start, wait_for

pytestmark = pytest.mark.xdist_group("stations")  # real time needs room: one run after the other

STOPPED_S = 1.0
BOUND_MS = 6.25
"""Half of a quarter of the hello interval, which is 50 ms."""


@pytest.mark.parametrize("node", [1, 2])
def test_a_station_that_is_stopped_is_late(node: int, tmp_path: Path):
    """It is named, with how late it was; the run is inconclusive."""
    process = start(tmp_path, {**LINE, "duration": 60.0})
    wait_for(lambda: has_begun(tmp_path))
    station = processes(tmp_path)[f"station-{node}"]
    os.kill(station, signal.SIGSTOP)
    time.sleep(STOPPED_S)
    os.kill(station, signal.SIGCONT)
    process.communicate(timeout=90)
    run = run_directory(tmp_path)
    (found,) = events(run, "lateness")
    assert found["bound_ms"] == pytest.approx(BOUND_MS)
    assert found["station_ms"]["station"] == node
    assert found["station_ms"]["p99"] > BOUND_MS
    assert found["station_ms"]["max"] >= STOPPED_S * 1e3 * 0.9, "a datagram has lain there for most of the time"
    assert process.returncode == 4
    verdict = load_run(run).verdicts()["timing"]
    assert verdict["verdict"] == INCONCLUSIVE
    assert f"station {node}" in verdict["detail"] or "the medium" in verdict["detail"]
