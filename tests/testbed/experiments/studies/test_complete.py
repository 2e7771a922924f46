"""Jobs that several processes complete, some of which are killed: none is lost, and none is run twice without need."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from analysis.store import FILE
from testbed.experiments.workers import cores
from tests.testbed.experiments.studies.counted import Counted, group_of, kill, wait_until

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start `testbed sweep` for a study; what is left of it at the end of the test is ended."""
    started: list[subprocess.Popen[str]] = []

    def begin(study: Counted, *options: object, **told: object) -> subprocess.Popen[str]:
        started.append(study.start(*options, **told))
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def finished(study: Counted) -> set[int]:
    """The points whose results the store has now, read as any program would read it."""
    with closing(sqlite3.connect(study.store / FILE, timeout=60)) as store:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        question = "SELECT scenario FROM points JOIN results ON job = point || '-00000' WHERE error IS NULL"
        return {json.loads(text)["algorithm"]["number"] for (text,) in store.execute(question)}


# -- one process that is killed ---------------------------------------------------------------------------------------


def test_a_study_that_is_killed_five_times(tmp_path: Path, start: Start) -> None:
    """Of 1,000 points all are there in the end, and none is run again that was there at a kill."""
    study, kills = Counted(tmp_path, 1_000), 5
    seen: list[tuple[int, set[int]]] = []
    for number, moment in enumerate(sorted(Random(4).sample(range(20, 960), kills))):
        running = start(study)
        wait_until(lambda moment=moment: len(study.lines()) >= moment, "the study does not go on")
        kill(running, whole_group=bool(number % 2))
        seen.append((len(study.lines()), finished(study)))
    document = study.status()
    assert (document["runs"], document["done"]) == (1_000, len(seen[-1][1]))
    assert (document["missing"], document["failed"]) == (1_000 - document["done"], [])
    assert (document["stale_points"], document["running_elsewhere"]) == (0, 0)
    code, out, _ = study.sweep()
    assert (code, out) == (0, f"counted: 1000 points, 1000 repetitions\nstore: {study.store}\n")
    assert finished(study) == set(range(1_000))
    numbers = [int(line.split()[0]) for line in study.lines()]
    assert set(numbers) == set(range(1_000))
    for lines, there in seen:
        assert there <= set(numbers[:lines])
        assert not there & set(numbers[lines:])
    assert len(numbers) - 1_000 <= kills * cores()  # those that ran at the moment of a kill


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_study_goes_on(number: signal.Signals, code: int, tmp_path: Path, start: Start) -> None:
    """Ctrl-C or SIGTERM: one line, no process and no claim is left, and the next sweep runs the rest only."""
    study = Counted(tmp_path, 60)
    running = start(study)
    wait_until(lambda: len(study.lines()) >= 20, "the study does not go on")
    os.killpg(running.pid, number)
    _, err = running.communicate(timeout=60)
    assert running.returncode == code
    assert err.splitlines()[-1] == ("testbed: interrupted" if code == 130 else "testbed: interrupted by SIGTERM")
    assert "Traceback" not in err
    assert not group_of(running.pid)
    assert not list((study.store / "owners").iterdir())
    there, lines = finished(study), len(study.lines())
    assert 0 < len(there) < 60
    assert study.sweep()[0] == 0
    assert {int(line.split()[0]) for line in study.lines()[lines:]} == set(range(60)) - there


# -- two processes ----------------------------------------------------------------------------------------------------


def test_two_processes_share_the_work(tmp_path: Path, start: Start) -> None:
    """Each runs some, none runs what the other does, and both end when all is there."""
    study = Counted(tmp_path, 40)
    both = [start(study, MEETS=1) for _ in range(2)]  # each waits in its first run until the other has begun one
    outputs = [one.communicate(timeout=60) for one in both]
    assert [one.returncode for one in both] == [0, 0], outputs
    first, second = (study.computed_by(one.pid) for one in both)
    assert first
    assert second
    assert not first & second
    assert study.computed() == dict.fromkeys(range(40), 1)
    for out, err in outputs:
        assert out.startswith("counted: 40 points, 40 repetitions\n")
        assert err.count("repetitions, waiting time") == 40  # each tells of every point


def test_a_process_takes_over_what_another_had_begun(tmp_path: Path, start: Start) -> None:
    """It waits for the other while that lives, and says so; when the other is killed, it runs those points too."""
    study = Counted(tmp_path, 12)
    hanging = start(study, HANGS=1)
    wait_until(lambda: len(study.computed_by(hanging.pid)) == min(cores(), 12), "no work is begun")
    theirs = study.computed_by(hanging.pid)
    waiting = start(study)
    wait_until(lambda: len(finished(study)) == 12 - len(theirs), "the rest is not run")
    document = study.status()
    assert (document["done"], document["running_elsewhere"]) == (12 - len(theirs), len(theirs))
    assert waiting.poll() is None
    kill(hanging, whole_group=False)
    _, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, finished(study)) == (0, set(range(12))), err
    assert study.computed_by(waiting.pid) == set(range(12))
    assert study.computed() == {number: 1 + (number in theirs) for number in range(12)}


# -- errors -----------------------------------------------------------------------------------------------------------


def test_a_worker_that_exits_is_kept_with_its_error(tmp_path: Path) -> None:
    """The other points are there; the error stays until the user asks for another try."""
    study = Counted(tmp_path, 8)
    text = "algorithm.number=3, repetition 0: its worker process ended with exit code 7"
    code, out, _ = study.sweep(EXITS="3")
    assert code == 1
    assert out.splitlines()[0] == text
    assert finished(study) == set(range(8)) - {3}
    document = study.status()
    assert (document["done"], document["missing"], document["failed"]) == (7, 0, [text])
    assert study.sweep()[0] == 1  # nothing is run
    assert study.computed() == dict.fromkeys(range(8), 1)
    code, out, err = study.sweep("--retry")
    assert (code, study.status()["failed"]) == (0, [])
    assert err.startswith("testbed: counted: 8 points, 8 runs, 7 there, 1 missing; 1 to run again\n")
    assert study.computed() == {number: 1 + (number == 3) for number in range(8)}
