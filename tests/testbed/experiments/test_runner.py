"""What a run ends with: 0 if all is well, 1 if something failed, 4 if it shows nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.registry import ALGORITHMS
from analysis.check import FAILED, INCONCLUSIVE, NOT_APPLICABLE, NOT_CHECKED, OK
from testbed.cli.main import main
from testbed.experiments.runner import exit_code_of, unmet_expectations
from testbed.scenario.expect import Expect
from tests.testbed.tiny import Unsafe, only_run, write_tiny

METRICS = {"entries": {"mean": 7.0}}


def judged(expect: dict[str, Any] | None = None, **checks: str) -> tuple[list[str], list[str]]:
    """What is unmet, and what is inconclusive, if the checks say this."""
    found = {name: {"verdict": verdict, "detail": "why"} for name, verdict in checks.items()}
    return unmet_expectations(Expect.model_validate(expect or {}), found, METRICS)


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        (None, OK, ([], [])),
        (None, FAILED, (["progress is failed, expected ok"], [])),
        (None, INCONCLUSIVE, ([], ["progress: why"])),
        (None, NOT_CHECKED, ([], [])),
        (None, NOT_APPLICABLE, ([], [])),
        (OK, INCONCLUSIVE, ([], ["progress: why"])),
        (OK, NOT_CHECKED, (["progress is not checked, expected ok"], [])),
        (FAILED, FAILED, ([], [])),
        (FAILED, OK, (["progress is ok, expected failed"], [])),
        (FAILED, INCONCLUSIVE, ([], ["progress: why"])),
        (INCONCLUSIVE, INCONCLUSIVE, ([], [])),
        (INCONCLUSIVE, OK, (["progress is ok, expected inconclusive"], [])),
    ],
)
def test_what_a_scenario_expects(wanted: str | None, found: str, expected: tuple[list[str], list[str]]) -> None:
    """A check that is not named must not fail; one that shows nothing is neither right nor wrong."""
    assert judged({} if wanted is None else {"checks": {"progress": wanted}}, progress=found) == expected


def test_metrics_of_a_run_that_was_late() -> None:
    """They mean nothing, so that a bound is neither kept nor missed."""
    bound = {"metrics": {"entries": {"mean": {"min": 10}}}}
    missed = "entries.mean is 7, expected at least 10"
    assert judged(bound, timing=OK) == ([missed], [])
    assert judged(bound, timing=INCONCLUSIVE) == ([], ["timing: why", missed])
    assert judged(bound, progress=INCONCLUSIVE) == ([missed], ["progress: why"])


@pytest.mark.parametrize(
    ("unmet", "inconclusive", "code"), [([], [], 0), (["a"], [], 1), ([], ["b"], 4), (["a"], ["b"], 1)]
)
def test_exit_codes(unmet: list[str], inconclusive: list[str], code: int) -> None:
    """What has failed outweighs what shows nothing."""
    assert exit_code_of({"unmet": unmet, "inconclusive": inconclusive, "lost": []}) == code


# -- on the command line ----------------------------------------------------------------------------------------------

SILENT = "{rate: 0.000000001}"


def test_a_run_without_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 4 and a line that says why, of the run and of its log."""
    path = write_tiny(tmp_path, workload=SILENT)
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 4
    out = capsys.readouterr().out
    reason = "progress: no request was made (in 1 of 1 repetitions)"
    assert f"\nINCONCLUSIVE: {reason}\n" in out
    assert "\nprogress      inconclusive  (no request was made (in 1 of 1 repetitions))\n" in out
    run = only_run(tmp_path / "runs")
    meta, summary = (json.loads((run / f"{name}.json").read_text()) for name in ("meta", "summary"))
    assert (meta["status"], meta["exit"], summary["inconclusive"]) == ("finished", 4, [reason])
    assert main(["analyze", str(run)]) == 4


def test_a_run_that_is_meant_to_show_nothing(tmp_path: Path) -> None:
    """The scenario may say so."""
    path = write_tiny(tmp_path, "expect: {checks: {progress: inconclusive}}\n", workload=SILENT)
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 0


def test_a_comparison_that_shows_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 4, a line for each, and the word in the table; one that failed outweighs it."""
    path = write_tiny(tmp_path, workload=SILENT)
    command = ["compare", str(path), "--out", str(tmp_path / "out")]
    assert main([*command, "--algorithms", "rl,krl"]) == 4
    out = capsys.readouterr().out
    assert "rl: progress inconclusive: no request was made (in 1 of 1 repetitions)" in out
    assert out.count("progress inconclusive |") == 2


def test_a_comparison_in_which_one_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1, and the command that replays it."""
    monkeypatch.setitem(ALGORITHMS, "unsafe", Unsafe)
    path = write_tiny(tmp_path, workload="{rate: 0.5}")
    assert main(["compare", str(path), "--algorithms", "rl,unsafe", "--out", str(tmp_path / "out")]) == 1
    out = capsys.readouterr().out
    assert "unsafe: safety failed: repetition 0: " in out
    (replay,) = [line for line in out.splitlines() if "replay: testbed replay " in line and "safety" not in line][:1]
    assert main(replay.partition("replay: testbed ")[2].split()) == 0
