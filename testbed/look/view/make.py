"""Makes the page of one repetition of a run: reads the log once for what happened, and once more for the states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents.contract import TICKS
from analysis.audit import Audit
from analysis.check import Check
from analysis.checks import CHECKS
from analysis.dispatch import Fan
from analysis.events import supports
from analysis.load import Run, RunDirectoryError, load_run, replay
from analysis.plausible import Account
from testbed.durations import MAX_UNITS, to_ticks
from testbed.errors import InputError
from testbed.experiments.runner import no_report
from testbed.look.page import page
from testbed.look.view.about import about, body_of, title_of, trace_notes
from testbed.look.view.ground import ground
from testbed.look.view.happenings import Happenings
from testbed.look.view.making import READING, ReadingProgress, count_lines, with_progress
from testbed.look.view.states import Describe, TooLarge, states
from testbed.progress import Report
from testbed.replay.all_nodes import replay_all
from testbed.scenario.loader import load
from testbed.scenario.schema import Scenario

MAX_STATE_EVENTS = 200_000
"""Of a run with more events, the page has no states: it would take minutes to make and hundreds of MB to open."""
MAX_VIOLATIONS = 1_000
SCRIPTS = [
    f"view/{name}.js"
    for name in (
        "data", "tables", "collect", "model", "svg", "marks", "map", "spacetime", "panel", "export", "live", "main"
    )
]  # fmt: skip
"""In this order: each uses those before it."""


def view(
    path: Path, describe: Describe, *, repetition: int = 0, at: float | None = None, report: Report = no_report
) -> str:
    """The page, as HTML. `describe` gives a replay as `testbed replay --json` prints it; `at` is in time units."""
    if at is not None and not 0 <= at <= MAX_UNITS:
        raise InputError(f"--at {at:g}: a time in time units, from 0 to {MAX_UNITS:g}")
    try:
        run = load_run(path)
        folder = _repetition(run, repetition)
        scenario = load(path / "scenario.yaml")
        happened, violations, verdicts = _read(folder / "events.jsonl", scenario.trace, report)
    except RunDirectoryError as error:
        raise InputError(str(error)) from None
    start = happened.start_event
    if start is None:
        raise InputError(f"{folder / 'events.jsonl'}: the log is empty: the run was killed as it started")
    if len(start.units) != scenario.nodes:
        raise InputError(f"{path}: scenario.yaml has {scenario.nodes} nodes, and the log {len(start.units)}")
    notes = _notes(happened, start.trace, run)
    agents, state_notes = _states(path, scenario, repetition, happened, describe, report)
    marks = sorted([*happened.marks, *violations])
    title = title_of(scenario, repetition)
    data = {
        "run": {
            **about(path, scenario, repetition, start),
            "at": None if at is None else to_ticks(at),
            "verdicts": verdicts,
            "notes": [note[:500] for note in (*notes, *state_notes[:20])],
            "marks": [list(mark) for mark in marks],
        },
        "ground": ground(scenario, folder),
        "happened": happened.as_columns(),
        "states": agents,
    }
    return page(title, body_of(title), styles=["view/view.css"], scripts=SCRIPTS, data=data)


def _repetition(run: Run, number: int) -> Path:
    folder = run.path / f"rep-{number:03d}"
    if folder not in run.repetitions:
        names = [one.name for one in run.repetitions]
        begun = f"{names[0]} to {names[-1]}" if names else "none"
        raise InputError(f"--repetition {number}: no such repetition; {run.path} has {begun}")
    return folder


def _read(
    path: Path, trace: str, report: Report
) -> tuple[Happenings, list[tuple[int, int, str, str]], dict[str, dict[str, Any]]]:
    """What happened, every offence that a check found, and the verdicts."""
    lines = count_lines(path)
    has_states = supports(trace, "recv") and lines <= MAX_STATE_EVENTS
    progress = ReadingProgress(report, lines, READING if has_states else 1.0)
    happened, violations = Happenings(), list[tuple[int, int, str, str]]()
    audit = Audit(happened, checks=tuple(_noting(check, violations) for check in CHECKS))
    replay(path, Fan(audit, progress), account=Account())
    happened.finish()
    verdicts = {
        name: {"verdict": one["verdict"], "detail": one["detail"][:500]} for name, one in audit.verdicts().items()
    }
    return happened, violations, verdicts


def _noting(check: type[Check], notes: list[tuple[int, int, str, str]]) -> type[Check]:
    """A check that notes when each offence was, not only how many there were."""

    def offend(self: Check, t: int, node: int | None, what: str) -> None:
        if len(notes) < MAX_VIOLATIONS:
            notes.append((t, -1 if node is None else node, "violation", f"{self.name}: {what}"[:500]))
        check.offend(self, t, node, what)

    return type(check.__name__, (check,), {"offend": offend})


def _notes(happened: Happenings, trace: str, run: Run) -> list[str]:
    """What the page cannot show, and why."""
    notes = trace_notes(trace)
    if not happened.has_stopped:
        notes.append(f"The log ends at t={happened.end / TICKS:g} without a stop: the run did not come to its end.")
    without = sum(message[8] < 0 for message in happened.messages)
    if without:
        notes.append(f"The page is without the fields of the last {without:,} of {len(happened.messages):,} messages.")
    status = run.meta.get("status")
    if status not in ("finished", None) and happened.has_stopped:
        notes.append(f"The status of the run is {str(status)[:40]}.")
    return notes


def _states(
    path: Path, scenario: Scenario, repetition: int, happened: Happenings, describe: Describe, report: Report
) -> tuple[dict[str, Any] | None, list[str]]:
    assert happened.start_event is not None
    if not supports(happened.start_event.trace, "recv"):
        return None, []
    if len(happened.events) > MAX_STATE_EVENTS:
        count = f"{len(happened.events):,} events, more than {MAX_STATE_EVENTS:,}"
        return None, [f"The log has {count}: the page is without the states of agents. `testbed replay` has them."]
    try:
        replays = replay_all(path, scenario, repetition)
        return states(with_progress(replays, scenario.nodes, report), describe)
    except RecursionError:
        return None, ["The page is without the states of agents: a message in the log is nested too deeply."]
    except (InputError, RunDirectoryError, TooLarge) as error:
        return None, [f"The page is without the states of agents: {error}"]
