"""The grid: points times repetitions, run and gathered. Comparisons and reproductions are grids.

A point is a scenario that is run in all its repetitions. Points in virtual time are spread over the cores. Points in
real time come after them, one repetition after the other with nothing beside it, and leave their run directories.
Results are in the order of the points. A worker process that exits loses only its repetition, and one line reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis import stats
from analysis.check import FAILED, INCONCLUSIVE, NOT_CHECKED, combine
from analysis.metrics import summarise
from testbed.backends.registry import usable_backend
from testbed.experiments.failed import FailedLogs, add_replays, unrepeatable
from testbed.experiments.measure import RepetitionJob, run_job
from testbed.experiments.runner import no_report, run
from testbed.experiments.workers import Failure, spread
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

    @cached_property
    def is_real_time(self) -> bool:
        """Whether it needs the machine to itself."""
        return usable_backend(self.scenario.backend).real_time


@dataclass
class PointResult:
    """The results of a point: its repetitions in order, without those that were lost."""

    point: Point
    repetitions: list[dict[str, Any]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """A line for every repetition whose worker process exited."""
    run_directory: Path | None = None

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


def run_points(points: Sequence[Point], what: str, out: Path, report: Report = no_report) -> list[PointResult]:
    """Run all points; `out` is where those in real time leave their run directories, and all those that failed a log.

    An error in any repetition ends all of them with that error.
    """
    results = [PointResult(point) for point in points]
    virtual = [result for result in results if not result.point.is_real_time]
    real = [result for result in results if result.point.is_real_time]
    total = sum(_work(result.point) for result in results) or 1.0
    done = sum(_work(result.point) for result in virtual)
    if virtual:
        _run_virtual(virtual, what, out, lambda share, words: report(share * done / total, words))
    for result in real:
        work = _work(result.point)

        def progress(share: float, words: str, start: float = done, work: float = work) -> None:
            report((start + share * work) / total, words)

        finished = run(result.point.scenario, out, progress)
        result.repetitions, result.run_directory = finished.summary["repetitions"], finished.path
        done += work
    return results


def _folder_name(number: int, name: str) -> str:
    """A name for the folders of a point that no other point has."""
    return f"{number:03d}-" + "".join(c if c.isalnum() or c in "-_.=" else "-" for c in name)


def _work(point: Point) -> float:
    """About how long a point takes, for the progress shown: a repetition in virtual time counts as its weight."""
    scenario = point.scenario
    if not point.is_real_time:
        return scenario.repeat * point.weight
    units = scenario.duration
    if units is None:
        rates = sum(scenario.workload.rate_of(node) for node in range(scenario.nodes))
        units = (scenario.entries or 1) / (rates or 1.0)
    return scenario.repeat * units * scenario.time_unit


def _run_virtual(results: Sequence[PointResult], what: str, out: Path, report: Report) -> None:
    owners = [result for result in results for _ in range(result.point.scenario.repeat)]
    jobs = [
        RepetitionJob(
            result.point.scenario, repetition, failed=FailedLogs(out / "failed", _folder_name(number, result.name))
        )
        for number, result in enumerate(results)
        for repetition in range(result.point.scenario.repeat)
    ]
    weights = [owner.point.weight for owner in owners]
    # The heaviest first, so that no core is left alone with a long job at the end.
    order = sorted(range(len(jobs)), key=lambda index: -weights[index])
    total, done_weight = sum(weights) or 1.0, 0.0

    def progress(shares: dict[int, float], words: str) -> None:
        report((done_weight + sum(weights[index] * share for index, share in shares.items())) / total, what)

    for name in dict.fromkeys(result.point.scenario.backend for result in results):
        usable_backend(name).prepare(lambda words: report(0.0, f"{what}: {words}"))
    gathered: dict[int, dict[str, Any] | Failure] = {}
    with closing(spread(run_job, jobs, order, progress)) as finished:
        for done in finished:
            done_weight += weights[done.index]
            outcome = done.result
            if isinstance(outcome, Failure):
                outcome = outcome.of(f"{owners[done.index].name}, repetition {jobs[done.index].repetition}")
                if not outcome.is_lost:
                    raise outcome.error()
            gathered[done.index] = outcome
    for index, owner in enumerate(owners):
        outcome = gathered[index]
        if isinstance(outcome, Failure):
            owner.lost.append(outcome.text)
        else:
            owner.repetitions.append(outcome)
