"""`testbed doctor`, and what the other commands do where it finds that they cannot work."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.testbed.tiny import command, is_one_line

OTHERS = [("agents", "agents/__init__.py"), ("analysis", "analysis/__init__.py"), ("analysis", "analysis.py")]
"""A package of ours, and a file that other distributions may have."""


@pytest.fixture(params=OTHERS, ids=lambda other: other[1])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """The name of a package that another distribution has as well, and its file."""
    name, file = request.param
    path = tmp_path / "other" / file
    path.parent.mkdir(parents=True)
    path.write_text("")
    return name, path


def run_beside(other: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; of two packages of one name, Python takes the one in the folder, then the other."""
    root = other.parents[1] if other.name == "__init__.py" else other.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root), str(PROJECT)))}
    return command(*arguments, cwd=folder, env=environment)


def test_another_package_that_wins(other: tuple[str, Path], tmp_path: Path) -> None:
    """Doctor names it, and imports nothing of ours that would fail."""
    name, path = other
    done = run_beside(path, tmp_path, "doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    assert facts["shadowed"] == [{"name": name, "path": str(path), "wins": True}]
    assert "backends" not in facts
    text = run_beside(path, tmp_path, "doctor").stdout
    line = (
        f"another package `{name}` is imported instead of ours, so commands fail: {path}; use an environment without it"
    )
    assert text.splitlines()[1:] == [line]


def test_another_package_that_ours_hides(other: tuple[str, Path]) -> None:
    """Doctor names it as well; everything else is as usual."""
    name, path = other
    done = run_beside(path, PROJECT, "doctor")
    assert (done.returncode, done.stderr) == (0, "")
    line = f"another package `{name}` is hidden by ours: {path}; use an environment without it"
    assert done.stdout.splitlines()[1] == line
    assert "  sim          ok" in done.stdout.splitlines()


def test_no_other_package() -> None:
    """Our own is not taken for another, wherever the command is started."""
    done = command("doctor", "--json", cwd=PROJECT, env={**os.environ, "PYTHONPATH": f"{PROJECT}/."})
    assert json.loads(done.stdout)["shadowed"] == []


def test_commands_name_another_package(tmp_path: Path) -> None:
    """One line instead of a traceback, exit code 3, where the import fails."""
    path = tmp_path / "other/analysis.py"
    path.parent.mkdir()
    path.touch()
    done = run_beside(path, tmp_path, "list", "checks")
    assert (done.returncode, done.stdout) == (3, "")
    assert is_one_line(done.stderr)
    assert done.stderr.startswith("testbed: another package `analysis` is imported instead of ours")
