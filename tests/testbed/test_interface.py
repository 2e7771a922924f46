"""The Python interface: what scripts and notebooks call."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import testbed
from testbed.errors import InputError, ScenarioError
from testbed.experiments.studies import complete

TEXT = """
name: small
algorithm: rl
nodes: 5
topology: complete
workload: {rate: 0.1}
duration: 30
repeat: 2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The repetitions that were run, not taken from a store: by label and number."""
    seen: list[tuple[str, int]] = []
    real = complete._Runner._end

    def note(self: Any, task: Any, result: Any, seconds: Any) -> None:
        seen.append((task.label, task.repetition))
        real(self, task, result, seconds)

    monkeypatch.setattr(complete._Runner, "_end", note)
    return seen


def test_importing_it_loads_nothing_heavy() -> None:
    """Neither the interface itself nor pandas, until something of it is used."""
    code = "import sys, testbed; print('testbed.interface' in sys.modules, 'pandas' in sys.modules); testbed.load"
    code += "; print('testbed.interface' in sys.modules, 'pandas' in sys.modules, 'dask' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "False False\nTrue False False\n"
    with pytest.raises(AttributeError, match="no attribute 'swep'"):
        testbed.swep  # noqa: B018


def test_a_scenario_with_changes(file: Path) -> None:
    """Values of any type, also lists and texts that look like something else."""
    scenario = testbed.load(file, {"workload.rate": 1, "name": "true", "nodes": 7})
    assert (scenario.workload.rate_of(0), scenario.name, scenario.nodes) == (1, "true", 7)
    with pytest.raises(ScenarioError, match=r"workload\.rat: found unknown key"):
        testbed.load(file, {"workload.rat": 1})


def test_a_run(file: Path, tmp_path: Path) -> None:
    """Its verdicts, its metrics, its directory and a frame, the same as when it is opened again."""
    result = testbed.run(file, tmp_path / "runs")
    assert result.passed
    assert result.checks["safety"]["verdict"] == "ok"
    again = testbed.open_run(result.path)
    assert again.metrics["waiting_time"]["mean"] == result.metrics["waiting_time"]["mean"] > 0
    assert result.frame().equals(again.frame())
    assert list(result.frame()["repetition"]) == [0, 1]
    entries = again.events("enter")
    assert len(entries) == result.frame()["entries"][0]
    assert entries["t_units"].is_monotonic_increasing
    waits = again.waiting_times()
    assert waits["waiting_units"].groupby(waits["repetition"]).mean()[0] == pytest.approx(
        result.frame()["waiting_time_mean_units"][0]
    )
    assert "safety" in result._repr_html_()
    with pytest.raises(InputError, match="not a run directory"):
        testbed.open_run(tmp_path / "nowhere")


def test_a_comparison_is_kept(file: Path, tmp_path: Path, ran: list[tuple[str, int]]) -> None:
    """The second call runs nothing and says so; one more algorithm costs its own runs only."""
    first = testbed.compare(file, ["rl", {"name": "krl", "k": 2}], out=tmp_path / "runs")
    assert sorted(ran) == [("krl", 0), ("krl", 1), ("rl", 0), ("rl", 1)]
    assert not any("in the store" in note for note in first.notes)
    ran.clear()
    second = testbed.compare(file, ["rl", {"name": "krl", "k": 2}], out=tmp_path / "runs")
    assert ran == []
    assert any("4 of 4 repetitions were in the store" in note for note in second.notes)
    assert second.frame().equals(first.frame())
    testbed.compare(file, ["rl", "raymond-tree"], out=tmp_path / "runs")
    assert sorted(ran) == [("raymond-tree", 0), ("raymond-tree", 1)]
    assert set(first.frame()["algorithm"]) == {"rl", "krl"}
    assert "krl" in first._repr_html_()


def test_worlds_side_by_side(file: Path, tmp_path: Path) -> None:
    """A frame with a row for every repetition in every column."""
    worlds = testbed.compare(file, backends=["sim"], out=tmp_path / "runs")
    assert list(worlds.frame()["world"]) == ["sim ideal"] * 2 + ["sim radio"] * 2
    assert "sim radio" in worlds._repr_html_()


def test_a_sweep_of_a_file(file: Path, ran: list[tuple[str, int]]) -> None:
    """Its store is beside it, so that the second call runs only what is new."""
    study = testbed.sweep(file, {"workload.rate": [0.1, 1]}, algorithms=["rl", "krl"])
    assert len(ran) == 8
    assert study.passed
    assert study.failures == []
    assert (file.with_suffix(".store") / "results.sqlite").exists()
    ran.clear()
    more = testbed.sweep(file, {"workload.rate": [0.1, 1, 3]}, algorithms=["rl", "krl"], repeat=2)
    assert sorted(ran) == [(f"{name}, workload.rate=3", number) for name in ("krl", "rl") for number in (0, 1)]
    assert len(more.frame()) == 12
    assert "12 repetitions" in more._repr_html_()
    assert len(testbed.open_study(file.with_suffix(".store")).frame()) == 12
    assert "rl" in study.table(columns="workload.rate").render("md")
    with pytest.raises(InputError, match=r"did you mean workload\.rate"):
        study.table(columns="workload.rat")


def test_a_sweep_in_memory(file: Path, tmp_path: Path) -> None:
    """A scenario that is in no file has no store, and gives the same rows."""
    scenario = testbed.load(file)
    one = testbed.sweep(scenario, {"workload.rate": [0.1, 1]}, algorithms=["rl"], repeat=2)
    assert one.store is None
    other = testbed.sweep(file, {"workload.rate": [0.1, 1]}, algorithms=["rl"])
    assert one.frame().drop(columns="seconds").equals(other.frame().drop(columns="seconds"))


def test_repetitions_until_an_interval_is_narrow(file: Path) -> None:
    """The dictionary of a study file."""
    repeat = {"until": {"waiting_time": "30 %"}, "at_least": 3, "at_most": 12}
    study = testbed.sweep(testbed.load(file), {"workload.rate": [0.1, 1]}, repeat=repeat)
    counts = study.frame().groupby("workload.rate").size()
    assert counts.between(3, 12).all()
    with pytest.raises(ScenarioError, match="did you mean waiting_time"):
        testbed.sweep(testbed.load(file), repeat={"until": {"waiting_tim": "5 %"}})
