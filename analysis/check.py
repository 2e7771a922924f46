"""What a check is: it listens to one repetition and gives a verdict.

A check that fails keeps the first offending events; one whose events the log does not hold says `not checked`, never
`ok`; one that means nothing for an algorithm, such as the conservation of permissions, says `not applicable`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from agents.contract import TICKS
from analysis.events import Start, supports
from analysis.listener import Listener

OK, FAILED, INCONCLUSIVE = "ok", "failed", "inconclusive"
NOT_CHECKED, NOT_APPLICABLE = "not checked", "not applicable"
MAX_OFFENDERS = 5
PERMISSIONS = "permissions"
"""What an algorithm shares whose nodes hold nothing."""


@dataclass
class Verdict:
    """What a check says of a run, with the first offending events if it failed."""

    verdict: str
    detail: str = ""
    offenders: list[str] = field(default_factory=list)
    first: dict[str, Any] | None = None
    """Where a replay shows the first offence: its `node` and its time `t` in ticks; over repetitions also the
    `repetition`."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"verdict": self.verdict, "detail": self.detail, "offenders": self.offenders, "first": self.first}


class Check(Listener):
    """Base of the checks."""

    name: ClassVar[str]
    needs_kind: ClassVar[str]
    """A kind of event without which the check cannot be made."""
    needs_stop: ClassVar[bool] = False
    """Whether the verdict can be `ok` only for a run that came to its end."""

    def __init__(self) -> None:
        self.offenders: list[str] = []
        self.first: dict[str, Any] | None = None
        self.offences = 0
        self.trace: str | None = None
        self.stopped = False
        self.not_applicable = ""
        """Why the check means nothing for this algorithm, if it does not."""

    def start(self, t: int, node: None, *fields: Any) -> None:
        start = Start(*fields)
        self.trace = start.trace
        self.begin(start)

    def begin(self, start: Start) -> None:
        """Take the facts of the start event."""

    def stop(self, t: int, node: None, reason: str, units: list[int], tokens: list[int]) -> None:
        self.stopped = True
        self.end(t, units, tokens)

    def end(self, t: int, units: list[int], tokens: list[int]) -> None:
        """Check what can be checked only at the end."""

    def offend(self, t: int, node: int | None, what: str) -> None:
        """Note an offence; `node` is the one whose replay shows it, if there is such a node."""
        self.offences += 1
        if self.first is None and node is not None:
            self.first = {"node": node, "t": t}
        if len(self.offenders) < MAX_OFFENDERS:
            self.offenders.append(f"t={t / TICKS:g}: {what}")

    def verdict(self) -> Verdict:
        """What the check says of the events so far."""
        if self.trace is None:
            return Verdict(NOT_CHECKED, "the log has no start")
        if self.not_applicable:
            return Verdict(NOT_APPLICABLE, self.not_applicable)
        if not supports(self.trace, self.needs_kind):
            return Verdict(NOT_CHECKED, f"trace level {self.trace} does not hold what it needs")
        if self.offences:
            return Verdict(FAILED, f"{self.offences} offence{'s' * (self.offences > 1)}", self.offenders, self.first)
        if self.needs_stop and not self.stopped:
            return Verdict(NOT_CHECKED, "the run did not come to its end")
        return Verdict(OK, self.remark())

    def remark(self) -> str:
        """What a reader should know of a check that passed."""
        return ""


def combine(verdicts: list[dict[str, Any]]) -> dict[str, Any]:
    """One verdict over repetitions: the worst of them; not applicable if it is so in all."""
    for wanted in (FAILED, INCONCLUSIVE, NOT_CHECKED):
        bad = [(rep, one) for rep, one in enumerate(verdicts) if one["verdict"] == wanted]
        if bad:
            shown = ({**one["first"], "repetition": rep} for rep, one in bad if one["first"] is not None)
            offenders = [f"repetition {rep}: {line}" for rep, one in bad for line in one["offenders"]]
            detail = f"{bad[0][1]['detail']} (in {len(bad)} of {len(verdicts)} repetitions)"
            return Verdict(wanted, detail, offenders[:MAX_OFFENDERS], next(shown, None)).as_dict()
    if verdicts and all(one["verdict"] == NOT_APPLICABLE for one in verdicts):
        return Verdict(NOT_APPLICABLE, verdicts[0]["detail"]).as_dict()
    details = list(dict.fromkeys(one["detail"] for one in verdicts))
    return Verdict(OK, "; ".join(details[:3])).as_dict()
