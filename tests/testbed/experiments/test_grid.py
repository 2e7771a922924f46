"""Repetitions over the cores: the same results as one after the other, and no process left, however they end."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents.registry import ALGORITHMS
from agents.rl import ReverseLink
from analysis.audit import BatchedAudit
from testbed.errors import BackendError, InputError, TestbedError
from testbed.experiments import workers
from testbed.experiments.grid import Point, PointResult, run_points
from testbed.experiments.measure import measure
from testbed.experiments.workers import Failure, JobFailed, Worker, spread
from testbed.scenario.loader import loads
from tests.testbed.network.test_faults import Broken
from tests.testbed.tiny import interruptible, killed

TEXT = """
name: p
algorithm: rl
nodes: 8
topology: {kind: random, connectivity: 0.4}
workload: {rate: 0.1}
duration: 100
repeat: 3
"""
MEMORY = "its worker process was killed by signal 9; is there enough memory?"


def point(name: str, *overrides: str, weight: float = 1.0) -> Point:
    return Point(name, loads(TEXT, list(overrides)), weight)


def run_all(*points: Point) -> list[PointResult]:
    return run_points(points, "test", Path("no run directory is needed in virtual time"))


def alone(one: Point) -> list[dict[str, Any]]:
    """What the repetitions of a point measure, one after the other in this process."""
    return [measure(one.scenario, repetition) for repetition in range(one.scenario.repeat)]


# -- results ----------------------------------------------------------------------------------------------------------


def test_results_are_those_of_single_runs_and_in_order():
    """On any core, and with any weight."""
    points = [point("light"), point("heavy", "nodes=9", weight=5.0), point("other", "seed=2", "repeat=1", weight=2.0)]
    results = run_all(*points)
    assert [result.point for result in results] == points
    assert [result.repetitions for result in results] == [alone(one) for one in points]


def test_jobs_are_started_in_the_order_asked_for(monkeypatch):
    """With one worker they end in that order too, and each is named by its place in the list."""
    monkeypatch.setattr(workers, "cores", lambda: 1)
    with closing(spread(lambda job, report: job * 2, [3, 5, 7], [2, 0, 1], lambda shares, words: None)) as finished:
        assert [(done.index, done.result) for done in finished] == [(2, 14), (0, 6), (1, 10)]


def test_progress_begins_with_nothing_and_never_goes_back():
    """By the weight of what is done."""
    seen: list[float] = []
    points = [point("a", weight=2.0), point("b", "repeat=5")]
    run_points(points, "test", Path(), lambda share, what: seen.append(share))
    assert seen[0] == 0.0
    assert seen == sorted(seen)
    assert 0 < seen[-1] <= 1


# -- errors in workers ------------------------------------------------------------------------------------------------


def workers_left() -> list[Any]:
    return multiprocessing.active_children()


def test_an_agent_that_raises_fails_its_point(tmp_path, monkeypatch):
    """A line says in which repetition and node, and how to replay it; the traceback is beside the log."""
    monkeypatch.setitem(ALGORITHMS, "broken", Broken)
    broken, intact = run_points([point("b", "algorithm=broken"), point("i")], "test", tmp_path)
    assert (broken.verdict(), intact.verdict()) == ("contract FAILED", "ok")
    assert intact.repetitions == alone(intact.point)
    said, replay = broken.failures()
    assert re.match(r"b: contract failed: repetition 0: t=.*: broken: node \d in on_request\(.*ZeroDivision", said)
    (folder,) = (tmp_path / "failed").glob("b-*-rep-000")
    assert replay.startswith(f"  replay: testbed replay {folder} --repetition 0 --node ")
    assert "ZeroDivisionError" in (folder / "error.txt").read_text()
    assert not workers_left()


def test_an_error_of_a_worker_ends_all_repetitions(monkeypatch):
    """The error names the point and the repetition and has the traceback; no worker is left."""
    monkeypatch.setattr(BatchedAudit, "verdicts", lambda audit: 1 / 0)
    with pytest.raises(JobFailed, match=r"^p, repetition \d: a worker process failed: ZeroDivisionError") as raised:
        run_all(point("p"))
    assert "ZeroDivisionError" in raised.value.trace
    assert not workers_left()


class Unpicklable(Exception):
    """Cannot be made again from its arguments, as unpickling would."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


def results_of(work: workers.Work, count: int) -> dict[int, Any]:
    """The results of so many jobs, by index."""
    with closing(spread(work, range(count), range(count), lambda shares, words: None)) as finished:
        return {done.index: done.result for done in finished}


def test_an_exception_that_cannot_be_pickled():
    """It is named all the same, with the place where it was raised, and memory is not blamed."""

    def work(job: Any, report: Any) -> None:
        raise Unpicklable("this", "that")

    with pytest.raises(TestbedError, match=r"Unpicklable: this and that \(.*test_grid.py:\d+\)$"):
        raise results_of(work, 1)[0].error()


@pytest.mark.parametrize(
    ("error", "text", "exit_code", "has_trace"),
    [
        (InputError("seed: found -1"), "seed: found -1", 2, False),
        (BackendError("no radio"), "no radio", 3, False),
        (MemoryError(), "this machine has not enough memory for that", 3, False),
        (OSError(28, "No space left on device", "/tmp/log"), "/tmp/log: No space left on device", 3, False),
        (OSError(24, "Too many open files"), "Too many open files", 3, False),
        (ValueError("odd"), "a worker process failed: ValueError: odd (", 1, True),
    ],
)
def test_an_error_keeps_its_exit_code(error, text, exit_code, has_trace):
    """Only an error that its text does not explain has a traceback."""

    def work(job: Any, report: Any) -> None:
        raise error

    failure = results_of(work, 1)[0]
    assert failure.text.startswith(text)
    assert (failure.exit_code, bool(failure.trace), failure.is_lost) == (exit_code, has_trace, False)
    assert (str(failure.error()), failure.error().exit_code) == (failure.text, exit_code)


# -- workers that exit ------------------------------------------------------------------------------------------------


def test_a_killed_worker_loses_its_repetition_only(monkeypatch):
    """A line names the repetition; the others are what they would have been, and so are the other points."""
    monkeypatch.setitem(ALGORITHMS, "killed", killed(ReverseLink, 1))
    hit, intact = run_all(point("hit", "algorithm=killed"), point("intact"))
    whole = alone(intact.point)
    assert intact.repetitions == whole
    assert (intact.failures(), intact.verdict()) == ([], "ok")
    assert hit.repetitions == [whole[0], whole[2]]
    assert hit.values("entries") == [whole[0]["metrics"]["entries"], None, whole[2]["metrics"]["entries"]]
    assert hit.failures() == [f"hit, repetition 1: {MEMORY}"]
    assert hit.verdict() == "1 of 3 repetitions LOST"


def test_a_point_of_which_nothing_is_left(monkeypatch):
    """It measured nothing; the other point is intact, although more workers were killed than there are cores."""
    monkeypatch.setitem(ALGORITHMS, "killed", killed(ReverseLink, *range(7)))
    hit, intact = run_all(point("hit", "algorithm=killed", "repeat=7"), point("intact"))
    assert intact.repetitions == alone(intact.point)
    assert hit.repetitions == []
    assert hit.failures() == [f"hit, repetition {repetition}: {MEMORY}" for repetition in range(7)]
    assert hit.verdict() == "7 of 7 repetitions LOST"
    assert hit.checks() == {}
    assert hit.metrics().keys() >= intact.metrics().keys()
    assert (hit.metrics()["waiting_time"]["mean"], hit.mean("waiting_time"), hit.ci95("entries")) == (None, None, None)


@pytest.mark.parametrize(
    ("leave", "text"),
    [
        (lambda: sys.exit(7), "its worker process ended with exit code 7"),
        (lambda: os._exit(0), "its worker process ended with exit code 0"),
        (lambda: os.kill(os.getpid(), signal.SIGUSR1), "its worker process was killed by signal 10"),
    ],
)
def test_however_a_worker_exits(leave, text):
    """The line says how; only a kill looks like a lack of memory. The other jobs are done."""

    def work(job: int, report: Any) -> int:
        if job == 1:
            leave()
        return job

    assert results_of(work, 5) == {0: 0, 1: Failure(text, is_lost=True), 2: 2, 3: 3, 4: 4}
    assert not workers_left()


# -- interrupts -------------------------------------------------------------------------------------------------------


@pytest.fixture
def _interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt here, even if the suite is a background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("_interrupts")
def test_an_interrupt_while_workers_start(monkeypatch):
    """The worker that was just started is known, and ended."""

    def start(*arguments: Any) -> Worker:
        worker = Worker(*arguments)
        interrupt()
        return worker

    monkeypatch.setattr(workers, "Worker", start)
    with pytest.raises(KeyboardInterrupt):
        results_of(lambda job, report: time.sleep(60), 2)
    assert not workers_left()


@pytest.mark.usefixtures("_interrupts")
def test_interrupts_while_workers_end(monkeypatch):
    """A second and a third Ctrl-C do not leave workers behind."""
    close = Worker.close

    def interrupted(worker: Worker) -> None:
        interrupt()
        close(worker)

    monkeypatch.setattr(Worker, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_points([point("p", "duration=1e6")], "test", Path(), lambda share, what: interrupt())
    assert not workers_left()


def processes_of(session: int) -> list[int]:
    """The processes of a session, zombies left out."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    fields = stat.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry))
    return found


@pytest.mark.parametrize(
    ("send", "signum", "code", "says"),
    [
        (os.kill, signal.SIGINT, 130, b"testbed: interrupted\n"),
        (os.killpg, signal.SIGINT, 130, b"testbed: interrupted\n"),  # as a terminal does
        (os.kill, signal.SIGTERM, 143, b"testbed: interrupted by SIGTERM\n"),
        (os.killpg, signal.SIGTERM, 143, b"testbed: interrupted by SIGTERM\n"),
        (os.killpg, signal.SIGHUP, 129, b"testbed: interrupted by SIGHUP\n"),
        (os.kill, signal.SIGKILL, -9, b""),
    ],
    ids=["interrupt", "Ctrl-C", "kill", "kill all", "hangup", "kill -9"],
)
def test_nothing_is_left_behind(send, signum, code, says, tmp_path):
    """Ctrl-C, kill, a hangup and kill -9 of `testbed reproduce` end its workers in seconds; only the store is left."""
    command = [sys.executable, "-m", "testbed.cli", "reproduce", "rl", "--out", str(tmp_path)]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=interruptible,
    ) as running:
        try:
            deadline = time.monotonic() + 30
            while len(processes_of(running.pid)) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
            assert len(processes_of(running.pid)) >= 2, "no workers have started"
            send(running.pid, signum)
            assert running.wait(timeout=20) == code
            while processes_of(running.pid) and time.monotonic() < deadline:
                time.sleep(0.02)
            assert processes_of(running.pid) == []
            assert running.stderr is not None
            assert running.stderr.read() == says
        finally:  # a test that fails must not wait for them
            for left in processes_of(running.pid):
                os.kill(left, signal.SIGKILL)
    if code > 0:
        assert [path.name for path in tmp_path.iterdir()] == ["store"]
        assert list((tmp_path / "store" / "owners").iterdir()) == []
