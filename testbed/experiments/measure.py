"""One repetition of a scenario, measured and judged while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.audit import BatchedAudit, EventAudit
from testbed.backends.base import Backend, RunOptions
from testbed.backends.registry import find_backend, usable_backend
from testbed.backends.repetition import is_geometric, make_geometry
from testbed.mobility.traces.formats import write
from testbed.mobility.traces.trace import Trace
from testbed.randomness import Streams
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


def run_job(job: RepetitionJob, report: Callable[[float, str], None]) -> dict[str, Any]:
    """Run the repetition of a job, in a worker process."""
    return measure(job.scenario, job.repetition, job.folder, report)


def measure(
    scenario: Scenario,
    repetition: int,
    folder: Path | None = None,
    report: Callable[[float, str], None] = lambda share, words: None,
    options: RunOptions = NO_OPTIONS,
) -> dict[str, Any]:
    """Run one repetition; returns its metrics and the verdicts of the checks. Without a folder, nothing is written.

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
        backend.run_repetition(scenario, repetition, audit, progress, folder, options)
    report(1.0, audit.so_far())
    return {"repetition": repetition, "checks": audit.verdicts(), "metrics": audit.metrics()}


def chosen_backend(scenario: Scenario, options: RunOptions) -> Backend:
    """The backend of a run; `BackendError` if it cannot run here. Stations that are there already need nothing here."""
    if options.attach:
        return find_backend(scenario.backend).attached()
    return usable_backend(scenario.backend)


def write_positions(scenario: Scenario, number: int, path: Path) -> None:
    """Write where every node is in a repetition: its waypoints, as a trace that can be replayed."""
    trajectories = make_geometry(scenario, Streams(scenario.seed, number), with_places=False).trajectories
    write(path, Trace(tuple(map(str, range(scenario.nodes))), tuple(trajectories)))
