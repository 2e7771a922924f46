"""The benchmark of the simulator runs, and its programs do the same work. The measured times are not tested."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.simulator import TOLERANCE, check_agreement
from benchmarks.testbed_rl import WrongRun

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("simulator benchmark")  # they share one run
PROGRAMS = {"testbed", "simpy", "simpy_callbacks", "heapq"}
MEASURED = ("events", "setup_s", "us_per_event", "bare_us_per_event", "peak_memory_mb")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document that a quick run prints."""
    command = [sys.executable, "-m", "benchmarks.simulator", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    assert "round 1" in done.stderr
    return dict(json.loads(done.stdout))  # nothing but the document on stdout


def test_the_programs_do_the_same_work(document: dict[str, Any]) -> None:
    """Counts of events agree, and SimPy's runs wait and send as the testbed's does, near the paper's figures."""
    events = document["events"]
    assert set(events) == PROGRAMS
    assert max(events.values()) - min(events.values()) <= TOLERANCE * max(events.values())
    for one in document["results"].values():
        assert one["messages_per_cs"] == pytest.approx(10, rel=0.1)
        assert one["waiting_time"] == pytest.approx(85, rel=0.1)


def test_every_program_has_a_speed(document: dict[str, Any]) -> None:
    """Events per second of each, and the ratios of the testbed's to the others'."""
    speed = document["events_per_second"]
    assert set(speed) == PROGRAMS
    for other in PROGRAMS - {"testbed"}:
        assert document[f"ratio_{other}"] == pytest.approx(speed["testbed"] / speed[other])


def test_the_table_is_complete(document: dict[str, Any]) -> None:
    """A row for each size, static and with link changes; about 1 % of the events are changes."""
    rows = document["scaling"]
    assert [(row["n"], row["link_changes"]) for row in rows] == [(30, False), (30, True), (300, False), (300, True)]
    for row in rows:
        assert all(row[name] > 0 for name in MEASURED), row
        assert (row["us_per_link_change"] is not None) is row["link_changes"]
        assert 0.005 < row["changes"] / row["events"] < 0.02 or not row["link_changes"]


@pytest.mark.parametrize("spoilt", ["events", "messages_per_cs"])
def test_programs_that_differ_are_not_compared(spoilt: str) -> None:
    """Three per cent more events or messages are too many."""
    factor = {"events": 1.0, "messages_per_cs": 1.0, spoilt: 1.03}
    events = {"testbed": 1_000, "simpy": round(1_000 * factor["events"])}
    results = {"testbed": {"messages_per_cs": 10.0}, "simpy": {"messages_per_cs": 10.0 * factor["messages_per_cs"]}}
    with pytest.raises(WrongRun, match=spoilt):
        check_agreement(events, results)
