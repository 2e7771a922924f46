"""Which extras there are, and what commands say where one is missing. What `setup.sh` does: tests/test_setup.py."""

from __future__ import annotations

import os
import pickle
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from testbed import extras
from testbed.backends.registry import find_backend, usable_backend
from testbed.cli.main import main
from testbed.errors import BackendError
from testbed.extras import EXTRAS, MissingExtra, how_to_get, is_installed, missing, need
from tests.conftest import PROJECT
from tests.testbed.tiny import is_one_line, write_tiny


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no module of any extra were installed."""
    monkeypatch.setattr(extras, "find_spec", lambda module: None)


def test_the_extras_are_those_of_the_project() -> None:
    """All of pyproject.toml; Mininet-WiFi, which needs a checkout, has its own installation."""
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {*EXTRAS, "mininet-wifi"} == set(declared)


def test_an_extra_is_installed_if_all_its_modules_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_installed("dev")
    assert missing("dev") is None
    need("dev", "this suite")
    monkeypatch.setattr(extras, "find_spec", lambda module: None if module == "pandas" else module)
    assert not is_installed("plots")
    assert not is_installed("parquet")
    assert is_installed("ns3")


def test_a_command_names_what_it_needs_before_it_reads_anything(
    without: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 3. The scenario, which is wrong, is not looked at."""
    monkeypatch.chdir(tmp_path)
    path = write_tiny(tmp_path, nodes="none")
    assert main(["mobility", str(path), "--plot"]) == 3
    said = capsys.readouterr()
    assert said.err == f"testbed: --plot: this needs the extra plots: {how_to_get('plots')}\n"
    assert (said.out, os.listdir(tmp_path)) == ("", [path.name])


def test_a_backend_names_its_extra(without: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that an extra would help."""
    with pytest.raises(MissingExtra, match="backend ns3: ns-3 is not installed") as lacking:
        usable_backend("ns3")
    assert lacking.value.extra == "ns3"
    hwsim = type(find_backend("hwsim"))
    monkeypatch.delenv("TESTBED_CONTROL_PLANE", raising=False)
    monkeypatch.setattr(hwsim, "runs_here", lambda self: True)
    with pytest.raises(MissingExtra, match="backend hwsim: this needs the extra hwsim: ") as lacking:
        usable_backend("hwsim")
    assert lacking.value.extra == "hwsim"


def test_a_backend_that_no_extra_helps(without: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Radios in a guest need no extra, but programs."""
    hwsim = type(find_backend("hwsim"))
    monkeypatch.setattr(hwsim, "runs_here", lambda self: False)
    monkeypatch.setattr("testbed.backends.hwsim.backend.missing_for_guest", lambda: "the guest needs busybox")
    with pytest.raises(BackendError, match="the guest needs busybox") as lacking:
        usable_backend("hwsim")
    assert not isinstance(lacking.value, MissingExtra)


def test_the_error_passes_between_processes() -> None:
    error = pickle.loads(pickle.dumps(MissingExtra("plots", "--plot: this needs more")))
    assert (error.extra, str(error), error.exit_code) == ("plots", "--plot: this needs more", 3)


# -- the command that gets an extra -----------------------------------------------------------------------------------


def test_how_to_get_it_in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By setup.sh, for the environment that this is."""
    project = tmp_path / "the project"
    project.mkdir()
    (project / "setup.sh").touch()
    monkeypatch.setattr("testbed.checkout.PROJECT", project)
    monkeypatch.setattr(sys, "prefix", str(project / ".venv"))
    monkeypatch.chdir(project)
    assert how_to_get("plots") == "./setup.sh --extra plots"
    monkeypatch.chdir(tmp_path)
    assert how_to_get("plots") == f"'{project}/setup.sh' --extra plots"
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "other"))
    assert how_to_get("plots") == f"TESTBED_VENV={tmp_path}/other '{project}/setup.sh' --extra plots"
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert shlex.split(how_to_get("plots"))[1:] == ["-m", "pip", "install", "--editable", f"{project}[plots]"]


def test_how_to_get_it_without_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By pip, for the Python that this is."""
    monkeypatch.setattr("testbed.checkout.PROJECT", tmp_path)
    words = shlex.split(how_to_get("plots"))
    assert words == [sys.executable, "-m", "pip", "install", "adhoc-mutex-testbed[plots]"]


def test_the_question_of_setup() -> None:
    """`python -m testbed.extras NAME` fails with one line where the extra is missing."""
    line = [sys.executable, "-m", "testbed.extras"]
    assert subprocess.run([*line, "dev"], cwd=PROJECT, timeout=60).returncode == 0
    blind = [sys.executable, "-S", "-m", "testbed.extras", "dev"]  # without site-packages
    done = subprocess.run(blind, cwd=PROJECT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, is_one_line(done.stderr)) == (1, True)
