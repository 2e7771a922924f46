"""`testbed compare --backends`: worlds side by side.

A backend in real time is played here by the simulator, so that what is around it is tested without its hurry.
"""

import json
import multiprocessing
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agents.registry import ALGORITHMS
from analysis.audit import Live, LiveAudit
from analysis.checks import FAILED, NOT_CHECKED, OK
from testbed.scenario import yaml_reader
from testbed.backends.sim import simulation
from testbed.backends.registry import BACKENDS
from testbed.cli.main import main
from testbed.experiments.compare import Contender
from testbed.scenario.schema import Scenario
from testbed.experiments.compare_backends import Subject, World, compare_worlds
from tests.agents.rl_variants import KeptToken
from tests.testbed.tiny import is_one_line

TEXT = """
name: worlds
algorithm: rl
nodes: 6
topology: {kind: random, connectivity: 0.5, link_change_rate: 0.1}
workload: {rate: 0.1}
duration: 30
repeat: 2
"""
FADING = """
name: worlds
algorithm: rl
nodes: 5
topology: geometric
area: [100, 100]
radio: {range: 130, propagation: nakagami}
delays: {hop: 0.01}
workload: {rate: 0.1}
duration: 30
"""
IDEAL, RADIO = World("sim ideal", "sim", "ideal"), World("sim radio", "sim", "radio")
FILES = {"report.md", "rows.json", "scenario.yaml"}
FIGURES = {"comparison.png", "comparison.svg", "comparison.pdf"}


@pytest.fixture(autouse=True)
def _no_figures(request, monkeypatch):
    """Drawing takes longer than all else; one test does it."""
    if "with_figures" not in request.fixturenames:
        monkeypatch.setattr("testbed.experiments.compare.plots_missing", lambda: "not now")


@pytest.fixture
def with_figures():
    """Has figures drawn."""


@pytest.fixture
def scenario_file(tmp_path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def slowly(monkeypatch) -> ModuleType:
    """A backend named `slowly` that says it needs real time, and notes where and beside whom it ran."""
    module = ModuleType("slowly")
    module.SUMMARY, module.REAL_TIME, module.missing, module.calls = "for tests", True, lambda: None, []

    def run_repetition(scenario, repetition, listener, report, folder=None):
        assert scenario.links.kind == "radio"
        assert scenario.backend == "slowly"
        module.calls.append((scenario.algorithm.name, repetition, os.getpid(), multiprocessing.active_children()))
        simulation.run_repetition(scenario, repetition, Live(LiveAudit(), listener), report)
        report(1.0)

    module.run_repetition = run_repetition
    monkeypatch.setitem(sys.modules, "slowly", module)
    monkeypatch.setitem(BACKENDS, "slowly", "slowly")
    return module


def subject(text: str, *overrides: str) -> Subject:
    return Subject.build(yaml_reader.parse(text, "test"), list(overrides))


def described(scenario: Scenario) -> tuple:
    """What tells a scenario in one world from that in another."""
    return scenario.backend, scenario.links.kind, getattr(scenario.algorithm.parameters, "raise_interval", None)


def test_sim_is_two_worlds(scenario_file, tmp_path, capsys):
    """Each with the numbers of `testbed run` with its links."""
    assert main(["compare", str(scenario_file), "--backends", "sim", "--out", str(tmp_path / "out"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["scenario"] == "worlds"
    assert document["worlds"] == ["sim ideal", "sim radio"]
    for row, links in zip(document["rows"], ("ideal", "radio"), strict=True):
        assert (row["algorithm"], row["world"], row["backend"], row["links"]) == ("rl", f"sim {links}", "sim", links)
        main(["run", str(scenario_file), "--set", f"links={links}", "--out", str(tmp_path / "out"), "--json"])
        alone = json.loads(capsys.readouterr().out)
        assert {name: row[name] for name in alone["metrics"]} == alone["metrics"]
        assert row["checks"] == alone["checks"]
    assert document["rows"][0]["frames_per_cs"]["mean"] is None
    assert document["rows"][1]["frames_per_cs"]["mean"] > 10
    folder = Path(document["directory"])
    assert json.loads((folder / "rows.json").read_text()) == document
    assert {path.name for path in folder.iterdir()} == FILES


def test_a_table_for_every_algorithm(scenario_file, tmp_path, capsys, with_figures):
    """Metrics down, worlds across, means with their intervals; and the files, with a figure."""
    command = ["compare", str(scenario_file), "--backends", "sim", "--algorithms", "rl,raymond-tree"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    (folder,) = (tmp_path / "out").iterdir()
    assert text == (folder / "report.md").read_text()
    assert {path.name for path in folder.iterdir()} == FILES | FIGURES
    tables = text.split("## ")[1:]
    assert [table.splitlines()[0] for table in tables] == ["rl", "raymond-tree"]
    for table in tables:
        rows = {
            line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
            for line in table.splitlines()
            if line.startswith("|")
        }
        assert rows["metric"] == ["sim ideal", "sim radio"]
        assert all(" ± " in cell for cell in rows["waiting time"])
        assert rows["frames per CS"][0] == "-"
        assert " ± " in rows["bytes per CS"][1]
        assert rows["checks"] == ["ok", "ok"]
        assert list(rows)[-1] == "checks"
    assert "raise_interval is 0 in sim ideal, 1 in sim radio." in tables[0]
    assert "raise_interval" not in tables[1]


@pytest.mark.parametrize(
    ("algorithm", "links", "in_ideal", "in_radio"),
    [
        ("rl", "ideal", 0, 1),
        ("{name: rl, raise_interval: 0}", "ideal", 0, 1),  # as a scenario with its defaults written out has it
        ("{name: rl, raise_interval: 3}", "ideal", 3, 3),
        ("rl", "{kind: radio, hello: 2}", 0, 2),
        ("{name: rl, raise_interval: 2}", "{kind: radio, hello: 2}", 2, 2),
        ("{name: rl, raise_interval: 0}", "radio", 0, 0),
        ("raymond-tree", "radio", None, None),
    ],
)
def test_heights_are_raised_as_the_links_want_it_or_the_scenario_says(algorithm, links, in_ideal, in_radio):
    """What a scenario says holds everywhere; a default is that of the world."""
    one = subject(TEXT.replace("algorithm: rl", f"algorithm: {algorithm}") + f"links: {links}\n")
    own = one.scenario.algorithm.name
    assert described(one.in_world(IDEAL, own)) == ("sim", "ideal", in_ideal)
    assert described(one.in_world(RADIO, own)) == ("sim", "radio", in_radio)


def test_other_algorithms_are_paced_alike():
    """An override says it as well as the file; an algorithm that knows no pace leaves it to the links."""
    assert described(subject(TEXT, "algorithm.raise_interval=2").in_world(RADIO, "krl"))[2] == 2
    assert described(subject(TEXT).in_world(RADIO, "krl"))[2] == 1
    assert described(subject(TEXT, "algorithm=raymond-tree").in_world(RADIO, "krl"))[2] == 1
    assert described(subject(TEXT, "links=radio").in_world(IDEAL, "krl"))[2] == 0


def test_radio_links_are_the_scenarios_own(slowly):
    """With what it says of them, in every world that has any; the backend is the world's."""
    one = subject(TEXT + "links: {kind: radio, loss: 0.1, hello: 2}\nbackend: slowly\n")
    for world in (RADIO, World("slowly", "slowly", "radio")):
        assert one.in_world(world, "rl").links == one.scenario.links
        assert one.in_world(world, "rl").backend == world.backend
    assert one.in_world(IDEAL, "rl").backend == "sim"


@pytest.mark.parametrize("links", ["ideal", "radio"])
def test_the_scenario_that_is_kept_gives_the_same_worlds(links, tmp_path):
    """Every default is written out but for the one that depends on the world."""
    one = subject(TEXT, f"links={links}", "repeat=1", "duration=5")
    comparison = compare_worlds(one, None, ["sim"], tmp_path, lambda share, what: None)
    again = Subject.load(comparison.out / "scenario.yaml")
    assert again.scenario == one.scenario
    assert [again.in_world(world, "rl") for world in (IDEAL, RADIO)] == [one.scenario for one in comparison.columns]


def test_fading_has_no_ideal_world(tmp_path, capsys):
    """Its column is left out, and a note says why."""
    path = tmp_path / "fading.yaml"
    path.write_text(FADING + "links: radio\n")
    assert main(["compare", str(path), "--backends", "sim", "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    assert "| sim radio |" in text
    assert "| sim ideal |" not in text
    assert "No sim ideal: nakagami gives each frame a power of its own" in text


def test_real_time_runs_alone_and_keeps_its_logs(slowly, scenario_file, tmp_path, capsys):
    """After the simulator's workers have gone, one after the other, in run directories within the comparison's."""
    command = ["compare", str(scenario_file), "--backends", "slowly,sim", "--algorithms", "rl,krl", "--json"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert slowly.calls == [(name, number, os.getpid(), []) for name in ("rl", "krl") for number in (0, 1)]
    assert document["worlds"] == ["slowly", "sim ideal", "sim radio"]
    assert [(row["algorithm"], row["world"]) for row in document["rows"]] == [
        (name, world) for name in ("rl", "krl") for world in document["worlds"]
    ]
    for row in document["rows"]:
        assert ("run_dir" in row) is (row["backend"] == "slowly")
    for row, twin in ((0, 2), (3, 5)):  # played by the simulator with radio links
        kept = Path(document["rows"][row]["run_dir"])
        assert kept.parent == Path(document["directory"])
        assert (kept / "rep-001" / "events.jsonl").exists()
        assert json.loads((kept / "summary.json").read_text())["algorithm"] == document["rows"][row]["algorithm"]
        assert document["rows"][row]["waiting_time"] == document["rows"][twin]["waiting_time"]
        assert (document["rows"][row]["backend"], document["rows"][row]["links"]) == ("slowly", "radio")


def test_virtual_time_of_others_is_spread_like_the_simulators(slowly, tmp_path):
    """What does not need real time need not be alone."""
    slowly.REAL_TIME = False
    comparison = compare_worlds(subject(TEXT), None, ["slowly"], tmp_path, lambda share, what: None)
    assert slowly.calls == []  # those were made in workers
    assert [column.run_dir for column in comparison.columns] == [None]


def test_progress_is_over_everything(slowly, tmp_path):
    """From nothing to all, never back; real time weighs what it takes, here 2 x 30 s against four jobs."""
    seen: list[tuple[float, str]] = []
    compare_worlds(subject(TEXT), None, ["sim", "slowly"], tmp_path, lambda *told: seen.append(told))
    shares = [share for share, _ in seen]
    assert shares == sorted(shares)
    assert (shares[0], round(shares[-1], 2)) == (0, 1)
    virtual = [share for share, what in seen if "virtual" in what]
    assert max(virtual) <= 4 / 64 <= min(share for share, what in seen if "virtual" not in what)


def test_a_failed_check_fails_the_comparison(scenario_file, tmp_path, capsys, monkeypatch):
    """Exit code 1; the table and a line say in which world."""
    monkeypatch.setitem(ALGORITHMS, "kept", KeptToken)
    command = ["compare", str(scenario_file), "--backends", "sim", "--algorithms", "kept"]
    assert main([*command, "--set", "links=radio", "--out", str(tmp_path / "out")]) == 1
    text = capsys.readouterr().out
    assert "kept in sim ideal: safety failed: " in text
    assert "FAILED |" in text


def test_verdicts_in_a_cell():
    """What could not be checked is not passed over."""

    def verdict(**checks: str) -> str:
        judged = {name: {"verdict": one, "detail": "", "offenders": []} for name, one in checks.items()}
        return Contender("x", [{"checks": judged, "metrics": {}}]).verdict()

    assert verdict(safety=OK, order=OK) == "ok"
    assert verdict(safety=FAILED, order=FAILED, starvation=NOT_CHECKED) == "safety, order FAILED"
    assert verdict(safety=OK, order=NOT_CHECKED) == "ok, order not checked"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "compare: found neither --algorithms nor --backends"),
        ("--backends sim,nowhere", "--backends: found 'nowhere'; allowed: sim"),
        ("--backends sim,sim", "--backends: found 'sim,sim'; allowed: one or more different backends"),
        ("--backends ,", "--backends: found ','; allowed: one or more"),
        ("--backends sim --backend sim", "compare: found both --backend and --backends"),
        ("--backends sim --algorithms nobody", "--algorithms: found 'nobody'"),
        ("--backends sim --algorithms ,", "--algorithms: found ','; allowed: one or more"),
        ("--backends sim --set nodes=0", "--set nodes=0: nodes: found 0"),
        ("--algorithms rl", "--algorithms: found 'rl'; allowed: two or more"),
    ],
)
def test_bad_options(options, said, scenario_file, tmp_path, capsys):
    """One line, exit code 2, nothing run."""
    assert main(["compare", str(scenario_file), *options.split(), "--out", str(tmp_path / "runs")]) == 2
    error = capsys.readouterr().err
    assert is_one_line(error)
    assert error.startswith(f"testbed: {said}")
    assert not (tmp_path / "runs").exists()


def test_a_backend_that_cannot_run_here_stops_all_before_anything_runs(
    slowly, scenario_file, tmp_path, capsys, monkeypatch
):
    """Exit code 3 and what to install; the simulator has not even begun."""
    slowly.missing = lambda: "needs patience: install some"
    monkeypatch.setattr("testbed.experiments.compare_backends.spread", lambda *_: pytest.fail("something ran"))
    command = ["compare", str(scenario_file), "--backends", "sim,slowly", "--out", str(tmp_path / "runs")]
    assert main(command) == 3
    assert capsys.readouterr().err == "testbed: backend slowly: needs patience: install some\n"
    assert not (tmp_path / "runs").exists()
