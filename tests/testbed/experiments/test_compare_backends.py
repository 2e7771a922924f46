"""`testbed compare --backends`: backends side by side.

A backend in real time is played here by the simulator, so that what is around it is tested without waiting.
"""

import json
import multiprocessing
import os
from pathlib import Path
from typing import ClassVar

import pytest

from agents.registry import ALGORITHMS
from agents.rl import ReverseLink
from analysis.audit import BatchedAudit
from analysis.check import FAILED, INCONCLUSIVE, NOT_CHECKED, OK, Verdict
from testbed.backends.base import Backend
from testbed.backends.registry import BACKENDS, find_backend
from testbed.backends.sim.simulation import Simulation
from testbed.cli.main import main
from testbed.experiments.compare_backends import Column, Subject, compare_backends
from testbed.experiments.grid import Point, PointResult
from testbed.experiments.variants import Variant
from testbed.randomness import Streams
from testbed.scenario import yaml_reader
from testbed.scenario.loader import loads
from testbed.scenario.schema import Scenario
from tests.agents.rl_variants import KeptToken
from tests.testbed.tiny import is_one_line, killed

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
IDEAL, RADIO = Column("sim ideal", "sim", "ideal"), Column("sim radio", "sim", "radio")
FILES = {"report.md", "rows.json", "scenario.yaml"}
FIGURES = {"comparison.png", "comparison.svg", "comparison.pdf"}


@pytest.fixture(autouse=True)
def _no_figures(request, monkeypatch):
    """Drawing takes longer than everything else; one test does it."""
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


class SlowBackend(Backend):
    """Claims to need real time, and records in which process it ran and beside which others."""

    name = "slowly"
    summary = "for tests"
    real_time = True
    calls: ClassVar[list] = []

    def run_repetition(self, scenario, repetition, listener, report, folder, options):
        assert scenario.links.kind == "radio"
        assert scenario.backend == "slowly"
        self.calls.append((scenario.algorithm.name, repetition, os.getpid(), multiprocessing.active_children()))
        Simulation(scenario, Streams(scenario.seed, repetition), BatchedAudit(listener)).run_all(report)
        report(1.0)


@pytest.fixture
def slowly(monkeypatch) -> type[SlowBackend]:
    """A backend named `slowly`."""
    monkeypatch.setattr(SlowBackend, "calls", [])
    monkeypatch.setitem(BACKENDS, "slowly", f"{__name__}:SlowBackend")
    find_backend.cache_clear()
    return SlowBackend


def subject(text: str, *overrides: str) -> Subject:
    return Subject.build(yaml_reader.parse(text, "test"), list(overrides))


def described(scenario: Scenario) -> tuple:
    """What differs between a scenario in one column and in another."""
    return scenario.backend, scenario.links.kind, getattr(scenario.algorithm.parameters, "raise_interval", None)


def table(text: str) -> dict[str, list[str]]:
    """The rows of a table in Markdown, by their labels."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {label: cells for label, *cells in lines}


def test_sim_is_two_columns(scenario_file, tmp_path, capsys):
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
    """Metrics down, columns across, means with their intervals; and the files, with a figure."""
    command = ["compare", str(scenario_file), "--backends", "sim", "--algorithms", "rl,raymond-tree"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    (folder,) = (tmp_path / "out").glob("compare-*")
    assert text == (folder / "report.md").read_text()
    assert {path.name for path in folder.iterdir()} == FILES | FIGURES
    tables = text.split("## ")[1:]
    assert [table.splitlines()[0] for table in tables] == ["rl", "raymond-tree"]
    for text_of_one in tables:
        rows = table(text_of_one)
        assert rows["metric"] == ["sim ideal", "sim radio"]
        assert all(" ± " in cell for cell in rows["waiting time"])
        assert rows["frames per CS"][0] == "-"
        assert " ± " in rows["bytes per CS"][1]
        assert rows["checks"] == ["ok", "ok"]
        assert list(rows)[-1] == "checks"
    assert "raise_interval is 0 in sim ideal, 1 in sim radio." in tables[0]
    assert "raise_interval" not in tables[1]


def test_every_variant_in_every_column(scenario_file, tmp_path, capsys):
    """A table for each, titled by its name; what the links decide is in a name only if the variant sets it."""
    variants = ["--variant", "krl k=2", "--variant", "krl k=3 raise_interval=4", "--algorithms", "rl"]
    command = ["compare", str(scenario_file), "--backends", "sim", *variants, "--out", str(tmp_path / "out")]
    assert main(command) == 0
    tables = capsys.readouterr().out.split("## ")[1:]
    assert [table.splitlines()[0] for table in tables] == ["rl", "krl k=2", "krl raise_interval=4 k=3"]
    assert ["raise_interval is 0 in sim ideal, 1 in sim radio." in table for table in tables] == [True, True, False]
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["algorithm"], row["world"], row["parameters"].get("k")) for row in rows] == [
        (name, column, k)
        for name, k in (("rl", None), ("krl k=2", 2), ("krl raise_interval=4 k=3", 3))
        for column in ("sim ideal", "sim radio")
    ]
    assert [row["parameters"]["raise_interval"] for row in rows] == [0, 1, 0, 1, 4, 4]


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
    """What a scenario says holds everywhere; a default is that of the column."""
    one = subject(TEXT.replace("algorithm: rl", f"algorithm: {algorithm}") + f"links: {links}\n")
    own = one.scenario.algorithm.name
    assert described(one.point(IDEAL, Variant(own)).scenario) == ("sim", "ideal", in_ideal)
    assert described(one.point(RADIO, Variant(own)).scenario) == ("sim", "radio", in_radio)


def test_other_algorithms_are_paced_alike():
    """An override counts as much as the file; an algorithm without the parameter leaves it to the links."""
    assert described(subject(TEXT, "algorithm.raise_interval=2").point(RADIO, Variant("krl")).scenario)[2] == 2
    assert described(subject(TEXT).point(RADIO, Variant("krl")).scenario)[2] == 1
    assert described(subject(TEXT, "algorithm=raymond-tree").point(RADIO, Variant("krl")).scenario)[2] == 1
    assert described(subject(TEXT, "links=radio").point(IDEAL, Variant("krl")).scenario)[2] == 0


def test_radio_links_are_the_scenarios_own(slowly):
    """With their settings, in every column with radio links; the backend is that of the column."""
    one = subject(TEXT + "links: {kind: radio, loss: 0.1, hello: 2}\nbackend: slowly\n")
    for column in (RADIO, Column("slowly", "slowly", "radio")):
        assert one.point(column, Variant("rl")).scenario.links == one.scenario.links
        assert one.point(column, Variant("rl")).scenario.backend == column.backend
    assert one.point(IDEAL, Variant("rl")).scenario.backend == "sim"


@pytest.mark.parametrize("links", ["ideal", "radio"])
def test_the_scenario_that_is_kept_gives_the_same_columns(links, tmp_path):
    """Every default is written out except the one that depends on the column."""
    one = subject(TEXT, f"links={links}", "repeat=1", "duration=5")
    comparison = compare_backends(one, [], ["sim"], tmp_path, lambda share, what: None)
    again = Subject.load(comparison.out / "scenario.yaml")
    assert again.scenario == one.scenario
    points = [again.point(column, Variant("rl")) for column in (IDEAL, RADIO)]
    assert [point.scenario for point in points] == [one.scenario for one in comparison.cells]


def test_fading_has_no_ideal_column(tmp_path, capsys):
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
        (name, column) for name in ("rl", "krl") for column in document["worlds"]
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


def test_virtual_time_of_others_is_spread_like_the_simulators(slowly, tmp_path, monkeypatch):
    """A backend that does not need real time does not run alone."""
    monkeypatch.setattr(slowly, "real_time", False)
    comparison = compare_backends(subject(TEXT), [], ["slowly"], tmp_path, lambda share, what: None)
    assert slowly.calls == []  # those were made in workers
    assert [len(one.result.repetitions) for one in comparison.cells] == [2]
    assert [one.result.run_directory for one in comparison.cells] == [None]


def test_progress_is_over_everything(slowly, tmp_path):
    """From nothing to all, never back; the weight of real time is its length, here 2 x 30 s against four jobs."""
    seen: list[tuple[float, str]] = []
    compare_backends(subject(TEXT), [], ["sim", "slowly"], tmp_path, lambda *reported: seen.append(reported))
    shares = [share for share, _ in seen]
    assert shares == sorted(shares)
    assert (shares[0], round(shares[-1], 2)) == (0, 1)
    virtual = [share for share, what in seen if "virtual" in what]
    assert max(virtual) <= 4 / 64 <= min(share for share, what in seen if "virtual" not in what)


def test_a_failed_check_fails_the_comparison(scenario_file, tmp_path, capsys, monkeypatch):
    """Exit code 1; the table and a line say in which column."""
    monkeypatch.setitem(ALGORITHMS, "kept", KeptToken)
    command = ["compare", str(scenario_file), "--backends", "sim", "--algorithms", "kept"]
    assert main([*command, "--set", "links=radio", "--out", str(tmp_path / "out")]) == 1
    text = capsys.readouterr().out
    assert "kept in sim ideal: safety failed: " in text
    assert "FAILED |" in text


def test_killed_workers_cost_their_columns_only(slowly, scenario_file, tmp_path, capsys, monkeypatch):
    """Exit code 1 and a line for each repetition; the column in real time, which has no workers, is intact."""
    monkeypatch.setitem(ALGORITHMS, "killed", killed(ReverseLink, 0, 1))
    command = ["compare", str(scenario_file), "--backends", "sim,slowly", "--algorithms", "killed"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 1
    text = capsys.readouterr().out
    lost = "its worker process was killed by signal 9; is there enough memory?"
    assert [line for line in text.splitlines() if "worker process" in line] == [
        f"killed in {column}, repetition {repetition}: {lost}"
        for column in ("sim ideal", "sim radio")
        for repetition in (0, 1)
    ]
    rows = table(text)
    assert rows["checks"] == ["2 of 2 repetitions LOST", "2 of 2 repetitions LOST", "ok, timing not checked"]
    assert rows["waiting time"][:2] == ["-", "-"]
    assert " ± " in rows["waiting time"][2]


def test_verdicts_in_a_cell():
    """A check that could not be made is named."""

    def verdict(**checks: str) -> str:
        judged = {name: Verdict(one).as_dict() for name, one in checks.items()}
        return PointResult(Point("x", loads(TEXT)), [{"checks": judged, "metrics": {}}]).verdict()

    assert verdict(safety=OK, order=OK) == "ok"
    assert verdict(safety=FAILED, order=FAILED, starvation=NOT_CHECKED) == "safety, order FAILED"
    assert verdict(safety=FAILED, progress=INCONCLUSIVE) == "safety FAILED"
    assert verdict(safety=OK, progress=INCONCLUSIVE, order=NOT_CHECKED) == "progress inconclusive"
    assert verdict(safety=OK, order=NOT_CHECKED) == "ok, order not checked"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "compare: found nothing to compare"),
        ("--backends sim,nowhere", "--backends: found 'nowhere'; allowed: sim"),
        ("--backends sim,sim", "--backends: found 'sim,sim'; allowed: one or more different backends"),
        ("--backends ,", "--backends: found ','; allowed: one or more"),
        ("--backends sim --backend sim", "compare: found both --backend and --backends"),
        ("--backends sim --algorithms unknown", "--algorithms: found 'unknown'"),
        ("--backends sim --algorithms ,", "--algorithms: found ','; allowed: one or more"),
        ("--backends sim --set nodes=0", "--set nodes=0: nodes: found 0"),
        ("--backends sim --variant krk", "--variant 'krk': name: found 'krk'"),
        ("--algorithms rl", "compare: found only rl; allowed: two or more"),
    ],
)
def test_bad_options(options, said, scenario_file, tmp_path, capsys):
    """One line, exit code 2, nothing run."""
    assert main(["compare", str(scenario_file), *options.split(), "--out", str(tmp_path / "runs")]) == 2
    error = capsys.readouterr().err
    assert is_one_line(error)
    assert error.startswith(f"testbed: {said}")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("options", ["--backends sim,slowly", "--algorithms rl,krl --set links=radio --backend slowly"])
def test_a_backend_that_cannot_run_here_stops_all_before_anything_runs(
    options, slowly, scenario_file, tmp_path, capsys, monkeypatch
):
    """Exit code 3 and what to install; nothing has run, and no directory was made."""
    monkeypatch.setattr(slowly, "missing", lambda self: "needs patience: install some")
    monkeypatch.setattr("testbed.experiments.studies.pool.spread", lambda *_: pytest.fail("something ran"))
    command = ["compare", str(scenario_file), *options.split(), "--out", str(tmp_path / "runs")]
    assert main(command) == 3
    assert capsys.readouterr().err == "testbed: backend slowly: needs patience: install some\n"
    assert not (tmp_path / "runs").exists()
