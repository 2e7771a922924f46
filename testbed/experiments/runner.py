"""Runs a scenario: all its repetitions, measured and judged while they run, into a run directory.

In virtual time the repetitions are spread over the cores. In real time they run one after the other, because anything
that runs beside them would change what is measured. A worker process that exits ends the run with one line.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.check import FAILED, combine
from analysis.metrics import summarise
from testbed.backends.base import Backend, RunOptions
from testbed.errors import TestbedError
from testbed.experiments.measure import NO_OPTIONS, RepetitionJob, chosen_backend, measure, run_job
from testbed.experiments.run_directory import RunDirectory
from testbed.experiments.workers import Failure, JobFailed, cores, spread
from testbed.progress import AS_LINES, Report
from testbed.runtime.driver import AgentError
from testbed.scenario.expect import Expect
from testbed.scenario.schema import Scenario


@dataclass(frozen=True)
class Result:
    """A finished run."""

    path: Path
    summary: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Whether all that the scenario expects holds."""
        return not self.summary["unmet"]


def no_report(share: float, what: str) -> None:
    """Report nothing: for callers that show no progress."""


def run(scenario: Scenario, out: Path, report: Report = no_report, options: RunOptions = NO_OPTIONS) -> Result:
    """Run a scenario into a new directory under `out`."""
    backend = chosen_backend(scenario, options)
    backend.check(scenario, options)
    if not backend.runs_here():
        path = backend.run_elsewhere(scenario, out, report, options)
        return Result(path, json.loads((path / "summary.json").read_bytes()))
    if backend.may_run_elsewhere and not options.attach and not os.environ.get(AS_LINES):
        print(f"testbed: {scenario.backend} runs on this machine's own kernel", file=sys.stderr)
    directory = RunDirectory(scenario, out)
    try:
        summary = summarise_run(scenario, _repetitions(backend, scenario, directory, report, options))
        directory.finish(summary, int(bool(summary["unmet"])))
    except KeyboardInterrupt:
        directory.end("interrupted", 130)
        raise
    except TestbedError as error:
        directory.end("failed", error.exit_code, error=str(error))
        trace = _traceback(error)
        if not trace:
            raise
        file = directory.path / "error.txt"
        file.write_text(trace, encoding="utf-8")
        raise TestbedError(f"{error} (traceback in {file})") from error
    except BaseException as error:
        directory.end("failed", 1, error=repr(error))
        raise
    return Result(directory.path, summary)


def _traceback(error: TestbedError) -> str:
    """The traceback of an unexpected exception, such as an agent's; empty for an error that its text explains."""
    if isinstance(error, JobFailed):
        return error.trace
    return "".join(traceback.format_exception(error)) if isinstance(error, AgentError) else ""


def _repetitions(
    backend: Backend, scenario: Scenario, directory: RunDirectory, report: Report, options: RunOptions
) -> list[dict[str, Any]]:
    if not backend.real_time and scenario.repeat > 1 and cores() > 1:
        return _in_parallel(scenario, directory, report)
    results = []
    for number in range(scenario.repeat):

        def progress(share: float, words: str, number: int = number) -> None:
            what = f"{scenario.name}, repetition {number + 1} of {scenario.repeat}: {words}"
            report((number + share) / scenario.repeat, what)

        results.append(measure(scenario, number, directory.repetition(number), progress, options))
    return results


def _in_parallel(scenario: Scenario, directory: RunDirectory, report: Report) -> list[dict[str, Any]]:
    results: dict[int, dict[str, Any]] = {}
    total = scenario.repeat
    jobs = [RepetitionJob(scenario, number, directory.repetition(number)) for number in range(total)]

    def progress(shares: dict[int, float], words: str) -> None:
        what = f"{scenario.name}, {len(results)} of {total} repetitions done: {words}"
        report((len(results) + sum(shares.values())) / total, what)

    with closing(spread(run_job, jobs, range(total), progress)) as finished:
        for done in finished:
            outcome = done.result
            if isinstance(outcome, Failure):
                lost = outcome.of(f"{scenario.name}, repetition {done.index}")
                raise (lost if outcome.is_lost else outcome).error()
            results[done.index] = outcome
    return [results[number] for number in range(total)]


def summarise_run(scenario: Scenario, repetitions: list[dict[str, Any]]) -> dict[str, Any]:
    """Verdicts and metrics over the repetitions, and the expectations of the scenario that do not hold."""
    names = repetitions[0]["checks"]
    checks = {name: combine([one["checks"][name] for one in repetitions]) for name in names}
    metrics = summarise([one["metrics"] for one in repetitions])
    return {
        "scenario": scenario.name,
        "algorithm": scenario.algorithm.name,
        "backend": scenario.backend,
        "checks": checks,
        "metrics": metrics,
        "unmet": unmet_expectations(scenario.expect, checks, metrics),
        "repetitions": repetitions,
    }


def unmet_expectations(expect: Expect, checks: dict[str, Any], metrics: dict[str, Any]) -> list[str]:
    """One line for each expectation that does not hold. No check may fail unless it is expected to."""
    unmet = []
    for name, check in checks.items():
        wanted = expect.checks.get(name)
        if check["verdict"] != wanted and (wanted or check["verdict"] == FAILED):
            unmet.append(f"{name} is {check['verdict']}, expected {wanted or 'ok'}")
    for name, columns in expect.metrics.items():
        for column, bound in columns.items():
            path, value = f"{name}.{column}", metrics[name].get(column)
            if value is None:
                unmet.append(f"{path} was not measured")
            elif bound.min is not None and value < bound.min:
                unmet.append(f"{path} is {value:g}, expected at least {bound.min:g}")
            elif bound.max is not None and value > bound.max:
                unmet.append(f"{path} is {value:g}, expected at most {bound.max:g}")
    return unmet
