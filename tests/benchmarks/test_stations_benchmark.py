"""The benchmark of stations runs and prints what it measured. The measured times are not tested."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("stations")


def test_it_runs_and_measures_everything():
    """Messages per second compared with bare datagrams, and the costs of many stations."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.stations", "--quick", "--json"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ratio_echo"] == pytest.approx(found["messages_per_s"] / found["datagrams_per_s"])
    assert 0 < found["ratio_echo"] < 1, "a station does more than an echo"
    assert found["many"]["stations"] == 10
    assert found["many"]["start_s"] > 0
    assert 1 < found["many"]["memory_each_mb"] < 100
