"""The grid: points times repetitions, run and gathered. Comparisons and reproductions are grids.

A point is a scenario that is run in all its repetitions. Points in virtual time are spread over the cores. Points in
real time come after them, one repetition after the other with nothing beside it, and leave their run directories.
Results are in the order of the points. A worker process that exits loses only its repetition, and one line reports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis import stats
from analysis.check import FAILED, INCONCLUSIVE, NOT_CHECKED, combine
from analysis.metrics import summarise
from analysis.results import Results, Row
from analysis.store import Store
from testbed.backends.registry import find_backend
from testbed.experiments.failed import add_replays, unrepeatable
from testbed.experiments.measure import run_job
from testbed.experiments.runner import no_report
from testbed.experiments.studies.complete import Task, complete
from testbed.experiments.studies.job import StoredPoint
from testbed.experiments.studies.pool import LocalPool
from testbed.experiments.workers import Failure, Work
from testbed.progress import Report
from testbed.scenario.schema import Scenario


@dataclass(frozen=True)
class Point:
    """A scenario to be run."""

    name: str
    """What tables and messages call it."""
    scenario: Scenario
    weight: float = 1.0
    """How long a repetition takes compared with those of other points, for the progress shown and the order."""


@dataclass
class PointResult:
    """The results of a point: its repetitions in order, without those that were lost."""

    point: Point
    repetitions: list[dict[str, Any]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """A line for every repetition whose worker process exited."""
    run_directory: Path | None = None
    reused: int = 0
    """How many of the repetitions were in the store already."""

    @property
    def name(self) -> str:
        """What tables and messages call it."""
        return self.point.name

    def value_of(self, repetition: int, metric: str) -> float | None:
        """A metric of one repetition; None if it measured nothing, or was lost."""
        for one in self.repetitions:
            if one["repetition"] == repetition:
                value = one["metrics"][metric]
                mean: float | None = value["mean"] if isinstance(value, dict) else value
                return mean
        return None

    def values(self, metric: str) -> list[float | None]:
        """A metric of every repetition."""
        return [self.value_of(repetition, metric) for repetition in range(self.point.scenario.repeat)]

    def measured(self, metric: str) -> list[float]:
        """A metric of the repetitions that measured it."""
        return [value for value in self.values(metric) if value is not None]

    def mean(self, metric: str) -> float | None:
        """Over the repetitions."""
        return stats.mean(self.measured(metric))

    def ci95(self, metric: str) -> float | None:
        """Half the width of its 95 % confidence interval, over the repetitions."""
        return stats.ci95(self.measured(metric))

    def checks(self) -> dict[str, Any]:
        """The verdict of every check over the repetitions."""
        names = self.repetitions[0]["checks"] if self.repetitions else {}
        checks = {name: combine([one["checks"][name] for one in self.repetitions]) for name in names}
        add_replays(checks, self.repetitions)
        return checks

    def verdict(self) -> str:
        """All checks in one cell of a table: ok, or which failed, or which could not be made."""
        named = {
            kind: [name for name, one in self.checks().items() if one["verdict"] == kind]
            for kind in (FAILED, INCONCLUSIVE, NOT_CHECKED)
        }
        if named[FAILED]:
            return f"{', '.join(named[FAILED])} FAILED"
        if named[INCONCLUSIVE]:
            return f"{', '.join(named[INCONCLUSIVE])} inconclusive"
        if self.lost:
            return f"{len(self.lost)} of {self.point.scenario.repeat} repetitions LOST"
        return f"ok, {', '.join(named[NOT_CHECKED])} not checked" if named[NOT_CHECKED] else "ok"

    def failures(self) -> list[str]:
        """Lines for every check that failed, and one for every repetition that was lost."""
        failed = []
        for name, check in self.checks().items():
            if check["verdict"] == FAILED:
                failed.append(f"{self.name}: {name} failed: {' | '.join(check['offenders'][:2])}")
                failed += [f"  replay: {check['replay']}"] if check["replay"] else []
        return [*failed, *(f"{self.name}: {line}" for line in unrepeatable(self.repetitions)), *self.lost]

    def inconclusive(self) -> list[str]:
        """A line for every check of which the repetitions show nothing."""
        return [
            f"{self.name}: {name} inconclusive: {check['detail']}"
            for name, check in self.checks().items()
            if check["verdict"] == INCONCLUSIVE
        ]

    def metrics(self) -> dict[str, Any]:
        """Every metric, over the repetitions."""
        return summarise([one["metrics"] for one in self.repetitions])


def as_results(name: str, points: Iterable[tuple[dict[str, Any], PointResult]], paired: Iterable[str]) -> Results:
    """The results of points as figures, tables and frames take them; each with its values on the axes."""
    rows, axes, notes, missing = [], dict[str, None](), [], 0
    for values, result in points:
        axes.update(dict.fromkeys(values))
        rows += [Row(values, one["repetition"], one["metrics"], one["checks"]) for one in result.repetitions]
        notes += result.lost
        missing += result.point.scenario.repeat - len(result.repetitions)
    return Results(name, tuple(axes), tuple(rows), missing, tuple(notes), shares_draws=frozenset(paired))


def run_points(
    points: Sequence[Point],
    what: str,
    out: Path,
    report: Report = no_report,
    store: Store | None = None,
    work: Work = run_job,
    fresh: bool = False,
) -> list[PointResult]:
    """Run all points; `out` is where those in real time leave their run directories, and all those that failed a log.

    `work` does one repetition in virtual time. What is in the store already is taken from there; if `fresh`, only what
    runs in virtual time. An error in any repetition ends all of them with that error.
    """
    lost: dict[str, str] = {}

    def note_lost(task: Task, failure: Failure | None) -> bool:
        if failure is not None and not failure.is_lost:
            raise failure.error()
        if failure is not None:
            lost[task.name] = failure.text
        return False  # a repetition that was lost is run again the next time

    tasks = [
        [Task(stored, number, point.name, _work(point)) for number in range(point.scenario.repeat)]
        for point in points
        for stored in [StoredPoint(point.scenario, work.__module__)]
    ]
    every = [task for of_point in tasks for task in of_point]
    with Store(None) if store is None else nullcontext(store) as kept:
        if fresh:
            kept.remove([task.name for task in every if task.point.is_real_time])
        before = kept.states([task.name for task in every])
        complete(every, kept, LocalPool(work), out, note_lost, report, what)
        found = kept.get([task.name for task in every])
    results = []
    for point, of_point in zip(points, tasks, strict=True):
        outcomes = [one.outcome for task in of_point if (one := found.get(task.name)) is not None]
        repetitions = [{**one} for one in outcomes if one is not None]
        directories = [one.pop("run_dir") for one in repetitions if "run_dir" in one]
        result = PointResult(point, repetitions, [lost[task.name] for task in of_point if task.name in lost])
        result.run_directory = Path(directories[0]) if directories else None
        result.reused = sum(task.name in before for task in of_point)
        results.append(result)
    return results


def reuse_note(results: Sequence[PointResult], store: Path | None) -> list[str]:
    """A line on what was in the store already, if anything was."""
    reused, total = sum(one.reused for one in results), sum(len(one.repetitions) for one in results)
    return [f"{reused} of {total} repetitions were in the store {store} already."] if reused else []


def _work(point: Point) -> float:
    """About how long a repetition takes, for the progress shown: one in virtual time counts as its weight."""
    scenario = point.scenario
    return real_seconds(scenario) if find_backend(scenario.backend).real_time else point.weight


def real_seconds(scenario: Scenario) -> float:
    """About how long a repetition lasts in real time."""
    units = scenario.duration
    if units is None:
        rates = sum(scenario.workload.rate_of(node) for node in range(scenario.nodes))
        units = (scenario.entries or 1) / (rates or 1.0)
    return units * scenario.time_unit
