"""What is kept of repetitions that failed: a log of every event, and the command that replays it.

Most runs log little (`trace: cs`), and comparisons log nothing. In virtual time a repetition can be run again, so one
that failed is, with `trace: events`, into a run directory of its own.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.contract import TICKS
from analysis.check import FAILED
from analysis.events import LEVELS
from testbed.experiments.run_directory import RunDirectory
from testbed.scenario.schema import Scenario

MAX_KEPT = 5
"""Of the failed repetitions of a scenario: their logs are long, and the first show what is wrong."""


@dataclass(frozen=True)
class FailedLogs:
    """Where the logs of the failed repetitions of a scenario go."""

    out: Path
    name: str
    """What their folders begin with."""

    def keep(
        self, scenario: Scenario, repetition: int, result: dict[str, Any], measure: Callable[..., dict[str, Any]]
    ) -> dict[str, Any]:
        """Run a failed repetition again with a log of every event; returns its result, with the place of the log.

        The verdicts are then those of the second run, if the same checks failed: where every message is looked at, they
        say more exactly when a unit was lost or made.
        """
        is_expected = {name for name, verdict in scenario.expect.checks.items() if verdict == FAILED}
        if set(failed_checks(result)) <= is_expected:
            return result
        if len(list(self.out.glob(f"{self.name}-rep-*"))) >= MAX_KEPT:
            return result
        whole = scenario.model_copy(update={"trace": LEVELS[-1]})
        path = self.out / f"{self.name}-rep-{repetition:03d}"
        if path.exists():  # of a process that was killed while it wrote this
            shutil.rmtree(path)
        path.mkdir(parents=True)
        directory = RunDirectory(whole, path=path)
        again = measure(whole, repetition, directory.repetition(repetition))
        directory.end("repeated", 1)
        if "error" in again:
            (path / "error.txt").write_text(again["error"], encoding="utf-8")
        if failed_checks(again) != failed_checks(result):
            return {**result, "log": str(path), "is_repeatable": False}
        return {**result, "log": str(path), "checks": again["checks"]}


def failed_checks(result: dict[str, Any]) -> list[str]:
    """The checks that failed in a repetition."""
    return [name for name, check in result["checks"].items() if check["verdict"] == FAILED]


def add_replays(checks: dict[str, dict[str, Any]], repetitions: list[dict[str, Any]]) -> None:
    """Add to every failed check the command that shows its first offence in a log that was kept."""
    for name, check in checks.items():
        if check["verdict"] == FAILED:
            check["replay"] = next(
                (_replay(one["log"], one["repetition"], one["checks"][name]["first"]) for one in repetitions
                 if "log" in one and one["checks"][name]["verdict"] == FAILED), None,
            )  # fmt: skip


def _replay(log: str, repetition: int, first: dict[str, Any] | None) -> str:
    at = first or {"node": 0, "t": 0}
    until = f"{at['t'] / TICKS:.9f}".rstrip("0").rstrip(".")
    return f"testbed replay {shlex.quote(log)} --repetition {repetition} --node {at['node']} --until {until}"


def unrepeatable(repetitions: list[dict[str, Any]]) -> list[str]:
    """A line for every failed repetition that did not fail in the same way when it was run again."""
    return [
        f"repetition {one['repetition']} did not fail in the same way when it was run again: the algorithm depends on "
        "something that is no input"
        for one in repetitions
        if not one.get("is_repeatable", True)
    ]
