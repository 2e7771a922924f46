"""The benchmark of the link layer runs and prints what it measured. The measured times are not tested."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.link_layer import ALGORITHMS, LINKS


def test_it_runs_and_measures_everything():
    """A row for every algorithm and kind of links; only radio links have frames, and every frame has a kind."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.link_layer", "--quick", "--json"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(row["algorithm"], row["links"]) for row in rows] == [(one, kind) for one in ALGORITHMS for kind in LINKS]
    for row in rows:
        assert row["waiting_time"]["mean"] > 0
        assert row["messages_per_cs"]["mean"] > 1
        if row["links"] == "ideal":
            assert (row["frames_per_cs"]["mean"], row["frames_per_cs_by_kind"], row["cpu_ratio"]) == (None, {}, 1)
        else:
            assert sum(row["frames_per_cs_by_kind"].values()) == pytest.approx(row["frames_per_cs"]["mean"])
            assert row["frames_per_cs"]["mean"] > row["messages_per_cs"]["mean"]
