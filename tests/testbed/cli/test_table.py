"""`testbed table`: tables of a study that was run, and one line for what is wrong."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from analysis import stats
from testbed.cli.main import main
from testbed.experiments.studies.open import open_results
from tests.testbed.cli.swept import last_line, swept


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return swept(tmp_path_factory.mktemp("study"))


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert main(["table", *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_the_numbers_of_the_store(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Means and intervals over the repetitions, by file and by store."""
    options = ("--rows", "algorithm,topology.connectivity", "--columns", "workload.rate", "--format", "csv")
    text = printed(capsys, study, *options)
    assert text == printed(capsys, study.with_suffix(".store"), *options)
    header, *rows = csv.reader(text.splitlines())
    assert header[:2] == ["algorithm", "topology.connectivity"]
    assert len(rows) == 4
    point = {"algorithm": "krl", "topology.connectivity": 0.4, "workload.rate": 1}
    waits = [row.metrics["waiting_time"]["mean"] for row in open_results(study).rows if row.axes == point]
    (row,) = [row for row in rows if row[:2] == ["krl", "0.4"]]
    mean, half = (float(row[header.index(f"workload.rate = 1{end}")]) for end in ("", " ± 95 %"))
    assert (mean, half) == pytest.approx((stats.mean(waits), stats.ci95(waits)), rel=1e-9)


def test_formats(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "| rl, 0.4 " in printed(capsys, study)
    assert r"\begin{tabular}{lrr}" in printed(capsys, study, "--format", "latex")
    text = printed(capsys, study, "--baseline", "rl", "--y", "messages_per_cs")
    assert "messages per CS, difference from rl (messages)" in text
    assert "| rl" not in text


def test_a_run_has_one_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "one.yaml"
    scenario.write_text("{name: one, algorithm: rl, nodes: 4, topology: complete, workload: {rate: 0.1}, duration: 50}")
    assert main(["run", str(scenario), "--out", str(tmp_path / "runs")]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    assert "| rl " in printed(capsys, run)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--y", "watting_time"], "metric: found watting_time; did you mean waiting_time?"),
        (["--y", "waiting_time.p9"], "column of waiting_time: found p9; allowed: one of mean, p50, p95, max"),
        (["--rows", "algoritm"], "(did you mean algorithm?)"),
        (["--columns", "workload.rat"], "(did you mean workload.rate?)"),
        (["--rows", "algorithm"], "topology.connectivity has several values (0.4, 1): give it a place"),
        (["--where", "workload.rate"], "--where workload.rate: found no axis=value"),
        (["--where", "workload.rate=7"], "workload.rate: found 7; allowed: one of 0.05, 1"),
        (["--baseline", "maekawa"], "baseline: found maekawa; allowed: one of rl, krl"),
        (["--y", "frames_per_cs"], "frames_per_cs was not measured in any of 16 repetitions"),
        (["--store", "nowhere"], "nowhere: not a store"),
    ],
)
def test_wrong_options(study: Path, capsys: pytest.CaptureFixture[str], options: list[str], line: str) -> None:
    """One line, exit code 2, and nothing on stdout."""
    capsys.readouterr()
    assert main(["table", str(study), *options]) == 2
    captured = capsys.readouterr()
    assert line in last_line(captured.err)
    assert captured.out == ""


def test_wrong_studies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        assert main(["table", str(path)]) == 2
        assert str(path) in last_line(capsys.readouterr().err)


def test_what_is_missing_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Results are shown as far as they are there."""
    study = swept(tmp_path)
    study.write_text(study.read_text().replace("repeat: 2", "repeat: 3"))
    capsys.readouterr()
    assert main(["table", str(study)]) == 0
    captured = capsys.readouterr()
    assert last_line(captured.err) == "testbed: small: 8 repetitions have no result"
    assert "2 repetitions each" in captured.out
