"""`testbed analyze runs/*`: run directories among other files and folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.cli.main import main
from testbed.experiments.runner import run
from testbed.scenario.loader import loads
from tests.testbed.tiny import is_one_line, tiny

Invoke = Callable[..., tuple[int, str, str]]


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Call `testbed analyze` in this process; gives the exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["analyze", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with two runs, a file and a folder of something else."""
    folder = tmp_path / "runs"
    for name in ("a", "b"):
        run(loads(tiny("trace: events\n", name=name)), folder)
    (folder / "notes.txt").write_text("")
    (folder / "figures").mkdir()
    return folder


def test_what_is_no_run_is_left_out(invoke: Invoke, runs: Path) -> None:
    """One line says so; the tables are those of the runs alone."""
    found = sorted(path for path in runs.iterdir() if (path / "meta.json").exists())
    code, out, err = invoke(*sorted(runs.iterdir()), "--json")
    assert code == 0
    assert is_one_line(err), err
    assert err == f"testbed: left out, as no run directories: {runs / 'figures'}, {runs / 'notes.txt'}\n"
    assert [one["run_dir"] for one in json.loads(out)["runs"]] == [*map(str, found)]
    assert invoke(*found, "--json") == (0, out, "")
    assert invoke(*sorted(runs.iterdir()))[:2] == invoke(*found)[:2]


def test_without_any_run_nothing_is_left_out(invoke: Invoke, runs: Path) -> None:
    """There is nothing to analyze."""
    code, out, err = invoke(runs / "notes.txt", runs / "figures")
    assert (code, out) == (2, "")
    assert err == f"testbed: {runs / 'notes.txt'}: not a run directory\n"


def test_a_run_that_is_not_there_is_an_error(invoke: Invoke, runs: Path) -> None:
    """A misspelt name is not left out in silence."""
    code, out, err = invoke(*sorted(runs.iterdir()), runs / "c")
    assert (code, out) == (2, "")
    assert err == f"testbed: {runs / 'c'}: not a run directory\n"
