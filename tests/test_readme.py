"""What the README shows works and prints what the README says; the reference of the scenario is complete."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pydantic import BaseModel

from agents.registry import ALGORITHMS
from analysis.checks import CHECKS
from analysis.metric_names import METRICS
from testbed.cli.main import main, parser
from testbed.experiments.studies.open import open_study
from testbed.experiments.variants import load_variants, name_variants
from testbed.scenario.expect import Expect
from testbed.scenario.links import RadioChoice
from testbed.scenario.loader import load
from testbed.scenario.schema import Scenario
from testbed.scenario.workload import Delays, Workload
from tests.conftest import PROJECT
from tests.testbed.checkout import copy_checkout
from tests.testbed.simulate import WITHOUT_GROUPS

README = (PROJECT / "README.md").read_text()
REFERENCE = (PROJECT / "docs/scenario.md").read_text()
NEEDS_MORE = ("hwsim", "--guest", "--mininet-wifi", "ns3")
"""Words of commands that this machine may not be able to run; tests/emulation and the tests of ns3 try them."""


OF_STUDIES = ("scenarios/studies/", "--vary")
"""Words of commands whose results go beside the file that they name."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    """The command lines of the README that start with `testbed`, also behind `./setup.sh`."""
    lines = [
        line.partition(" #")[0].strip().removeprefix("./setup.sh ") for one in blocks("sh") for line in one.splitlines()
    ]
    return [line for line in lines if line.startswith("testbed ")]


def section(text: str, title: str) -> str:
    """What is under a heading."""
    _, _, below = text.partition(f"## {title}\n")
    assert below, title
    return below.partition("\n## ")[0]


def first_column(text: str) -> list[str]:
    """The names in the first column of the tables of a text, each in backticks or alone in its cell."""
    cells = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    names = [re.findall(r"`(.+?)`", cell) or [cell] for cell in cells]
    return [name for row in names for name in row if set(name) != {"-"}]


# -- commands ---------------------------------------------------------------------------------------------------------


def test_every_command_is_shown():
    """Except the two that only concern virtual radios."""
    (actions,) = [action for action in parser()._actions if action.choices and action.dest != "help"]
    shown = {shlex.split(command)[1] for command in commands()}
    assert {*shown, "guest", "clean"} == set(actions.choices)


def tried() -> list[object]:
    """The commands to try, those in real time in one group. The reproductions have tests of their own."""
    real_time = pytest.mark.xdist_group("stations")
    return [
        pytest.param(command, marks=real_time) if "loopback" in command else command
        for command in commands()[1:]  # the first is tried in full
        if "reproduce" not in command and not any(word in command for word in (*NEEDS_MORE, *OF_STUDIES))
    ]


SHORTER = {
    "--live": "--set duration=100 --set repeat=1 --pace 100",
    "loopback": "--set duration=8 --set repeat=1",
    "testbed run": "--set duration=100",
    "testbed compare": "--set duration=200 --set repeat=2",
}
"""Options that make a command cheaper, by what is in it."""


@pytest.mark.parametrize("command", tried())
def test_commands(command, tmp_path, monkeypatch, capsys):
    """Each command line of the README succeeds, prints a result and writes the files that it names."""
    monkeypatch.chdir(tmp_path)
    if "runs/" in command:
        assert main(["run", "scenarios/quickstart.yaml", "--set", "duration=50", "--set", "trace=events"]) == 0
        capsys.readouterr()
    words = shlex.split(command)[1:]
    if words[0] == "new":  # writes into the checkout
        monkeypatch.setattr("testbed.checkout.PROJECT", copy_checkout(tmp_path / "checkout"))
    words += next((options for part, options in SHORTER.items() if part in command), "").split()
    expanded = [str(path) for word in words for path in (sorted(tmp_path.glob(word)) if "*" in word else [word])]
    may_be_late = "loopback" in command  # on a busy machine a run in real time may be inconclusive
    assert main(expanded) in ((0, 4) if may_be_late else (0,))
    printed = capsys.readouterr().out
    check_effect(words, printed)


def check_effect(words: list[str], printed: str) -> None:
    """What a command has printed and written."""
    if "--file" in words:
        compile(Path(words[words.index("--file") + 1]).read_text(), "exported", "exec")
        return
    assert printed
    if words[0] == "replay":
        assert re.search(r"^as recorded: every output of [1-9]\d* inputs$", printed, re.MULTILINE)
    if words[0] == "analyze":
        assert re.search(r"^safety +ok ", printed, re.MULTILINE)
    if words[0] == "list":
        assert [line.split()[0] for line in printed.splitlines()] == list(ALGORITHMS)
    if words[0] == "new":
        assert (Path("checkout/agents") / f"{words[2].replace('-', '_')}.py").exists()
    if "--json" in words:
        assert json.loads(printed)["checks"]["safety"]["verdict"] == "ok"
    if "--junit" in words:
        suite = ElementTree.parse(words[words.index("--junit") + 1]).getroot()
        assert int(suite.get("tests", 0)) == len(list((PROJECT / "scenarios/smoke").rglob("*.yaml")))
        assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    if "--plot" in words:
        files = sorted(Path("runs").glob("campus-paths.*"))
        assert [file.suffix for file in files] == [".pdf", ".png", ".svg"]
        assert all(str(file) in printed and file.stat().st_size > 5_000 for file in files)
    if "--variant" in words:
        assert printed.count("\n| bv choice=") == 2
    if "--algorithms" in words:
        given = words[words.index("--algorithms") + 1]
        for name in WITHOUT_GROUPS if given == "all" else given.split(","):
            assert re.search(rf"^\| {name} .* ok \|$", printed, re.MULTILINE), name
        left_out = set(ALGORITHMS) - set(WITHOUT_GROUPS) if given == "all" else set()
        assert all(f"No {name}: neighbourhoods: found neither" in printed for name in left_out)
    if "--backends" in words:
        assert re.search(r"^\| metric +\| +sim ideal \| +sim radio \| +loopback \|$", printed, re.MULTILINE)
        assert re.search(r"^\| checks +\| +ok \| +ok \| +(ok|[a-z, ]*timing inconclusive) \|$", printed, re.MULTILINE)


def test_a_figure_for_a_paper(tmp_path, monkeypatch, capsys):
    """The commands of that section, one after the other, on a copy of their scenarios with shorter runs."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(PROJECT / "scenarios", "scenarios")
    for file in (Path("scenarios/studies/load-speed.yaml"), Path("scenarios/quickstart.yaml")):
        file.write_text(re.sub(r"repeat: \d", "repeat: 2", re.sub(r"duration: \d+", "duration: 20", file.read_text())))
    lines = [command for command in commands() if any(word in command for word in OF_STUDIES)]
    assert [shlex.split(line)[1] for line in lines] == ["sweep", "figure", "table", "frame", "sweep"]
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, line
    printed = capsys.readouterr().out
    assert "load-speed: 63 points, 126 repetitions" in printed
    assert sorted(path.suffix for path in Path("figures").iterdir()) == [".pdf", ".png", ".svg"]
    assert re.search(r"^\| krlf +\|.* ± ", printed, re.MULTILINE)
    assert len(Path("results.csv").read_text().splitlines()) == 127


def test_your_own_algorithm(tmp_path, monkeypatch, capsys):
    """The commands of that section, one after the other in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for line in blocks("shell")[0].splitlines():
        assert main(shlex.split(line.partition(" #")[0])[1:]) == 0, line
    printed = capsys.readouterr().out
    assert re.search(r"^safety +ok ", printed, re.MULTILINE)
    assert re.search(r"^\| mine .* ok \|$", printed, re.MULTILINE)
    (inline,) = re.findall(r"# algorithm: (\{.*\})", README)
    assert f"algorithm: {inline}\n" in Path("mine.yaml").read_text()


def test_the_first_command_prints_what_is_shown(tmp_path):
    """`./setup.sh testbed run scenarios/quickstart.yaml`, from another directory, character by character."""
    shown = blocks("text")[0].split("...\n")[0]
    done = subprocess.run(
        [PROJECT / "setup.sh", *shlex.split(commands()[0])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.startswith(shown)
    assert "run directory: runs/quickstart-" in done.stdout
    assert list(tmp_path.glob("runs/quickstart-*/summary.json"))


# -- tables -----------------------------------------------------------------------------------------------------------


def test_the_algorithms_shown_are_those_there_are():
    """In the order of `testbed list algorithms`."""
    assert first_column(section(README, "Algorithms")) == ["name", *ALGORITHMS]


def test_the_checks_shown_are_those_there_are():
    """In the order of `testbed list checks`."""
    assert first_column(section(README, "What the checks mean")) == ["check", *(check.name for check in CHECKS)]


# -- scenarios --------------------------------------------------------------------------------------------------------


def test_the_scenario_shown_runs_as_it_expects(tmp_path, capsys):
    """The YAML of the README is complete and valid, and its expectations hold."""
    (shown,) = blocks("yaml")
    path = tmp_path / "shown.yaml"
    path.write_text(shown)
    assert main(["run", str(path), "--out", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["messages_per_cs"]["mean"] < 15


VARIANTS = sorted((PROJECT / "scenarios/comparisons").glob("*-algorithms.yaml"))
SCENARIOS = sorted(set((PROJECT / "scenarios").rglob("*.yaml")) - set(VARIANTS))


@pytest.mark.parametrize("path", VARIANTS, ids=lambda path: path.stem)
def test_shipped_lists_of_variants(path):
    """Each fits a scenario beside it."""
    (scenario,) = [one for one in SCENARIOS if one.parent == path.parent]
    named = name_variants(load_variants(path), load(scenario))
    assert len(named.points) > 10
    choices = [(point.scenario.algorithm, point.scenario.clusters or 1) for point in named.points]
    assert {choice.agent.capacity(choice.parameters) * clusters for choice, clusters in choices} == {3}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_shipped_scenarios_open_with_their_question(path):
    """Question, setup and expected verdict, as comments; and the file is valid."""
    text = path.read_text()
    assert re.match(r"# Question: .*Setup: .*Expected: ", text, re.DOTALL)
    assert open_study(path).points


def keys(model: type[BaseModel], prefix: str = "") -> set[str]:
    return {f"{prefix}{name}" for name in model.model_fields}


def test_documented_keys_are_those_of_the_schema():
    """docs/scenario.md has a row for every key, and for nothing else."""
    first, _, _ = REFERENCE.partition("\n## ")
    sections = {"delays.": Delays, "workload.": Workload, "expect.": Expect}
    expected = keys(Scenario) - {name.removesuffix(".") for name in sections}
    expected |= {key for prefix, model in sections.items() for key in keys(model, prefix)}
    assert set(first_column(first)) - {"key"} == expected
    assert set(first_column(section(REFERENCE, "Links"))) - {"key"} == keys(RadioChoice) - {"kind"}


def test_documented_metrics_are_those_measured():
    """docs/scenario.md has a row for every metric, and for nothing else."""
    assert set(first_column(section(REFERENCE, "Metrics"))) - {"metric"} == set(METRICS)
