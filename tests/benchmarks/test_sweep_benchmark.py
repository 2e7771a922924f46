"""The benchmark of studies runs, and compares a sweep with the same repetitions. The measured times are not tested."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.sweep import SHORT, on_cores, study_of, text_of

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("sweep benchmark")  # they share one run


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What a quick run prints."""
    command = [sys.executable, "-m", "benchmarks.sweep", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert "overhead, round 1 of 1" in done.stderr
    return dict(json.loads(done.stdout))  # nothing but the document on stdout


def test_the_numbers_fit_together(found: dict[str, Any]) -> None:
    one, two = found["overhead"], found["gain"]
    assert all(one[name] > 0 for name in ("loop_ms", "sweep_ms", "run_ms", "loop_cpu_ms", "sweep_cpu_ms", "run_cpu_ms"))
    assert one["overhead_ms"] == pytest.approx(one["sweep_ms"] - one["loop_ms"])
    assert one["ratio_run"] == pytest.approx(one["run_ms"] / one["sweep_ms"])
    if two is not None:
        assert two["share"] == pytest.approx(two["sweep_gain"] / two["bare_gain"])


def test_the_text(found: dict[str, Any]) -> None:
    text = text_of(found)
    assert "overhead: " in text
    assert "two cores" in text_of({**found, "gain": None})


def test_points_are_equal_but_for_their_seeds() -> None:
    dumps = [point.scenario.model_dump() for point in study_of(SHORT, 3).points]
    assert [dump.pop("seed") for dump in dumps] == [0, 1, 2]
    assert dumps[0] == dumps[1] == dumps[2]


def test_cores_are_given_back() -> None:
    before = os.sched_getaffinity(0)
    with on_cores(1):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before
