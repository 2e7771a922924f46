"""How long what is missing of a study will take: by what has run, or else by a few samples."""

from __future__ import annotations

import time
from contextlib import closing

from testbed.experiments.failed import failed_checks
from testbed.experiments.grid import real_seconds
from testbed.experiments.measure import RepetitionJob
from testbed.experiments.studies.complete import Task
from testbed.experiments.studies.sweep import Sweep
from testbed.experiments.workers import Failure, cores

SAMPLES = 3
LIMIT_S = 5.0
"""So long samples may take; of one that takes longer, the share that is done by then counts."""


class _TimeIsUp(Exception):
    pass


def seconds_left(sweep: Sweep) -> float | None:
    """About how long the missing repetitions take here; None if not even a sample got anywhere.

    Samples that come to their end are results like others, and are kept in the store.
    """
    missing = sweep.missing()
    virtual = [task for task in missing if not task.point.is_real_time]
    real = [task for task in missing if task.point.is_real_time]
    seconds = sum(real_seconds(task.point.scenario) for task in real)
    if not virtual:
        return seconds
    typical = sweep.status().seconds
    if typical is None:
        typical = _sample(sweep, virtual)
    return None if typical is None else seconds + typical * len(virtual) / min(cores(), len(virtual))


def _sample(sweep: Sweep, tasks: list[Task]) -> float | None:
    """The mean time of a few of these tasks, spread over the study."""
    chosen = [tasks[number * (len(tasks) - 1) // max(1, SAMPLES - 1)] for number in range(SAMPLES)]
    chosen = list({task.name: task for task in chosen}.values())
    jobs = [RepetitionJob(task.point.scenario, task.repetition) for task in chosen]
    began, started, times = time.monotonic(), dict[int, float](), dict[int, float]()

    def look(shares: dict[int, float], words: str) -> None:
        now = time.monotonic()
        for index, share in shares.items():
            passed = now - started.setdefault(index, now)
            if share > 0.01:
                times[index] = passed / share
        if now - began > LIMIT_S:
            raise _TimeIsUp

    sweep.pool.prepare([task.point.scenario for task in chosen], lambda words: None)
    try:
        with closing(sweep.pool.spread(jobs, range(len(jobs)), look)) as finished:
            for done in finished:
                if done.seconds is not None and not isinstance(done.result, Failure):
                    times[done.index] = done.seconds
                    if not failed_checks(done.result):  # else the sweep runs it, and keeps a log
                        sweep.store.put([(chosen[done.index].name, done.result, None, done.seconds)])
    except _TimeIsUp:
        pass
    return sum(times.values()) / len(times) if times else None


def in_words(seconds: float) -> str:
    """Such a time, as roughly as it is known."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
