"""Runs a study into its store: what is missing there, until every point has been run as often as the study wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from analysis.check import FAILED, INCONCLUSIVE, combine
from analysis.results import Results, Row
from analysis.store import Store
from testbed.errors import InconclusiveError
from testbed.experiments.failed import add_replays
from testbed.experiments.studies.complete import Task, complete
from testbed.experiments.studies.pool import LocalPool, Pool
from testbed.experiments.studies.study import ALGORITHM, BACKEND, Study, StudyPoint, label_of
from testbed.experiments.workers import Failure
from testbed.progress import Report

PAIRED = frozenset({ALGORITHM, BACKEND})
"""Axes along which repetition r has the same network and applications: random streams do not depend on them."""


@dataclass(frozen=True)
class Status:
    """What a store has of a study."""

    points: int
    wanted: int
    """Repetitions that the study wants, as far as is known: some points want more until an interval is narrow."""
    done: int
    failed: list[str]
    """A line for every repetition that ended with an error."""
    stale: int
    """Points of which only results of other code are there."""
    elsewhere: int
    """Repetitions that other processes run now."""
    seconds: float | None
    """How long a repetition has taken so far, on average."""

    @property
    def missing(self) -> int:
        """Repetitions to be run."""
        return self.wanted - self.done - len(self.failed)


@dataclass(frozen=True)
class Sweep:
    """A study and its store."""

    study: Study
    store: Store
    pool: Pool = field(default_factory=LocalPool)
    on_point: Callable[[StudyPoint, list[dict[str, Any]]], None] = lambda point, outcomes: None
    """Called when all wanted repetitions of a point have ended, with their outcomes."""

    def run(self, report: Report) -> None:
        """Run what is missing. The outcome of every repetition is in the store as soon as it has ended."""
        self._record()
        finished: set[str] = set()
        while tasks := self._tasks(finished):
            tracked = _Tracker(self, tasks)
            complete(tasks, self.store, self.pool, self._out, tracked.ended, report, self.study.name, "runs")
            tracked.rest()

    @property
    def _out(self) -> Path:
        return self.store.path or Path()

    def _record(self) -> None:
        points = [point.stored for point in self.study.points]
        self.store.add_points((one.name, one.content, json.dumps(one.scenario.model_dump())) for one in points)
        self.store.write_plan(self.study.name, plan_of(self.study))

    def _tasks(self, finished: set[str]) -> list[Task]:
        """What is to be run now, given what is there: a batch of each point that wants more; others are finished."""
        tasks: list[Task] = []
        for point in self.study.points:
            if point.stored.name in finished:
                continue
            wanted, ended, _ = self.progress_of(point)
            missing = [number for number in range(wanted) if point.stored.job(number) not in ended]
            if not missing:
                finished.add(point.stored.name)
            tasks += [Task(point.stored, number, point.label) for number in missing]
        return tasks

    def missing(self) -> list[Task]:
        """What is to be run now."""
        return self._tasks(set())

    def progress_of(self, point: StudyPoint) -> tuple[int, dict[str, bool], list[dict[str, Any]]]:
        """How many repetitions a point wants now, which have ended, and the outcomes of those that have one."""
        repeat = self.study.repetitions
        jobs = point.stored.jobs(repeat.at_most)
        ended = self.store.states(jobs)
        if repeat.at_least == repeat.at_most:
            return repeat.at_most, ended, []
        done = next((number for number, job in enumerate(jobs) if job not in ended), len(jobs))
        outcomes = [one.outcome for one in self.store.get(jobs[:done]).values() if one.outcome is not None]
        return repeat.wanted(outcomes, done), ended, outcomes

    # -- what there is -----------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """What is there and what is missing; nothing is run."""
        points = self.study.points
        wanted, done, jobs, stale = 0, 0, [], 0
        known = self.store.with_results([point.stored.content for point in points])
        for point in points:
            count, ended, _ = self.progress_of(point)
            names = point.stored.jobs(count)
            jobs += names
            wanted += count
            done += sum(ended.get(name, False) for name in names)
            stale += point.stored.content in known and not ended
        failed = [str(json.loads(one.error)["text"]) for one in self.store.get(jobs).values() if one.error is not None]
        elsewhere, seconds = self.store.claimed_elsewhere(jobs), self.store.typical_seconds(jobs)
        return Status(len(points), wanted, done, failed, stale, elsewhere, seconds)

    def forget(self, *, errors: bool = False, real_time: bool = False) -> int:
        """Forget repetitions that ended with an error, or all in real time: they run again. Returns how many."""
        forgotten: list[str] = []
        for point in self.study.points:
            jobs = point.stored.jobs(self.study.repetitions.at_most)
            ended = self.store.states(jobs)
            forgotten += [job for job, is_well in ended.items() if (errors and not is_well)]
            forgotten += list(ended) if real_time and point.stored.is_real_time else []
        self.store.remove(forgotten)
        return len(set(forgotten))

    def results(self) -> Results:
        """All that is there, as figures and tables take it."""
        wanted = {point.stored.name: self.progress_of(point)[0] for point in self.study.points}
        return replace(results_of(plan_of(self.study, wanted), self.store), stale=self.status().stale)


class _Tracker:
    """Tells of points when all their repetitions have ended, those that other processes run too."""

    def __init__(self, sweep: Sweep, tasks: Sequence[Task]) -> None:
        self._sweep = sweep
        self._left: dict[str, int] = {}
        for task in tasks:
            self._left[task.point.name] = self._left.get(task.point.name, 0) + 1
        self._points = {point.stored.name: point for point in sweep.study.points if point.stored.name in self._left}

    def ended(self, task: Task, failure: Failure | None) -> bool:
        """A repetition has ended; errors are kept."""
        self._left[task.point.name] -= 1
        if not self._left[task.point.name] and failure is None:
            self._tell(self._points.pop(task.point.name))
        return True

    def rest(self) -> None:
        """All repetitions have ended: tell of the points whose last one another process ran, or ended with an error."""
        for point in self._points.values():
            self._tell(point)

    def _tell(self, point: StudyPoint) -> None:
        wanted, _, _ = self._sweep.progress_of(point)
        jobs = point.stored.jobs(wanted)
        found = self._sweep.store.get(jobs)
        if len(found) == wanted:  # else it wants more repetitions than these
            self._sweep.on_point(point, [one.outcome for one in found.values() if one.outcome is not None])


def plan_of(study: Study, wanted: dict[str, int] | None = None) -> dict[str, Any]:
    """Which jobs a study consists of, for the store: `results_of` reads it where the study itself is not at hand."""
    most = study.repetitions.at_most
    points = [
        {"axes": point.axes, "jobs": point.stored.jobs(most if wanted is None else wanted[point.stored.name])}
        for point in study.points
    ]
    is_open = wanted is None and bool(study.repetitions.until)  # how many repetitions there will be is not known
    return {"name": study.name, "axes": list(study.axes), "points": points, "is_open": is_open}


def results_of(plan: dict[str, Any], store: Store) -> Results:
    """The results of a plan: a row for every repetition that has an outcome."""
    rows, missing, notes = [], 0, []
    found = store.get([job for point in plan["points"] for job in point["jobs"]])
    for point in plan["points"]:
        for job in point["jobs"]:
            one = found.get(job)
            if one is None:
                missing += not plan["is_open"]
            elif one.outcome is None:
                notes.append(str(json.loads(one.error or "{}").get("text", "")))
            else:
                number, metrics, checks = (one.outcome[key] for key in ("repetition", "metrics", "checks"))
                rows.append(Row(point["axes"], number, metrics, checks, one.seconds, one.outcome.get("log")))
    return Results(
        plan["name"], tuple(plan["axes"]), tuple(rows), missing, tuple(notes), shares_draws=PAIRED & set(plan["axes"])
    )


def exit_code(results: Results) -> int:
    """1 if a check failed or a repetition ended with an error, 4 if a check shows nothing, else 0."""
    verdicts = {check["verdict"] for _, rows in results.points() for check in _combined(rows).values()}
    if results.notes or FAILED in verdicts:
        return 1
    return InconclusiveError.exit_code if INCONCLUSIVE in verdicts else 0


def failures(results: Results) -> list[str]:
    """Lines for every check that failed at a point, or shows nothing, and how to see it."""
    lines = []
    for axes, rows in results.points():
        for name, check in _combined(rows).items():
            if check["verdict"] in (FAILED, INCONCLUSIVE):
                why = " | ".join(check["offenders"][:2]) or check["detail"]
                lines.append(f"{label_of(axes) or results.name}: {name} {check['verdict']}: {why}")
                lines += [f"  replay: {check['replay']}"] if check.get("replay") else []
    return lines


def checks_of(results: Results) -> dict[str, dict[str, Any]]:
    """The verdict of every check over all points."""
    return _combined(results.rows) if results.rows else {}


def _combined(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """The verdict of every check over these rows; a failed one with the command that replays it, if there is a log."""
    checks = {name: combine([row.checks[name] for row in rows]) for name in rows[0].checks}
    kept = [{"repetition": one.repetition, "checks": one.checks, "log": one.log} for one in rows if one.log is not None]
    add_replays(checks, kept)
    return checks
