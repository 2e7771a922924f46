"""Sees to it that jobs have ended: runs those that have not, beside other processes that may do the same.

Jobs in virtual time are spread over a pool. Those in real time come after them, a point at a time, when no other
process runs any in virtual time for the same store.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.store import Store
from testbed.errors import TestbedError
from testbed.experiments.failed import FailedLogs
from testbed.experiments.measure import RepetitionJob
from testbed.experiments.studies.job import StoredPoint
from testbed.experiments.studies.pool import Pool
from testbed.experiments.workers import Failure, JobFailed
from testbed.progress import Report

_POLL_S = 0.3


@dataclass(frozen=True)
class Task:
    """One repetition of a point that is wanted."""

    point: StoredPoint
    repetition: int
    label: str
    """What messages call the point."""
    weight: float = 1.0
    """How long it takes compared with others, for the progress shown and the order."""
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.point.job(self.repetition))


OnEnd = Callable[[Task, Failure | None], bool]
"""Takes a task that this process has ended, and its failure if it has no outcome. Returns whether to keep a failure in
the store; without that, the task counts as not run. It may raise an exception to end all."""


def complete(
    tasks: Sequence[Task],
    store: Store,
    pool: Pool,
    out: Path,
    on_end: OnEnd,
    report: Report,
    what: str,
    runs: str = "",
) -> None:
    """Run the tasks that have not ended, and wait for those that other processes run.

    `out` is for logs of repetitions that fail, and the folder `runs` in it for those in real time.
    """
    runner = _Runner(tasks, store, pool, out, on_end, report, what, runs)
    runner.prepare(tasks)
    virtual = [task for task in tasks if not task.point.is_real_time]
    runner.complete(virtual, runner.run_virtual)
    real = [task for task in tasks if task.point.is_real_time]
    runner.complete(real, runner.run_real)


class _Runner:
    def __init__(
        self,
        tasks: Sequence[Task],
        store: Store,
        pool: Pool,
        out: Path,
        on_end: OnEnd,
        report: Report,
        what: str,
        runs: str,
    ) -> None:
        self._store, self._pool, self._out, self._runs = store, pool, out, out / runs
        self._on_end, self._report, self._what = on_end, report, what
        self._total = sum(task.weight for task in tasks) or 1.0
        ended = store.states([task.name for task in tasks])
        self._done = sum(task.weight for task in tasks if task.name in ended)
        self._unkept: set[str] = set()

    def prepare(self, tasks: Sequence[Task]) -> None:
        """See that all that is to run can run, before anything is started."""
        scenarios = [task.point.scenario for task in self._missing(tasks)]
        self._pool.prepare(scenarios, lambda words: self._report(self._done / self._total, f"{self._what}: {words}"))

    def complete(self, tasks: Sequence[Task], run: Callable[[list[Task]], int]) -> None:
        """Run what can be run until all tasks have ended."""
        while missing := self._missing(tasks):
            if not run(missing):
                self._report(self._done / self._total, f"{self._what}: waiting for another process")
                time.sleep(_POLL_S)

    def _missing(self, tasks: Sequence[Task]) -> list[Task]:
        ended = self._store.states([task.name for task in tasks])
        return [task for task in tasks if task.name not in ended and task.name not in self._unkept]

    # -- virtual time ------------------------------------------------------------------------------------------------

    def run_virtual(self, tasks: list[Task]) -> int:
        """Run those that no other process runs; returns how many."""
        jobs = [RepetitionJob(task.point.scenario, task.repetition, failed=self._logs(task)) for task in tasks]
        # The heaviest first, so that no core is left alone with a long job at the end.
        order = sorted(range(len(tasks)), key=lambda index: -tasks[index].weight)
        claimed: set[int] = set()

        def claims() -> Iterator[int]:
            for index in order:
                if self._store.claim(tasks[index].name):
                    claimed.add(index)
                    yield index

        def progress(shares: dict[int, float], words: str) -> None:
            running = sum(tasks[index].weight * share for index, share in shares.items())
            self._report((self._done + running) / self._total, self._what)

        ran = 0
        try:
            with closing(self._pool.spread(jobs, claims(), progress)) as finished:
                for done in finished:
                    claimed.discard(done.index)
                    self._end(tasks[done.index], done.result, done.seconds)
                    ran += 1
        finally:
            for index in claimed:
                self._store.release(tasks[index].name)
        return ran

    def _logs(self, task: Task) -> FailedLogs:
        return FailedLogs(self._out / "failed", f"{_file_name(task.label)}-{task.point.name[:8]}")

    def _end(self, task: Task, result: dict[str, Any] | Failure, seconds: float | None) -> None:
        self._done += task.weight
        if not isinstance(result, Failure):
            self._store.put([(task.name, result, None, seconds)])
            self._on_end(task, None)
            return
        if not task.point.is_real_time:  # there the text says what it is about
            result = result.of(f"{task.label}, repetition {task.repetition}")
        if self._on_end(task, result):
            self._store.put([(task.name, None, json.dumps({"text": result.text, "trace": result.trace}), seconds)])
        else:
            self._unkept.add(task.name)
            self._store.release(task.name)

    # -- real time ---------------------------------------------------------------------------------------------------

    def run_real(self, tasks: list[Task]) -> int:
        """Run the next point that no other process runs, all its repetitions; returns how many."""
        first = next((task for task in tasks if self._store.claim(task.name)), None)
        if first is None:
            return 0
        mine = [first]
        for task in tasks:
            is_next = task.point is first.point and task.repetition == mine[-1].repetition + 1
            if is_next and self._store.claim(task.name):
                mine.append(task)
        scenario = first.point.scenario.model_copy(update={"repeat": len(mine)})
        weight, start = sum(task.weight for task in mine), self._done
        began = time.perf_counter()

        def progress(share: float, words: str) -> None:
            self._report((start + share * weight) / self._total, words)

        try:
            result = self._pool.run(scenario, first.repetition, self._runs, progress)
        except TestbedError as error:
            trace = error.trace if isinstance(error, JobFailed) else ""
            for task in mine:
                self._end(task, Failure(str(error), error.exit_code, trace), None)
            return len(mine)
        except BaseException:
            for task in mine:
                self._store.release(task.name)
            raise
        each = (time.perf_counter() - began) / len(mine)
        outcomes = [{**one, "run_dir": str(result.path)} for one in result.summary["repetitions"]]
        self._store.put([(task.name, outcome, None, each) for task, outcome in zip(mine, outcomes, strict=True)])
        self._done += weight
        for task in mine:
            self._on_end(task, None)
        return len(mine)


def _file_name(label: str) -> str:
    """A label as the beginning of the names of folders."""
    return "".join(c if c.isalnum() or c in "-_.=" else "-" for c in label)[:80]
