"""What the README shows works, and says what the README says."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from testbed.scenario import schema
from testbed.cli.main import main
from tests.conftest import PROJECT
from tests.testbed.checkout import copy_checkout

README = (PROJECT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    lines = [line.partition(" #")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("testbed ")]


@pytest.fixture
def workplace(tmp_path, monkeypatch) -> Path:
    """An empty folder with one run in it, for `analyze` and `replay`."""
    monkeypatch.chdir(tmp_path)
    keys = ("duration=50", "repeat=1", "trace=events")
    assert main(["run", "scenarios/quickstart.yaml", *(word for key in keys for word in ("--set", key))]) == 0
    return tmp_path


def test_there_are_commands_to_try():
    """The README shows every command."""
    shown = {shlex.split(command)[1] for command in commands()}
    assert shown >= {"run", "analyze", "replay", "smoke", "list", "new", "doctor"}


def tried() -> list[object]:
    """The commands that are tried; those in real time one after the other."""
    marks = pytest.mark.xdist_group("stations")
    return [
        pytest.param(one, marks=marks) if "loopback" in one else one
        for one in commands()
        if "reproduce" not in one and "hwsim" not in one
    ]


@pytest.mark.parametrize("command", tried())
def test_commands(command, workplace, monkeypatch, capsys):
    """Each command line of the README ends well; test_reproduce_rl.py has the one that takes half a minute."""
    words = shlex.split(command)[1:]
    if words[0] == "new":  # writes into the checkout
        monkeypatch.setattr("testbed.experiments.run_directory.PROJECT", copy_checkout(workplace / "checkout"))
    if "loopback" in command:
        words += ["--set", "duration=16"]
    elif words[0] == "run":
        words += ["--set", "duration=100"]  # the shown run is tried in full below
    expanded = [str(path) for word in words for path in (sorted(workplace.glob(word)) if "*" in word else [word])]
    assert main(expanded) == 0
    assert capsys.readouterr().out


def test_the_first_command_prints_what_is_shown(tmp_path):
    """`./setup.sh testbed run scenarios/quickstart.yaml`, from another directory, to the letter."""
    shown = blocks("text")[0].split("...\n")[0]
    done = subprocess.run(
        [PROJECT / "setup.sh", "testbed", "run", "scenarios/quickstart.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.startswith(shown)
    assert "run directory: runs/quickstart-" in done.stdout
    assert list(tmp_path.glob("runs/quickstart-*/summary.json"))


def test_the_scenario_shown_is_one():
    """The YAML of the README is complete and valid."""
    parsed = schema.loads(blocks("yaml")[0])
    assert parsed.faults[0].group == [0, 1, 2]


@pytest.mark.parametrize("path", sorted((PROJECT / "scenarios").rglob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_scenarios_open_with_their_question(path):
    """Question, setup and expected verdict, as comments; and the file is valid."""
    text = path.read_text()
    assert re.match(r"# Question: .*# Setup: .*# Expected: ", text, re.DOTALL)
    assert schema.load(path).name


def test_documented_keys_are_the_schema():
    """docs/scenario.md names every key of the schema."""
    text = (PROJECT / "docs/scenario.md").read_text()
    for key in schema.Scenario.model_fields:
        assert f"`{key}" in text, key
