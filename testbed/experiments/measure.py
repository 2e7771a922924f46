"""One repetition of a scenario, measured and judged while it runs."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.audit import Audit, BatchedAudit, EventAudit
from analysis.events import Start
from testbed.backends.base import Backend, RunOptions
from testbed.backends.registry import find_backend, usable_backend
from testbed.backends.repetition import is_geometric, make_geometry
from testbed.experiments.failed import FailedLogs, failed_checks
from testbed.mobility.traces.formats import write
from testbed.mobility.traces.trace import Trace
from testbed.randomness import Streams
from testbed.runtime.breach import AgentError
from testbed.runtime.event_log import EventLog
from testbed.scenario.schema import Scenario

REPORT_EVERY_S = 0.1
NO_OPTIONS = RunOptions()


@dataclass(frozen=True)
class RepetitionJob:
    """One repetition for a worker process."""

    scenario: Scenario
    repetition: int
    folder: Path | None = None
    """Where its log goes; None for no log."""
    failed: FailedLogs | None = None
    """Where it is logged as a whole if it fails; None if `folder` has all of it."""
    options: RunOptions = NO_OPTIONS


def run_job(job: RepetitionJob, report: Callable[[float, str], None]) -> dict[str, Any]:
    """Run the repetition of a job, in a worker process; again with a log of every event if it fails."""
    result = measure(job.scenario, job.repetition, job.folder, report, job.options)
    if job.failed is not None and failed_checks(result):
        return job.failed.keep(job.scenario, job.repetition, result, measure)
    return result


def measure(
    scenario: Scenario,
    repetition: int,
    folder: Path | None = None,
    report: Callable[[float, str], None] = lambda share, words: None,
    options: RunOptions = NO_OPTIONS,
) -> dict[str, Any]:
    """Run one repetition; returns its metrics and the verdicts of the checks. Without a folder, nothing is written.

    If the algorithm breaks the contract, the repetition ends there, and `error` of the result is the traceback.

    `report` takes the share that is done and a few words on the state, every `REPORT_EVERY_S` and at the end.
    """
    backend = chosen_backend(scenario, options)
    with ExitStack() as opened:
        logs = []
        if folder is not None:
            folder.mkdir(exist_ok=True)
            if is_geometric(scenario):
                write_positions(scenario, repetition, folder / "positions.csv")
            logs.append(opened.enter_context(EventLog(folder / "events.jsonl", scenario.trace)))
        audit = EventAudit(*logs) if backend.real_time else BatchedAudit(*logs)
        reported_at = 0.0

        def progress(share: float) -> None:
            nonlocal reported_at
            if time.monotonic() - reported_at >= REPORT_EVERY_S:
                reported_at = time.monotonic()
                for log in logs:
                    log.flush()
                report(share, audit.so_far())

        progress(0.0)
        error = None
        try:
            backend.run_repetition(scenario, repetition, audit, progress, folder, options)
        except AgentError as raised:
            error = raised.trace or "".join(traceback.format_exception(raised))
            _log_breach(audit, scenario, raised)
    report(1.0, audit.so_far())
    result = {"repetition": repetition, "checks": audit.verdicts(), "metrics": audit.metrics()}
    return result if error is None else {**result, "error": error}


def _log_breach(audit: Audit, scenario: Scenario, error: AgentError) -> None:
    """The algorithm broke the contract, which ends the repetition, perhaps before it has begun."""
    if not audit.has_begun:
        held = [1, *[0] * (scenario.nodes - 1)]  # what it would have been is not known
        audit.start(0, None, *Start(trace=scenario.trace, units=held, tokens=held))
    audit.breach(error.t, error.node, scenario.algorithm.name, error.event, error.output, error.why)


def chosen_backend(scenario: Scenario, options: RunOptions) -> Backend:
    """The backend of a run; `BackendError` if it cannot run here. Stations that are there already need nothing here."""
    if options.attach:
        return find_backend(scenario.backend).attached()
    return usable_backend(scenario.backend)


def write_positions(scenario: Scenario, number: int, path: Path) -> None:
    """Write where every node is in a repetition: its waypoints, as a trace that can be replayed."""
    trajectories = make_geometry(scenario, Streams(scenario.seed, number), with_places=False).trajectories
    write(path, Trace(tuple(map(str, range(scenario.nodes))), tuple(trajectories)))
