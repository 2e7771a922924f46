"""Runs a scenario: all its repetitions, measured and judged while they run, into a run directory.

In virtual time the repetitions are spread over the cores. In real time they run one after the other, because anything
that runs beside them would change what is measured. A worker process that exits costs its repetition: the run goes on
with the others, and has failed.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.check import FAILED, INCONCLUSIVE, combine
from analysis.events import LEVELS
from analysis.metrics import summarise
from analysis.open_run import OpenRun
from analysis.timing import late
from testbed.backends.base import Backend, RunOptions
from testbed.backends.registry import usable_backend
from testbed.errors import InconclusiveError, MachineError, TestbedError
from testbed.experiments.failed import FailedLogs, add_replays, failed_checks, unrepeatable
from testbed.experiments.measure import NO_OPTIONS, RepetitionJob, chosen_backend, measure, run_job
from testbed.experiments.run_directory import RunDirectory
from testbed.experiments.workers import Failure, JobFailed, cores, spread
from testbed.files import write_json
from testbed.interrupts import exit_code
from testbed.progress import AS_LINES, Report
from testbed.runtime.breach import AgentError
from testbed.scenario.expect import Expect
from testbed.scenario.schema import Scenario

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Result:
    """A finished run."""

    path: Path
    summary: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Whether all that the scenario expects holds, as far as the run can tell."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """What a command ends with that runs this only."""
        return exit_code_of(self.summary)

    @property
    def checks(self) -> dict[str, dict[str, Any]]:
        """The verdict of every check over the repetitions."""
        checks: dict[str, dict[str, Any]] = self.summary["checks"]
        return checks

    @property
    def metrics(self) -> dict[str, Any]:
        """Every metric over the repetitions, with its mean and its 95 % confidence interval."""
        metrics: dict[str, Any] = self.summary["metrics"]
        return metrics

    def frame(self) -> pd.DataFrame:
        """One row for every repetition; needs pandas."""
        return OpenRun(self.path).frame()

    def _repr_html_(self) -> str:
        return OpenRun(self.path)._repr_html_()


def no_report(share: float, what: str) -> None:
    """Report nothing: for callers that show no progress."""


def run(
    scenario: Scenario,
    out: Path,
    report: Report = no_report,
    options: RunOptions = NO_OPTIONS,
    on_begin: Callable[[Path], None] = lambda path: None,
) -> Result:
    """Run a scenario into a new directory under `out`. `on_begin` takes that directory; not if the run is elsewhere."""
    backend = chosen_backend(scenario, options)
    backend.check(scenario, options)
    if not backend.runs_here():
        return brought(backend.run_elsewhere(scenario, out, report, options))
    if backend.may_run_elsewhere and not options.attach and not os.environ.get(AS_LINES):
        print(f"testbed: {scenario.backend} runs on this machine's own kernel", file=sys.stderr)
    directory = RunDirectory(scenario, out)
    on_begin(directory.path)
    if scenario.algorithm.loaded is not None:  # stations read it again, and may not read what was changed meanwhile
        copy = directory.path / scenario.algorithm.loaded.path.name
        scenario = scenario.with_algorithm_file(str(copy.absolute()))
    try:
        repetitions, lost = _repetitions(backend, scenario, directory, report, options)
        if not repetitions:
            raise TestbedError(lost[0] if len(lost) == 1 else f"all repetitions were lost; {lost[0]}")
        summary = summarise_run(scenario, repetitions, lost)
        _write_errors(directory.path, summary)
        directory.finish(summary, exit_code_of(summary))
    except KeyboardInterrupt as interrupt:
        with suppress(MachineError):
            directory.end("interrupted", exit_code(interrupt))
        raise
    except (OSError, MemoryError) as error:
        raise _ended(directory, MachineError.of(error, directory.path)) from error
    except TestbedError as error:
        _ended(directory, error)
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


def brought(path: Path) -> Result:
    """A run that was made elsewhere: its logs are here now."""
    summary = json.loads((path / "summary.json").read_bytes())
    for one in summary["repetitions"]:
        if "log" in one:
            one["log"] = str(path)
    add_replays(summary["checks"], summary["repetitions"])
    write_json(path / "summary.json", summary)
    return Result(path, summary)


def _ended(directory: RunDirectory, error: TestbedError) -> TestbedError:
    """Record that the run ended with an error, unless that cannot be written either."""
    with suppress(MachineError):
        directory.end("failed", error.exit_code, error=str(error))
    return error


def _traceback(error: TestbedError) -> str:
    """The traceback of an unexpected exception, such as an agent's; empty for an error that its text explains."""
    if isinstance(error, JobFailed):
        return error.trace
    return "".join(traceback.format_exception(error)) if isinstance(error, AgentError) else ""


def _repetitions(
    backend: Backend, scenario: Scenario, directory: RunDirectory, report: Report, options: RunOptions
) -> tuple[list[dict[str, Any]], list[str]]:
    """The results of the repetitions, and a line for every repetition whose worker process exited."""
    backend.prepare(lambda words: report(0.0, f"{scenario.name}: {words}"))
    if not backend.real_time and (backend.may_abort or (scenario.repeat > 1 and cores() > 1)):
        return _in_parallel(scenario, directory, report, options)
    results = []
    for done in range(scenario.repeat):
        number = options.first + done

        def progress(share: float, words: str, done: int = done) -> None:
            what = f"{scenario.name}, repetition {done + 1} of {scenario.repeat}: {words}"
            report((done + share) / scenario.repeat, what)

        result = measure(scenario, number, directory.repetition(number), progress, options)
        if failed_checks(result):
            logs = _failed_logs(backend, scenario, directory)
            if logs is None:
                result = {**result, "log": str(directory.path)}
            elif not options.attach:  # a network that is attached runs once
                result = logs.keep(scenario, number, result, measure)
        results.append(result)
    return results, []


def _failed_logs(backend: Backend, scenario: Scenario, directory: RunDirectory) -> FailedLogs | None:
    """Where failed repetitions are logged as a whole; None if the run itself logs all of every one."""
    is_whole = backend.real_time or scenario.trace == LEVELS[-1]
    return None if is_whole else FailedLogs(directory.path / "failed", scenario.algorithm.name)


def _in_parallel(
    scenario: Scenario, directory: RunDirectory, report: Report, options: RunOptions
) -> tuple[list[dict[str, Any]], list[str]]:
    results: dict[int, dict[str, Any]] = {}
    lost: dict[int, str] = {}
    total = scenario.repeat
    logs = _failed_logs(usable_backend(scenario.backend), scenario, directory)
    numbers = range(options.first, options.first + total)
    jobs = [RepetitionJob(scenario, number, directory.repetition(number), logs, options) for number in numbers]

    def progress(shares: dict[int, float], words: str) -> None:
        what = f"{scenario.name}, {len(results)} of {total} repetitions done: {words}"
        report((len(results) + len(lost) + sum(shares.values())) / total, what)

    with closing(spread(run_job, jobs, range(total), progress)) as finished:
        for done in finished:
            outcome = done.result
            if isinstance(outcome, Failure):
                if not outcome.is_lost:
                    raise outcome.error()
                lost[done.index] = outcome.of(f"{scenario.name}, repetition {numbers[done.index]}").text
                continue
            if logs is None and failed_checks(outcome):
                outcome["log"] = str(directory.path)
            results[done.index] = outcome
    return [results[number] for number in sorted(results)], [lost[number] for number in sorted(lost)]


def summarise_run(scenario: Scenario, repetitions: list[dict[str, Any]], lost: list[str]) -> dict[str, Any]:
    """Verdicts and metrics over the repetitions, and the expectations of the scenario that do not hold.

    `lost` has a line for every repetition without a result.
    """
    names = repetitions[0]["checks"]
    checks = {name: combine([one["checks"][name] for one in repetitions]) for name in names}
    metrics = summarise([one["metrics"] for one in repetitions])
    add_replays(checks, repetitions)
    unmet, inconclusive = unmet_expectations(scenario.expect, checks, metrics)
    return {
        "scenario": scenario.name,
        "algorithm": scenario.algorithm.name,
        "backend": scenario.backend,
        "checks": checks,
        "metrics": metrics,
        "unmet": unmet + unrepeatable(repetitions),
        "inconclusive": inconclusive,
        "lost": lost,
        "repetitions": repetitions,
    }


def exit_code_of(summary: dict[str, Any]) -> int:
    """1 if an expectation does not hold or a repetition was lost, 4 if the run cannot tell, else 0."""
    return 1 if summary["unmet"] or summary["lost"] else InconclusiveError.exit_code if summary["inconclusive"] else 0


def _write_errors(path: Path, summary: dict[str, Any]) -> None:
    """Move the tracebacks of repetitions that broke the contract out of the summary, into a file."""
    traces = [
        f"repetition {one['repetition']}:\n{one.pop('error')}" for one in summary["repetitions"] if "error" in one
    ]
    if traces:
        (path / "error.txt").write_text("\n".join(traces), encoding="utf-8")


def unmet_expectations(expect: Expect, checks: dict[str, Any], metrics: dict[str, Any]) -> tuple[list[str], list[str]]:
    """One line for each expectation that does not hold, and one for each of which the run shows nothing.

    No check may fail unless it is expected to. In a run that was too late for its timers no metric means anything.
    """
    unmet, inconclusive = [], []
    for name, check in checks.items():
        wanted = expect.checks.get(name)
        if check["verdict"] == INCONCLUSIVE != wanted:
            inconclusive.append(f"{name}: {check['detail']}")
        elif check["verdict"] != wanted and (wanted or check["verdict"] == FAILED):
            unmet.append(f"{name} is {check['verdict']}, expected {wanted or 'ok'}")
    out_of_bounds = _out_of_bounds(expect, metrics)
    (inconclusive if late(checks) else unmet).extend(out_of_bounds)
    return unmet, inconclusive


def _out_of_bounds(expect: Expect, metrics: dict[str, Any]) -> list[str]:
    unmet = []
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
