"""Smoke scenarios: which files are taken for scenarios, and what becomes of runs that show nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from testbed.checkout import PROJECT
from testbed.cli.main import main
from testbed.errors import InputError
from testbed.experiments.runner import run
from testbed.experiments.smoke import find_scenarios
from testbed.scenario.loader import loads
from tests.testbed.backends.stations.stage import LINE, has_begun, processes, wait_for
from tests.testbed.tiny import tiny, write_tiny

pytestmark = pytest.mark.xdist_group("stations")  # real time needs room: one run after the other

TOO_FAST: dict[str, Any] = {**LINE, "time_unit": 0.001, "duration": 400.0, "drain": 100.0}
"""No machine is in time here: timers of asyncio are late by up to a millisecond, and an eighth of one is allowed."""


def scenario_in(folder: Path, name: str, scenario: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(yaml.safe_dump(scenario), encoding="utf-8")
    return path


# -- which files -------------------------------------------------------------------------------------------------------


def test_results_are_not_run_again(tmp_path: Path) -> None:
    """Neither runs, nor comparisons, nor what lies further down in them."""
    own = [write_tiny(tmp_path), scenario_in(tmp_path / "more", "x.yml", LINE)]
    run(loads(tiny()), tmp_path / "runs")
    compared = tmp_path / "compared"
    assert main(["compare", str(own[0]), "--algorithms", "rl,krl", "--out", str(compared), "--json"]) == 0
    (comparison,) = compared.glob("compare-*")
    scenario_in(comparison / "deeper", "y.yaml", LINE)
    assert len(list(tmp_path.rglob("*.y*ml"))) >= 5, "there is something to leave out"
    assert find_scenarios(tmp_path) == sorted(own)


def test_a_run_itself_is_no_folder_of_scenarios(tmp_path: Path) -> None:
    """But a file in it that is named is what the user wants."""
    path = run(loads(tiny()), tmp_path).path
    with pytest.raises(InputError, match="no scenarios there"):
        find_scenarios(path)
    assert find_scenarios(path / "scenario.yaml") == [path / "scenario.yaml"]


@pytest.mark.parametrize("name", ["meta.json", "rows.json", "report.md"])
def test_a_folder_with_one_such_name_is_no_result(name: str, tmp_path: Path) -> None:
    own = write_tiny(tmp_path)
    (tmp_path / name).write_text("{}")
    assert find_scenarios(tmp_path) == [own]


# -- runs that are late ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """A scenario that no machine runs in time, beside one that passes, with a JUnit report."""
    folder = tmp_path_factory.mktemp("late")
    scenario_in(folder / "smoke", "a-late.yaml", TOO_FAST)
    (folder / "smoke" / "b-passes.yaml").write_text(tiny())
    return smoke(folder, "--junit", folder / "report.xml"), folder


def command(folder: Path, *more: object) -> list[str]:
    arguments = ["smoke", folder / "smoke", "--out", folder / "runs", *more]
    return [sys.executable, "-m", "testbed.cli", *map(str, arguments)]


def smoke(folder: Path, *more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(folder, *more), cwd=PROJECT, capture_output=True, text=True, timeout=120)


def test_a_late_run_has_a_word_of_its_own(late: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    """It is neither ok nor a failure. Its line says that it was repeated, and the next one why it shows nothing."""
    done, folder = late
    first, *why, second, total = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (4, "")
    assert first.startswith("late ")
    assert first.endswith("a-late.yaml (was late; repeated with time_unit=0.002)")
    assert "timing" in " ".join(why)
    assert second.startswith("ok ")
    assert total == "1 passed, 0 failed, 1 inconclusive"
    units = {yaml.safe_load(path.read_text())["time_unit"] for path in folder.glob("runs/line-*/scenario.yaml")}
    assert units == {0.001, 0.002}


def test_a_late_run_is_skipped_in_the_junit_report(late: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    suite = ElementTree.parse(late[1] / "report.xml").getroot()
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "2", "failures": "0", "errors": "0", "skipped": "1",
    }  # fmt: skip
    cases = {case.get("name"): list(case) for case in suite.iter("testcase")}
    (skipped,) = cases["a-late"]
    assert skipped.tag == "skipped"
    assert (skipped.get("message") or "").startswith("inconclusive: ")
    assert cases["b-passes"] == []


def test_a_failure_counts_more_than_a_late_run(tmp_path: Path) -> None:
    """The exit code is that of a failure; with --json, the document counts both."""
    scenario_in(tmp_path / "smoke", "a-late.yaml", TOO_FAST)
    (tmp_path / "smoke" / "b-fails.yaml").write_text(tiny("expect: {metrics: {entries: {mean: {min: 1e9}}}}\n"))
    done = smoke(tmp_path, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert (document["passed"], document["failed"], document["inconclusive"]) == (0, 1, 1)
    one, other = document["scenarios"]
    assert (bool(one["inconclusive"]), one["problems"], one["slower_time_unit"]) == (True, [], 0.002)
    assert (other["inconclusive"], bool(other["problems"]), other["slower_time_unit"]) == ([], True, None)


def test_a_run_that_was_late_once_passes(tmp_path: Path) -> None:
    """A station is stopped in the first run for longer than allowed, and not in the second."""
    links = {"kind": "radio", "hello": 1.0, "retry": 10.0}  # half a second is allowed, then a whole one
    scenario_in(tmp_path / "smoke", "once.yaml", {**LINE, "time_unit": 0.1, "links": links})
    with subprocess.Popen(command(tmp_path), cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        wait_for(lambda: has_begun(tmp_path))
        station = processes(tmp_path)["station-1"]
        os.kill(station, signal.SIGSTOP)
        time.sleep(2.0)
        os.kill(station, signal.SIGCONT)
        out, _ = process.communicate(timeout=120)
    line, total = out.splitlines()
    assert line.startswith("ok ")
    assert line.endswith("once.yaml (was late; repeated with time_unit=0.2)")
    assert (process.returncode, total) == (0, "1 passed, 0 failed")
