"""All steps of a check-up, in order: the contract, random runs, faults, radio links, real time, costs.

All scenarios are drawn before the first one runs, so that a file that is edited meanwhile is checked as it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.contract import FAULTS, Needs
from analysis.check import FAILED, INCONCLUSIVE, NOT_APPLICABLE, NOT_CHECKED, OK
from testbed.backends.registry import BACKENDS, find_backend
from testbed.experiments.checkup.costs import Costs, measure_costs
from testbed.experiments.checkup.draws import draw
from testbed.experiments.checkup.finding import Finding, exit_code_of
from testbed.experiments.checkup.real_time import scenario_on, try_in_real_time
from testbed.experiments.checkup.sameness import differences
from testbed.experiments.checkup.subject import Subject
from testbed.experiments.checkup.trials import RUN_LIMIT_S, Overdue, try_group
from testbed.experiments.checkup.twins import run_with_twins
from testbed.progress import Report
from testbed.scenario.algorithm_class import place_of
from testbed.scenario.schema import Scenario

IDEAL, RADIO = "ideal links", "radio links"
RUNS = {IDEAL: 120, RADIO: 24}
RUNS_PER_FAULT = 40
QUICK_SHARE = 5
"""A quick check-up makes one run in so many."""
TWIN_RUNS = 6
SAMENESS_OF = (IDEAL, "restart", "link changes", "cut")
"""The first of each kind of runs is repeated in other processes and replayed, for two of these kinds."""

Show = Callable[[Finding], None]


@dataclass
class Checkup:
    """What has been found."""

    subject: Subject
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    costs: Costs | None = None
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """1 if a step failed, 4 if one shows nothing, else 0."""
        return exit_code_of(self.findings)

    @property
    def conclusion(self) -> str:
        """The last line."""
        failed = [one.title for one in self.findings if one.verdict == FAILED]
        unclear = [one.title for one in self.findings if one.verdict == INCONCLUSIVE]
        runs = sum(one.runs for one in self.findings)
        if failed:
            return f"check: {self.subject.name} FAILED: {', '.join(failed)} ({self.seconds:.0f} s)"
        if unclear:
            shown = ", ".join(unclear)
            return f"check: {self.subject.name} has not failed, but is inconclusive: {shown} ({self.seconds:.0f} s)"
        return f"check: {self.subject.name} is safe and live in {runs} runs ({self.seconds:.0f} s)"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "algorithm": self.subject.name,
            "file": None if self.subject.loaded is None else str(self.subject.loaded.path),
            "exit": self.exit_code,
            "conclusion": self.conclusion,
            "steps": [one.as_dict() for one in self.findings],
            "notes": self.notes,
            "costs": None if self.costs is None else self.costs.rows,
        }


def check_up(
    subject: Subject, out: Path, show: Show, report: Report, *, seed: int = 1, quick: bool = False, every: bool = False
) -> Checkup:
    """Check an algorithm; `out` is for the logs of failures, `show` gets every finding as soon as it is there.

    `quick`: fewer runs, and none in real time. `every`: also on every other backend that runs on this machine.
    """
    begin = time.monotonic()
    plan = Plan.draw(subject, seed, quick=quick, every=every)
    done = Checkup(subject)

    def add(finding: Finding) -> None:
        done.findings.append(finding)
        show(finding)

    add(_of_class(subject))
    add(check_contract(plan.twins, plan.repeated, report))
    sent: dict[str, int] = {}
    for title, scenarios in plan.groups.items():
        finding, messages = try_group(title, scenarios, out, report)
        sent = {kind: sent.get(kind, 0) + messages.get(kind, 0) for kind in (sent | messages)}
        add(finding)
    for title, why in plan.left_out.items():
        add(Finding(title, NOT_APPLICABLE, why))
    for scenario in plan.real_time:
        if done.exit_code == 1:
            add(Finding(scenario.backend, NOT_CHECKED, "it failed already"))
        else:
            add(try_in_real_time(scenario, out, report))
    done.notes = _notes(subject, None if done.exit_code == 1 else sent)
    if done.exit_code != 1:
        done.costs = measure_costs(subject, seed, out, report)
        if done.costs.failures:
            add(Finding("costs", FAILED, "its runs", done.costs.failures))
    done.seconds = time.monotonic() - begin
    return done


@dataclass(frozen=True)
class Plan:
    """All that will be run."""

    twins: list[Scenario]
    repeated: list[Scenario]
    groups: dict[str, list[Scenario]]
    real_time: list[Scenario]
    left_out: dict[str, str]
    """Steps that mean nothing for this algorithm, with the reason."""

    @classmethod
    def draw(cls, subject: Subject, seed: int, *, quick: bool, every: bool) -> Plan:
        """Draw the scenarios of all steps."""
        share = QUICK_SHARE if quick else 1
        faults = [fault for fault in FAULTS if fault in subject.agent.survives and _concerns(subject, fault)]
        counts = {IDEAL: RUNS[IDEAL], **dict.fromkeys(faults, RUNS_PER_FAULT), RADIO: RUNS[RADIO]}
        left_out: dict[str, str] = {}
        backends = [] if quick else ["loopback", *(_other_backends() if every else ())]
        if subject.agent.needs is Needs.LINKS and "link changes" not in subject.agent.survives:
            why = "links over radio form and fall, and it is not declared to survive link changes"
            left_out = dict.fromkeys([RADIO, *backends], why)
            backends = []
            del counts[RADIO]
        groups = {
            title: [draw(subject, title, number, seed) for number in range(count // share)]
            for title, count in counts.items()
        }
        kinds = list(groups)
        twins = [groups[kinds[number % len(kinds)]][number // len(kinds)] for number in range(TWIN_RUNS)]
        repeated = [draw(subject, title, 3, seed) for title in SAMENESS_OF if title in groups][:2]
        real_time = [scenario_on(subject, backend, seed) for backend in backends]
        return cls(twins, repeated, groups, real_time, left_out)


def _concerns(subject: Subject, fault: str) -> bool:
    """Link changes concern those that need links; for all others they are routed around."""
    return fault != "link changes" or subject.agent.needs is Needs.LINKS


def _other_backends() -> list[str]:
    """Those in real time that run on this machine, besides `loopback`."""
    real = [name for name in BACKENDS if name != "loopback" and find_backend(name).real_time]
    return [name for name in real if find_backend(name).missing() is None]


def _of_class(subject: Subject) -> Finding:
    agent = subject.agent
    messages = ", ".join(kind.__name__ for kind in agent.messages) or "no messages"
    survives = ", ".join(agent.survives) or "no faults"
    detail = (
        f"{place_of(agent)}: needs {agent.needs.value}, shares {agent.shares.value}, {messages}; survives {survives}"
    )
    return Finding("declarations", OK, detail)


def check_contract(twins: Sequence[Scenario], repeated: Sequence[Scenario], report: Report) -> Finding:
    """Whether clones, replays and second runs do the same, and messages can be sent as bytes."""
    begin = time.monotonic()
    finding, _ = try_group("contract", twins, None, report, run_with_twins)
    try:
        found = differences(repeated) if finding.verdict == OK else []
    except Overdue:
        found = []
        finding.verdict, finding.detail = INCONCLUSIVE, f"a run did not end within {RUN_LIMIT_S:g} s"
    if found:
        finding.verdict, finding.detail, finding.offences = FAILED, "", found
    if finding.verdict == OK:
        finding.detail = "clones, replays and second runs do the same; messages can be sent as bytes"
    finding.seconds = time.monotonic() - begin
    return finding


def _notes(subject: Subject, sent: dict[str, int] | None) -> list[str]:
    """What a reader should know besides; `sent` are the messages of all runs, None if the runs ended early."""
    missing = [fault for fault in FAULTS if fault not in subject.agent.survives and _concerns(subject, fault)]
    names = [kind.__name__ for kind in subject.agent.messages]
    silent = [] if sent is None else [name for name in names if not sent.get(name)]
    notes = {"not declared to survive, and not tried": missing, "never sent in these runs": silent}
    return [f"{note}: {', '.join(items)}" for note, items in notes.items() if items]
