"""Demands and scripts on stations: real processes ask for what the script says, at its times or later.

How late they are depends on how busy the machine is, so no test says how late they may be.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents.contract import TICKS
from analysis.load import load_run
from testbed.cli.main import main
from testbed.experiments.runner import Result, run
from testbed.scenario.schema import Scenario
from tests.testbed.backends.stations.stage import LINE, check_requests, events
from tests.testbed.simulate import ALL_OK, verdicts_of

pytestmark = pytest.mark.xdist_group("stations")  # real time needs room: one run after the other

SCRIPT: list[dict[str, Any]] = [
    {"node": 0, "at": 6.0, "units": 2, "priority": 3, "deadline": 1.0, "cs_time": 0.2},
    {"node": 3, "at": 8.0, "units": 1, "priority": -2, "deadline": 900.0, "cs_time": 0.1},
    {"node": 1, "at": 9.0, "units": 2, "priority": 0, "deadline": 5.0, "cs_time": 0.1},
    {"node": 3, "at": 9.0, "units": 2, "priority": 7, "deadline": 4.0, "cs_time": 0.1},
]
"""The first at the very time at which the load starts: a station that is a little late still asks."""


def stations(folder: Path, *requests: dict[str, Any], **keys: Any) -> Result:
    """A line of four stations that share two units and ask by script only."""
    base = {**LINE, "algorithm": {"name": "hk", "k": 2}, "workload": {"requests": list(requests)}, "duration": 40.0}
    return run(Scenario.model_validate({**base, "trace": "events", **keys}), folder)


def verdicts(result: Result) -> dict[str, str]:
    return verdicts_of(result.summary["checks"])


def test_stations_ask_for_what_the_script_says(tmp_path: Path) -> None:
    """In order, not before their times; the entries carry the same demands, and the log is judged as the run was."""
    result = stations(tmp_path, *SCRIPT)
    assert verdicts(result) == ALL_OK, result.summary["checks"]
    check_requests(result.path)
    for node in range(4):
        wanted = [one for one in SCRIPT if one["node"] == node]
        asked, entered = (
            [one for one in events(result.path, kind) if one["node"] == node] for kind in ("request", "enter")
        )
        assert len(asked) <= len(wanted)
        for one, scripted in zip(asked, wanted, strict=False):  # a station that was busy until the end asks less often
            assert (one["units"], one["priority"]) == (scripted["units"], scripted["priority"])
            assert one["t"] >= scripted["at"] * TICKS
            assert one["deadline"] == one["t"] + scripted["deadline"] * TICKS
        demands = [[(one["units"], one["priority"], one["deadline"]) for one in kind] for kind in (asked, entered)]
        assert demands[1] == demands[0]
    assert {0, 1, 3} == {one["node"] for one in events(result.path, "request")}
    (close,) = events(result.path, "close")
    assert close["patience"] == 10_000 * TICKS
    again = load_run(result.path)
    assert verdicts_of(again.verdicts()) == ALL_OK
    names = ("utilisation", "nodes_inside", "inversions_per_cs", "deadlines_missed", "longest_wait", "pending_at_close")
    for name in names:
        assert again.audits[0].metrics()[name] == result.summary["metrics"][name]["mean"], name
    assert all(main(["replay", str(result.path), "--node", str(node)]) == 0 for node in range(4))


def test_a_restarted_station_does_not_repeat_its_script(tmp_path: Path) -> None:
    """What was due before its restart was for the earlier incarnation; what is due later is done."""
    faults = [{"at": 12, "kind": "crash", "node": 3}, {"at": 14, "kind": "restart", "node": 3}]
    requests = [{"node": 3, "at": 6.5, "priority": 1}, {"node": 3, "at": 50.0, "priority": 5}]
    result = stations(tmp_path, *requests, faults=faults, duration=52.0)
    asked = events(result.path, "request")
    assert [one["priority"] for one in asked].count(1) <= 1
    assert [one["priority"] for one in asked if one["t"] >= 50 * TICKS] == [5]


def test_entries_that_the_script_does_not_give(tmp_path: Path) -> None:
    """The node that should have made the second entry has crashed: the run ends when there was none for a while."""
    requests, faults = [{"node": 0, "at": 7.0}, {"node": 3, "at": 12.0}], [{"at": 9, "kind": "crash", "node": 3}]
    result = stations(tmp_path, *requests, faults=faults, duration=None, entries=2, drain=15.0)
    (stop,) = events(result.path, "stop")
    assert stop["reason"] == "no entry for as long as drain allows"
    assert {one["node"] for one in events(result.path, "request")} <= {0}
