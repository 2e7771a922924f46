"""What one step of a check-up has found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from analysis.check import FAILED, INCONCLUSIVE, OK
from testbed.errors import InconclusiveError


@dataclass
class Finding:
    """A line of the report."""

    title: str
    verdict: str = OK
    detail: str = ""
    offences: list[str] = field(default_factory=list)
    """Below a failure: which check failed, and the events that broke it."""
    replay: str | None = None
    """The command that shows the first of them."""
    runs: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def offences_of(checks: dict[str, dict[str, Any]]) -> list[str]:
    """The first offence of every check that failed."""
    return [
        f"{name}: {(check['offenders'] or [check['detail']])[0]}"
        for name, check in checks.items()
        if check["verdict"] == FAILED
    ]


def replay_of(checks: dict[str, dict[str, Any]]) -> str | None:
    """The command that replays the earliest offence; the others often follow from it."""
    shown = [check for check in checks.values() if check.get("replay")]
    earliest = min(shown, key=lambda check: check["first"]["t"] if check["first"] else 0, default=None)
    return None if earliest is None else str(earliest["replay"])


def exit_code_of(findings: Iterable[Finding]) -> int:
    """1 if a step failed, 4 if one shows nothing, else 0."""
    verdicts = {one.verdict for one in findings}
    return 1 if FAILED in verdicts else InconclusiveError.exit_code if INCONCLUSIVE in verdicts else 0
