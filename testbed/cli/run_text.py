"""The text that the command line prints on runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.check import FAILED, INCONCLUSIVE, NOT_APPLICABLE, NOT_CHECKED
from analysis.counted import counted
from analysis.load import Run, load_run
from analysis.tables import metrics_table, runs_table
from analysis.timing import Timing
from testbed.errors import InconclusiveError, InputError
from testbed.experiments.runner import Result
from testbed.scenario import yaml_reader
from testbed.scenario.schema import Scenario


def render_run(scenario: Scenario, result: Result) -> str:
    """Verdicts, the table, and where the run directory is."""
    summary = result.summary
    agent = scenario.algorithm.agent
    repetitions = counted(scenario.repeat, "repetition")
    count = f"{len(summary['repetitions'])} of {repetitions}" if summary["lost"] else repetitions
    length = f"{scenario.duration:g} time units" if scenario.duration is not None else f"{scenario.entries} entries"
    lines = [
        f"{scenario.name}: {scenario.algorithm.name} ({agent.summary})",
        f"{scenario.nodes} nodes, {length}, {count}, backend {scenario.backend}",
        "",
        render_verdicts(summary["checks"]),
        metrics_table(summary["metrics"]).render("md"),
    ]
    lines += [f"WARNING: {line}" for line in scenario.warnings()]
    lines += [f"NOT AS EXPECTED: {line}" for line in summary["unmet"]]
    lines += [f"INCONCLUSIVE: {line}" for line in summary["inconclusive"]]
    lines.append(f"run directory: {result.path}")
    return "\n".join(lines) + "\n"


def render_verdicts(checks: dict[str, Any]) -> str:
    """A line for every check, and below a failed one its first offending events and how to see them.

    What means nothing for this kind of run is left out, where that goes without saying.
    """
    lines = []
    for name, check in checks.items():
        if name == Timing.name and check["verdict"] == NOT_APPLICABLE:
            continue
        detail = f"  ({check['detail']})" if check["detail"] else ""
        lines.append(f"{name:13} {check['verdict']}{detail}")
        lines += [f"{'':13}   {offender}" for offender in check["offenders"]]
        if check.get("replay"):
            lines.append(f"{'':13}   replay: {check['replay']}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Analysis:
    """Some runs, judged from their logs."""

    runs: list[Run]
    labels: list[str]
    by: str

    def exit_code(self) -> int:
        """1 if any check failed in any run, 4 if any is inconclusive, else 0."""
        found = {check["verdict"] for run in self.runs for check in self.verdicts(run).values()}
        return 1 if FAILED in found else InconclusiveError.exit_code if INCONCLUSIVE in found else 0

    def verdicts(self, run: Run) -> dict[str, dict[str, Any]]:
        """The verdicts from the log; if it does not hold enough for a check, the run's own verdict is added."""
        verdicts = run.verdicts()
        for name, check in verdicts.items():
            if check["verdict"] == NOT_CHECKED and run.summary is not None and name in run.summary["checks"]:
                own = run.summary["checks"][name]["verdict"]
                verdicts[name] = {**check, "detail": f"{check['detail']}; the verdict of the run itself: {own}"}
        return verdicts

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "by": self.by,
            "runs": [
                {
                    "run_dir": str(run.path),
                    "label": label,
                    "status": run.meta.get("status"),
                    "finished": run.finished,
                    "checks": self.verdicts(run),
                    "metrics": run.metrics() if run.repetitions else None,
                }
                for run, label in zip(self.runs, self.labels, strict=True)
            ],
        }

    def render(self, format: str) -> str:
        """As text; in Markdown with the verdicts, in CSV and LaTeX the table alone."""
        measured = [(label, run) for run, label in zip(self.runs, self.labels, strict=True) if run.repetitions]
        if len(self.runs) == 1 and measured:
            table = metrics_table(self.runs[0].metrics()).render(format)
        else:
            table = runs_table(self.by, [(label, run.metrics()) for label, run in measured]).render(format)
        if format != "md":
            return table
        parts = []
        for run in self.runs:
            state = "" if run.finished else f" (did not finish: {run.meta.get('status')})"
            parts.append(f"{run.path}{state}\n{render_verdicts(self.verdicts(run))}")
        return "\n".join([*parts, table])


def analyze(paths: list[Path], by: str | None) -> Analysis:
    """Load runs and label them by a key of their scenarios, or by their names."""
    runs = [load_run(path) for path in paths]
    labels = [run.path.name if by is None else _scenario_value(run, by) for run in runs]
    return Analysis(runs, labels, by or "run")


def _scenario_value(run: Run, key: str) -> str:
    value = yaml_reader.read(run.path / "scenario.yaml").data
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            raise InputError(f"{run.path}: its scenario has no key {key}")
        value = value[part]
    return str(value)
