"""A study is run into its store: what is missing, nothing twice, real time after virtual time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.registry import ALGORITHMS
from analysis.store import Store
from testbed.experiments.failed import MAX_KEPT
from testbed.experiments.measure import measure
from testbed.experiments.studies import code
from testbed.experiments.studies.study import Study
from testbed.experiments.studies.study_file import read_study
from testbed.experiments.studies.sweep import Sweep, exit_code, failures, results_of
from tests.testbed.network.test_faults import Broken
from tests.testbed.tiny import Unsafe

STUDY = """
scenario:
  algorithm: rl
  nodes: 4
  topology: complete
  workload: {rate: 1}
  duration: 10
  repeat: 2
vary: {workload.rate: [0.5, 1, 2]}
"""


def study_of(folder: Path, text: str = STUDY) -> Study:
    path = folder / "study.yaml"
    path.write_text(text)
    return read_study(path)


def run(study: Study, store: Store) -> tuple[Sweep, list[str]]:
    """Run a study; gives the points that it told of, in order."""
    told: list[str] = []

    def on_point(point: Any, outcomes: list[dict[str, Any]]) -> None:
        told.append(f"{point.label}: {len(outcomes)}")

    sweep = Sweep(study, store, on_point=on_point)
    sweep.run(lambda share, words: None)
    return sweep, told


def test_results_are_those_of_single_runs(tmp_path: Path) -> None:
    """A row for every repetition, in the order of the points."""
    study = study_of(tmp_path)
    with Store(tmp_path / "store") as store:
        sweep, told = run(study, store)
        results = sweep.results()
    alone = [measure(point.scenario, number) for point in study.points for number in range(2)]
    assert [(row.repetition, row.metrics, row.checks) for row in results.rows] == [
        (one["repetition"], one["metrics"], one["checks"]) for one in alone
    ]
    assert [row.axes["workload.rate"] for row in results.rows] == [0.5, 0.5, 1, 1, 2, 2]
    assert (results.missing, results.notes, exit_code(results), failures(results)) == (0, (), 0, [])
    assert sorted(told) == ["workload.rate=0.5: 2", "workload.rate=1: 2", "workload.rate=2: 2"]


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    """With more values, more repetitions, or another name, what is there is taken as it is."""
    with Store(tmp_path / "store") as store:
        run(study_of(tmp_path), store)
        sweep, told = run(study_of(tmp_path), store)
        assert told == []
        renamed = "name: again\n" + STUDY.replace("[0.5, 1, 2]", "[2, 4]").replace("repeat: 2", "repeat: 3")
        sweep = Sweep(study_of(tmp_path, renamed), store)
        assert {(task.label, task.repetition) for task in sweep.missing()} == {
            ("workload.rate=2", 2), ("workload.rate=4", 0), ("workload.rate=4", 1), ("workload.rate=4", 2),
        }  # fmt: skip
        status = sweep.status()
        assert (status.points, status.wanted, status.done, status.missing, status.stale) == (2, 6, 2, 4, 0)
        _, told = run(sweep.study, store)
        assert sorted(told) == ["workload.rate=2: 3", "workload.rate=4: 3"]
        assert sweep.status().missing == 0


def test_a_point_that_was_only_entered_is_not_stale(tmp_path: Path) -> None:
    """All points are entered before the first runs, and a kill may come then."""
    with Store(tmp_path / "store") as store:
        sweep = Sweep(study_of(tmp_path), store)
        sweep._record()
        assert (sweep.status().stale, sweep.status().missing) == (0, 6)


def test_results_of_other_code_are_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted, and run again; when the code is as it was, the old ones are there."""
    with Store(tmp_path / "store") as store:
        sweep, _ = run(study_of(tmp_path), store)
        before = sweep.results()
        with monkeypatch.context() as changed:
            changed.setattr(code, "_digest", lambda file: b"changed")
            code._fingerprint.cache_clear()
            other = Sweep(study_of(tmp_path), store)
            assert (other.status().stale, other.status().done, other.status().missing) == (3, 0, 6)
            other.run(lambda share, words: None)
            assert (other.status().stale, other.status().missing) == (0, 0)
        code._fingerprint.cache_clear()
        assert Sweep(study_of(tmp_path), store).results() == before


def test_results_without_the_study_file(tmp_path: Path) -> None:
    """By the plan in the store: the same rows, and how many are missing of a study that is not at its end."""
    with Store(tmp_path / "store") as store:
        sweep, _ = run(study_of(tmp_path), store)
        assert results_of(store.plan(), store) == sweep.results()
        store.remove(sweep.study.points[0].stored.jobs(2))
        found = results_of(store.plan("study"), store)
        assert (found.missing, len(found.rows)) == (2, 4)


def test_two_studies_share_points(tmp_path: Path) -> None:
    """In one store; each has its own plan."""
    with Store(tmp_path / "store") as store:
        run(study_of(tmp_path), store)
        _, told = run(study_of(tmp_path, "name: other\n" + STUDY.replace("[0.5, 1, 2]", "[1, 9]")), store)
        assert told == ["workload.rate=9: 2"]
        assert len(results_of(store.plan("study"), store).rows) == 6
        assert len(results_of(store.plan("other"), store).rows) == 4


# -- failures ---------------------------------------------------------------------------------------------------------


def test_an_algorithm_that_breaks_the_contract_has_an_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its check failed, which is kept like any result, with a log, and not run again with `--retry`."""
    monkeypatch.setitem(ALGORITHMS, "broken", Broken)
    study = study_of(tmp_path, STUDY.replace("algorithm: rl", "algorithm: broken").replace("[0.5, 1, 2]", "[1, 2]"))
    with Store(tmp_path / "store") as store:
        sweep, told = run(study, store)
        results = sweep.results()
        assert sweep.forget(errors=True) == 0
    assert sorted(told) == ["workload.rate=1: 2", "workload.rate=2: 2"]
    assert exit_code(results) == 1
    said, replays = failures(results)[::2], failures(results)[1::2]
    assert [line.partition(": ")[2][:15] for line in said] == ["contract failed"] * 2
    assert all(line.startswith(f"  replay: testbed replay {tmp_path / 'store' / 'failed'}") for line in replays)
    assert "ZeroDivisionError" in failures(results)[0]
    assert len(list((tmp_path / "store" / "failed").iterdir())) == 4


def test_a_log_that_a_kill_left_behind_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the process had been killed after it wrote the log, before the result was in the store."""
    monkeypatch.setitem(ALGORITHMS, "unsafe", Unsafe)
    study = study_of(tmp_path, STUDY.replace("algorithm: rl", "algorithm: unsafe"))
    with Store(tmp_path / "store") as store:
        sweep, _ = run(study, store)
        before = sweep.results()
        folders = sorted((tmp_path / "store" / "failed").iterdir())
        assert len(folders) == 6 <= 3 * MAX_KEPT
        for folder in folders:
            (folder / "meta.json").unlink()
        store.remove([job for point in study.points for job in point.stored.jobs(2)])
        sweep, _ = run(study, store)
        again = sweep.results()
        assert [replace(row, seconds=None) for row in again.rows] == [replace(row, seconds=None) for row in before.rows]
        assert again.notes == ()
        assert all((folder / "meta.json").is_file() for folder in folders)


# -- real time --------------------------------------------------------------------------------------------------------

REAL = """
scenario:
  algorithm: rl
  nodes: 2
  topology: complete
  workload: {rate: 20}
  links: radio
  duration: 0.3
  drain: 2
  repeat: REPEAT
backends: [loopback, sim]
vary: {seed: [1]}
"""


@pytest.mark.xdist_group("stations")
def test_real_time_comes_last_and_can_be_run_again(tmp_path: Path) -> None:
    """Then with new run directories; more repetitions go on from those that are there."""
    with Store(tmp_path / "store") as store:
        sweep, told = run(study_of(tmp_path, REAL.replace("REPEAT", "1")), store)
        assert told == ["backend=sim, seed=1: 1", "backend=loopback, seed=1: 1"]
        real = next(point for point in sweep.study.points if point.stored.is_real_time)
        first = store.get([real.stored.job(0)])[real.stored.job(0)].outcome
        assert first is not None
        assert Path(first["run_dir"], "summary.json").is_file()

        assert sweep.forget(real_time=True) == 1
        assert {task.label for task in sweep.missing()} == {"backend=loopback, seed=1"}
        _, told = run(sweep.study, store)
        assert told == ["backend=loopback, seed=1: 1"]
        fresh = store.get([real.stored.job(0)])[real.stored.job(0)].outcome
        assert fresh is not None
        assert fresh["run_dir"] != first["run_dir"]

        sweep, _ = run(study_of(tmp_path, REAL.replace("REPEAT", "2")), store)
        assert store.get([real.stored.job(0)])[real.stored.job(0)].outcome == fresh
        assert [row.repetition for row in sweep.results().rows] == [0, 1, 0, 1]
        assert len(list((tmp_path / "store").glob("runs/*/meta.json"))) == 3
