"""How long the rest of a study takes: by samples, by what has run, or by the clock of real time."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.registry import ALGORITHMS
from analysis.store import Store
from testbed.experiments.studies import estimate
from testbed.experiments.studies.estimate import seconds_left
from testbed.experiments.studies.sweep import Sweep
from testbed.experiments.workers import cores
from tests.testbed.experiments.studies.test_sweep import REAL, STUDY, study_of
from tests.testbed.tiny import Unsafe


def test_samples_are_kept(tmp_path: Path) -> None:
    """They are results: the first, one in the middle and the last."""
    with Store(tmp_path / "store") as store:
        sweep = Sweep(study_of(tmp_path), store)
        left = seconds_left(sweep)
        assert left is not None
        assert left > 0
        assert sweep.status().done == estimate.SAMPLES
        assert [(task.label, task.repetition) for task in sweep.missing()] == [
            ("workload.rate=0.5", 1), ("workload.rate=1", 1), ("workload.rate=2", 0),
        ]  # fmt: skip


def test_what_has_run_is_the_measure(tmp_path: Path) -> None:
    """Then nothing is run."""
    study = study_of(tmp_path)
    with Store(tmp_path / "store") as store:
        store.put([(study.points[0].stored.job(0), {"repetition": 0, "metrics": {}, "checks": {}}, None, 8.0)])
        assert seconds_left(Sweep(study, store)) == pytest.approx(5 * 8.0 / min(cores(), 5))
        assert Sweep(study, store).status().done == 1


def test_nothing_is_left(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        sweep = Sweep(study_of(tmp_path), store)
        sweep.run(lambda share, words: None)
        assert seconds_left(sweep) == 0


def test_long_runs_are_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the share that is done when the time is up; such a sample is not kept."""
    monkeypatch.setattr(estimate, "LIMIT_S", 0.5)
    with Store(tmp_path / "store") as store:
        sweep = Sweep(study_of(tmp_path, STUDY.replace("duration: 10", "duration: 30000000")), store)
        left = seconds_left(sweep)
        assert left is None or left > 0.5
        assert sweep.status().done == 0


def test_a_sample_that_fails_is_left_to_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which keeps a log of it."""
    monkeypatch.setitem(ALGORITHMS, "unsafe", Unsafe)
    with Store(tmp_path / "store") as store:
        sweep = Sweep(study_of(tmp_path, STUDY.replace("algorithm: rl", "algorithm: unsafe")), store)
        assert seconds_left(sweep) is not None
        assert sweep.status().done == 0


def test_real_time_takes_its_time(tmp_path: Path) -> None:
    text = REAL.replace("REPEAT", "4").replace("backends: [loopback, sim]", "backends: [loopback]")
    with Store(tmp_path / "store") as store:
        assert seconds_left(Sweep(study_of(tmp_path, text), store)) == pytest.approx(4 * 0.3)
