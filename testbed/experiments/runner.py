"""Runs a scenario: every repetition in its world, measured and judged while it goes on, into a run directory."""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.audit import Audit, Live, LiveAudit, Told
from analysis.checks import FAILED, combine
from analysis.metrics import summarise
from testbed.backends.registry import BACKENDS
from testbed.runtime.driver import AgentError
from testbed.errors import BackendError, InputError, TestbedError
from testbed.network.geometry import Geometry
from testbed.mobility.traces.formats import write
from testbed.mobility.traces.trace import Trace
from testbed.progress import AS_LINES, Report
from testbed.runtime.event_log import Recorder
from testbed.experiments.run_directory import RunDirectory
from testbed.scenario.schema import Expect, Scenario
from testbed.randomness import Streams
from testbed.scenario.topology import GeometricTopology

_ATTACHED = "testbed.backends.mininet_wifi.attached"
"""The world of stations that somebody else has built. No scenario can name it."""


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
    """For when nobody watches."""


@dataclass(frozen=True)
class Wishes:
    """What a user asks of one run besides the scenario, of worlds that have it."""

    pcap: bool = False
    """A capture of the air."""
    cli: bool = False
    """The network's own command line, while the agents are alive."""
    attach: tuple[int, ...] = ()
    """Processes in the namespaces of stations that somebody else has built."""

    def of(self, backend: Any, name: str) -> dict[str, Any]:
        """For a backend: the wishes there are; `InputError` if it cannot fulfil one."""
        if self.pcap and not getattr(backend, "HAS_AIR", False):
            raise InputError(f"--pcap: backend {name} puts no frames on the air")
        if self.cli and not getattr(backend, "HAS_COMMAND_LINE", False):
            raise InputError(f"--cli: backend {name} has no command line; mininet-wifi has")
        if self.attach and backend.__name__ != _ATTACHED:
            raise InputError(f"--attach: backend {name} makes its own stations; allowed: mininet-wifi")
        return {wish: value for wish in ("pcap", "cli", "attach") if (value := getattr(self, wish))}


def run(scenario: Scenario, out: Path, report: Report = no_report, wishes: Wishes | None = None) -> Result:
    """Run a scenario into a new directory under `out`."""
    wishes = wishes or Wishes()
    is_attached = bool(wishes.attach) and scenario.backend == "mininet-wifi"
    backend = importlib.import_module(_ATTACHED) if is_attached else load_backend(scenario.backend)
    asked = wishes.of(backend, scenario.backend)
    if getattr(backend, "check", None) is not None:
        backend.check(scenario, **asked)
    if getattr(backend, "run_elsewhere", None) is not None:
        if not backend.runs_here():
            path = backend.run_elsewhere(scenario, out, report, **asked)
            return Result(path, json.loads((path / "summary.json").read_bytes()))
        if not os.environ.get(AS_LINES):  # whoever has sent us here has told
            print(f"testbed: {scenario.backend} runs on this machine's own kernel", file=sys.stderr)
    directory = RunDirectory(scenario, out)
    try:
        repetitions = []
        for number in range(scenario.repeat):
            what = f"{scenario.name}, repetition {number + 1} of {scenario.repeat}"
            start, width = number / scenario.repeat, 1 / scenario.repeat
            one = _repetition(backend, scenario, number, directory, start, width, what, report, asked)
            repetitions.append(one)
        summary = summarise_run(scenario, repetitions)
        directory.finish(summary, int(bool(summary["unmet"])))
    except KeyboardInterrupt:
        directory.end("interrupted", 130)
        raise
    except AgentError as error:
        (directory.path / "error.txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        directory.end("failed", 1, error=str(error))
        raise TestbedError(f"{error} (traceback in {directory.path / 'error.txt'})") from error
    except BaseException as error:
        directory.end("failed", 1, error=repr(error))
        raise
    return Result(directory.path, summary)


def load_backend(name: str) -> Any:
    """The backend's module, or `BackendError` if it cannot run here."""
    module = importlib.import_module(BACKENDS[name])
    lacking = module.missing()
    if lacking:
        raise BackendError(f"backend {name}: {lacking}")
    return module


def _repetition(
    backend: Any,
    scenario: Scenario,
    number: int,
    directory: RunDirectory,
    start: float,
    width: float,
    what: str,
    report: Report,
    asked: dict[str, Any],
) -> dict[str, Any]:
    folder = directory.repetition(number)
    audit = Audit() if backend.REAL_TIME else LiveAudit()
    if isinstance(scenario.topology, GeometricTopology):
        write_positions(scenario, number, folder / "positions.csv")
    with Recorder(folder / "events.jsonl", scenario.trace) as recorder:

        def progress(share: float) -> None:
            recorder.flush()
            report(start + share * width, f"{what}: {audit.so_far()}")

        progress(0.0)
        # Where time is real, every event is told; the simulator, which is in a hurry, tells sums.
        listener = Live(audit, recorder) if isinstance(audit, LiveAudit) else Told(audit, recorder)
        backend.run_repetition(scenario, number, listener, progress, folder, **asked)
    return {"repetition": number, "checks": audit.verdicts(), "metrics": audit.metrics()}


def write_positions(scenario: Scenario, number: int, path: Path) -> None:
    """Where every node is in a repetition, as a trace that can be replayed: its waypoints."""
    trajectories = Geometry(scenario, Streams(scenario.seed, number)).trajectories
    write(path, Trace(tuple(map(str, range(scenario.nodes))), tuple(trajectories)))


def summarise_run(scenario: Scenario, repetitions: list[dict[str, Any]]) -> dict[str, Any]:
    """Verdicts and metrics over the repetitions, and what the scenario expected in vain."""
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
