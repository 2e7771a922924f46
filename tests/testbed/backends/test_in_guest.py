"""What goes into a guest for a run: the scenario and what it names, its trace and its algorithm."""

import os
import shutil
from pathlib import Path

import pytest

from testbed.backends.in_guest import _files
from testbed.scenario import yaml_reader
from testbed.scenario.loader import load, loads
from tests.conftest import PROJECT
from tests.testbed.others import distribution_of, file_of
from tests.testbed.tiny import command, tiny


def test_a_scenario_with_its_trace() -> None:
    """The scenario names the trace as it is called beside it in the guest."""
    scenario = load(PROJECT / "scenarios/mobility/replay-market.yaml")
    files = _files(scenario)
    text, trace = files["/tmp/sent/scenario.yaml"], files["/tmp/sent/market-square.ns_movements"]
    assert isinstance(text, bytes)
    assert trace == scenario.trace_file
    assert isinstance(trace, Path)
    sent = yaml_reader.parse(text.decode(), "sent").data
    assert sent["mobility"]["file"] == "market-square.ns_movements"
    assert {**sent, "mobility": None} == {**yaml_reader.parse(scenario.to_yaml(), "own").data, "mobility": None}


def test_a_scenario_without_one() -> None:
    """A single file."""
    assert list(_files(load(PROJECT / "scenarios/quickstart.yaml"))) == ["/tmp/sent/scenario.yaml"]


def test_an_algorithm_in_a_file(tmp_path: Path) -> None:
    """As it was when the scenario was checked, beside the scenario."""
    path = file_of(tmp_path / "mine.py")
    source = path.read_bytes()
    scenario = loads(tiny(algorithm=f"{{name: mine, file: {path}}}"))
    path.write_text("changed")
    files = _files(scenario)
    assert files["/tmp/sent/mine.py"] == source
    text = files["/tmp/sent/scenario.yaml"]
    assert isinstance(text, bytes)
    assert yaml_reader.parse(text.decode(), "sent").data["algorithm"] == {"name": "mine", "file": "mine.py"}


@pytest.mark.parametrize("is_package", [True, False])
def test_an_algorithm_of_another_distribution(
    is_package: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its package, or its only module; and what makes it known there."""
    place = "lab.inner.agent:Mine" if is_package else "lab_alone:Mine"
    file_of(tmp_path / "lab_alone.py")
    folder = distribution_of(tmp_path, monkeypatch, mine=place)
    files = _files(loads(tiny(algorithm="mine")))
    top = "lab" if is_package else "lab_alone.py"
    info = "/tmp/sent/packages/lab-1.2.dist-info"
    assert files.keys() == {
        "/tmp/sent/scenario.yaml", f"/tmp/sent/packages/{top}", f"{info}/METADATA", f"{info}/entry_points.txt"
    }  # fmt: skip
    assert files[f"/tmp/sent/packages/{top}"] == folder / top
    # As the guest does it: a new interpreter that has nothing but this path.
    there = tmp_path / "guest"
    for path, content in files.items():
        target = there / path.removeprefix("/tmp/sent/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            (shutil.copytree if content.is_dir() else shutil.copy)(content, target)
    env = {**os.environ, "PYTHONPATH": f"{PROJECT}:{there / 'packages'}"}
    done = command("run", there / "scenario.yaml", "--out", tmp_path / "runs", cwd=there, env=env)
    assert done.returncode == 0, done.stderr
