"""`testbed figure`: files that it writes, and one line for what is wrong or missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.cli.main import main
from tests.testbed.cli.swept import last_line, swept


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return swept(tmp_path_factory.mktemp("study"))


def test_a_file_or_one_of_every_format(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The names are printed, and nothing else."""
    pytest.importorskip("seaborn")
    capsys.readouterr()
    one = tmp_path / "new" / "one.pdf"
    assert main(["figure", str(study), "--style", "paper-page", "--out", str(one)]) == 0
    assert capsys.readouterr().out == f"{one}\n"
    assert one.read_bytes().startswith(b"%PDF")
    folder = tmp_path / "folder"
    options = ["--baseline", "rl", "--y", "waiting_time.p95", "--x", "workload.rate", "--col", "topology.connectivity"]
    assert main(["figure", str(study), *options, "--out", str(folder)]) == 0
    files = [folder / f"small-waiting_time.p95.{suffix}" for suffix in ("png", "svg", "pdf")]
    assert capsys.readouterr().out == "".join(f"{file}\n" for file in files)
    assert all(file.stat().st_size > 2000 for file in files)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--y", "watting_time"], "did you mean waiting_time?"),
        (["--x", "workload.rat"], "(did you mean workload.rate?)"),
        (["--x", "algorithm", "--hue", "algorithm"], "algorithm: found in two places of the figure"),
        (["--baseline", "krll"], "(did you mean krl?)"),
        (["--out", "figure.jpg"], "--out figure.jpg: found .jpg; allowed: .pdf, .svg, .png, or a folder"),
    ],
)
def test_wrong_options(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    options: list[str], line: str,
) -> None:  # fmt: skip
    """One line, exit code 2, and no file."""
    pytest.importorskip("seaborn")
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["figure", str(study), *options]) == 2
    assert line in last_line(capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


def test_without_the_plots_extra(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line that says how to get it, before the study is even read."""
    monkeypatch.setattr("testbed.extras.find_spec", lambda name: None)
    capsys.readouterr()
    assert main(["figure", str(study.with_name("not there.yaml"))]) == 3
    line = last_line(capsys.readouterr().err)
    assert "figure: this needs the extra plots" in line
