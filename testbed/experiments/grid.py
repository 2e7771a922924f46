"""Repetitions spread over the cores: measured and judged in memory, nothing written.

The workers die with this process, whatever kills it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from analysis.audit import Live, LiveAudit
from testbed.errors import TestbedError
from testbed.progress import Report
from testbed.experiments.runner import load_backend, no_report
from testbed.scenario.schema import Scenario, loads
from testbed.processes import die_with_parent


@dataclass(frozen=True)
class Job:
    """One repetition of a scenario; `weight` is how long it takes compared with others, for the progress shown."""

    scenario: Scenario
    repetition: int
    weight: float = 1.0


def measure(scenario: Scenario, repetition: int) -> dict[str, Any]:
    """Run one repetition; what it measured and what the checks say."""
    audit = LiveAudit()
    load_backend(scenario.backend).run_repetition(scenario, repetition, Live(audit), lambda share: None)
    return {"repetition": repetition, "checks": audit.verdicts(), "metrics": audit.metrics()}


def spread(jobs: Sequence[Job], what: str, report: Report = no_report) -> list[dict[str, Any]]:
    """Run all jobs, as many at a time as there are cores; the results are in the order of the jobs."""
    total = sum(job.weight for job in jobs) or 1.0
    results: list[dict[str, Any]] = [{} for _ in jobs]
    # The heaviest first, so that no core is left alone with a long job at the end.
    order = sorted(range(len(jobs)), key=lambda index: -jobs[index].weight)
    context = multiprocessing.get_context("fork")
    # Not a `with`: its exit would speak to workers that were just killed, which fails now and then.
    pool = ProcessPoolExecutor(os.cpu_count(), mp_context=context, initializer=_begin_worker)
    try:
        running: dict[Future[dict[str, Any]], int] = {
            pool.submit(_measure_text, jobs[index].scenario.to_yaml(), jobs[index].repetition): index for index in order
        }
        done_weight = 0.0
        while running:
            report(done_weight / total, what)
            finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in finished:
                index = running.pop(future)
                results[index] = future.result()
                done_weight += jobs[index].weight
        pool.shutdown()
    except BrokenProcessPool as error:
        _kill_workers(pool)
        raise TestbedError("a worker process died; is there enough memory?") from error
    except BaseException:
        _kill_workers(pool)
        raise
    return results


def _measure_text(text: str, repetition: int) -> dict[str, Any]:
    try:
        return measure(loads(text), repetition)
    except TestbedError:
        raise
    except Exception as error:  # noqa: BLE001  (some exceptions do not survive the way between processes)
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}:{last.lineno}"
        raise TestbedError(f"a worker process failed: {type(error).__name__}: {error} ({where})") from None


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end when it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()


def _kill_workers(pool: ProcessPoolExecutor) -> None:
    with suppress(OSError):  # the pool may be about to close by itself
        pool.shutdown(wait=False, cancel_futures=True)
    for process in list(multiprocessing.active_children()):
        process.kill()
