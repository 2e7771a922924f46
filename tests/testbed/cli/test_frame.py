"""`testbed frame`: results as CSV and Parquet, one row per repetition."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from testbed.cli.main import main
from testbed.experiments.studies.open import open_results
from tests.testbed.cli.swept import last_line, swept


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return swept(tmp_path_factory.mktemp("study"))


def test_csv(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    capsys.readouterr()
    file = tmp_path / "new" / "results.csv"
    assert main(["frame", str(study), "--to", str(file)]) == 0
    assert capsys.readouterr().out.startswith(f"{file}: 16 rows, ")
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    for row, one in zip(rows, open_results(study).rows, strict=True):
        assert row["algorithm"] == one.axes["algorithm"]
        assert float(row["workload.rate"]) == one.axes["workload.rate"]
        assert int(row["repetition"]) == one.repetition
        assert float(row["waiting_time_mean_units"]) == one.metrics["waiting_time"]["mean"]
        assert row["check_safety"] == "ok"


def test_parquet_keeps_types(study: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    from analysis.frames import results_frame

    file = tmp_path / "results.parquet"
    assert main(["frame", str(study), "--to", str(file)]) == 0
    frame = results_frame(open_results(study))
    pd.testing.assert_frame_equal(pd.read_parquet(file), frame, check_categorical=False)
    assert str(pd.read_parquet(file)["entries"].dtype) == "Int64"


@pytest.mark.parametrize("name", ["results.xls", "results"])
def test_other_suffixes(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    capsys.readouterr()
    assert main(["frame", str(study), "--to", str(tmp_path / name)]) == 2
    assert "allowed: .parquet or .csv" in last_line(capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("suffix", "extra"), [("parquet", "parquet"), ("csv", "plots")])
def test_without_the_extra(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, suffix: str, extra: str
) -> None:
    """One line with the command that gets it, before the study is even read."""
    monkeypatch.setattr("testbed.extras.find_spec", lambda name: None)
    capsys.readouterr()
    assert main(["frame", str(study.with_name("not there.yaml")), "--to", f"results.{suffix}"]) == 3
    assert f"this needs the extra {extra}: " in last_line(capsys.readouterr().err)


def test_a_folder_that_cannot_be_written(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    (tmp_path / "file").touch()
    capsys.readouterr()
    assert main(["frame", str(study), "--to", str(tmp_path / "file" / "results.csv")]) in (2, 3)
    assert str(tmp_path / "file") in last_line(capsys.readouterr().err)
