"""Runs a group of scenarios in virtual time, spread over the cores, and stops soon after some have failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.check import FAILED, INCONCLUSIVE, OK
from testbed.experiments.checkup.finding import Finding, offences_of, replay_of
from testbed.experiments.failed import FailedLogs, add_replays, failed_checks, unrepeatable
from testbed.experiments.measure import RepetitionJob, measure, run_job
from testbed.experiments.workers import Failure, Work, spread
from testbed.progress import Report
from testbed.scenario.schema import Scenario

ENOUGH_FAILURES = 3
ENOUGH_S = 4.0
"""After one failure, a group goes on for so long at most: runs with an endless loop take some seconds each."""
RUN_LIMIT_S = 40.0
"""Of real time for one job: an algorithm that sends more and more messages would never end."""


@dataclass
class Trials:
    """The results of a group, by the numbers of its scenarios; those that failed are in both."""

    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    failed: list[int] = field(default_factory=list)
    broken: dict[int, str] = field(default_factory=dict)
    """Runs without a result, such as one whose worker process the algorithm has ended: by number, the reason."""
    overdue: list[int] = field(default_factory=list)
    """Runs that took too long."""

    @property
    def is_enough(self) -> bool:
        """Whether there is no need to go on."""
        return len(self.failed) + len(self.broken) >= ENOUGH_FAILURES or bool(self.overdue)

    def inconclusive(self) -> list[str]:
        """A line for every run that shows nothing."""
        reasons = (
            [f"{name}: {one['detail']}" for name, one in result["checks"].items() if one["verdict"] == INCONCLUSIVE]
            for result in self.results.values()
        )
        return [lines[0] for lines in reasons if lines]


class Overdue(Exception):
    """Jobs take too long; their numbers."""

    def __init__(self, jobs: list[int]) -> None:
        super().__init__(jobs)
        self.jobs = jobs


def within_limit(report: Callable[[int], None], limit_s: float) -> Callable[[dict[int, float], str], None]:
    """What `spread` reports to: passes on how many jobs were begun; `Overdue` if one takes too long."""
    begun: dict[int, float] = {}

    def progress(shares: dict[int, float], words: str) -> None:
        now = time.monotonic()
        late = [job for job in shares if now - begun.setdefault(job, now) > limit_s]
        if late:
            raise Overdue(late)
        report(len(begun))

    return progress


def run_trials(scenarios: Sequence[Scenario], report: Report, words: str, work: Work = run_job) -> Trials:
    """Run the scenarios, in order, until all have ended or enough have failed."""
    begin, trials = time.monotonic(), Trials()
    jobs = [RepetitionJob(scenario, 0) for scenario in scenarios]
    progress = within_limit(lambda begun: report(begun / len(jobs), words), RUN_LIMIT_S)
    try:
        with closing(spread(work, jobs, range(len(jobs)), progress)) as finished:
            for done in finished:
                _take(trials, done.index, done.result)
                has_failed = bool(trials.failed or trials.broken)
                if trials.is_enough or (has_failed and time.monotonic() - begin > ENOUGH_S):
                    break
    except Overdue as overdue:
        trials.overdue = overdue.jobs
    trials.failed.sort()
    return trials


def _take(trials: Trials, number: int, result: Any) -> None:
    if isinstance(result, Failure):
        if not result.is_lost and result.exit_code != 1:  # this machine's fault, or the testbed's
            raise result.error()
        trials.broken[number] = result.text
        return
    trials.results[number] = result
    if failed_checks(result):
        trials.failed.append(number)


def try_group(
    title: str, scenarios: Sequence[Scenario], out: Path | None, report: Report, work: Work = run_job
) -> tuple[Finding, dict[str, int]]:
    """Run a group, judge it, and keep a log of the first failure under `out`; also the messages that were sent."""
    begin = time.monotonic()
    trials = run_trials(scenarios, report, title, work)
    finding = judge(title, scenarios, trials)
    for number in trials.failed[:1]:  # the first shows what is wrong
        _explain(finding, scenarios[number], trials.results[number], out)
    finding.seconds = time.monotonic() - begin
    return finding, messages_in(trials)


def judge(title: str, scenarios: Sequence[Scenario], trials: Trials) -> Finding:
    """What the runs of a group say together."""
    runs = len(trials.results) + len(trials.broken)
    sizes = [scenario.nodes for scenario in scenarios]
    entries = sum(result["metrics"]["entries"] or 0 for result in trials.results.values())
    nodes = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"{min(sizes)}"
    finding = Finding(title, OK, f"{runs} runs, {nodes} nodes, {entries} entries", runs=runs)
    nothing = trials.inconclusive()
    if trials.failed or trials.broken:
        finding.verdict = FAILED
        finding.detail = f"{len(trials.failed) + len(trials.broken)} of {runs} runs"
        finding.offences += [f"{describe(scenarios[number])}: {why}" for number, why in sorted(trials.broken.items())]
    elif trials.overdue:
        finding.verdict = INCONCLUSIVE
        finding.detail = (
            f"a run with {describe(scenarios[trials.overdue[0]])} did not end within {RUN_LIMIT_S:g} s: "
            "does it send more and more messages?"
        )
    elif len(nothing) == runs:
        finding.verdict, finding.detail = INCONCLUSIVE, nothing[0]
    return finding


def _explain(finding: Finding, scenario: Scenario, result: dict[str, Any], out: Path | None) -> None:
    """Say what is wrong in a run that failed. It is run again with a log of every event, if logs are kept."""
    if out is not None:
        jobs = [(scenario, result, FailedLogs(out, scenario.name))]
        with (
            suppress(Overdue),
            closing(spread(_log, jobs, [0], within_limit(lambda begun: None, RUN_LIMIT_S))) as ended,
        ):
            result = next((done.result for done in ended if not isinstance(done.result, Failure)), result)
        add_replays(result["checks"], [result])
    offences = offences_of(result["checks"]) + unrepeatable([result])
    finding.offences += [f"{describe(scenario)}: {line}" for line in offences]
    finding.replay = replay_of(result["checks"])


def _log(job: tuple[Scenario, dict[str, Any], FailedLogs], report: Callable[[float, str], None]) -> dict[str, Any]:
    """Run a failed repetition again, in a worker process: the algorithm may do anything."""
    scenario, result, logs = job
    return logs.keep(scenario, 0, result, measure)


def describe(scenario: Scenario) -> str:
    """The size of a run, and its number of units if there can be several."""
    k = getattr(scenario.algorithm.parameters, "k", None)
    return f"{scenario.nodes} node{'s' * (scenario.nodes > 1)}" + ("" if k is None else f", k={k}")


def messages_in(trials: Trials) -> dict[str, int]:
    """How many messages of each class were sent in all runs."""
    sent: dict[str, int] = {}
    for result in trials.results.values():
        for kind, count in (result["metrics"]["messages"] or {}).items():
            sent[kind] = sent.get(kind, 0) + count
    return sent
