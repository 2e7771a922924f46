"""What one step of a check-up has found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from analysis.check import FAILED, INCONCLUSIVE, OK
from testbed.errors import InconclusiveError

MAX_SHOWN = 2
"""Offences of a check that failed: the first show what is wrong."""


@dataclass
class Finding:
    """A line of the report."""

    title: str
    verdict: str = OK
    detail: str = ""
    offences: list[str] = field(default_factory=list)
    """Below a failure: which check failed, and the events that broke it."""
    replays: list[str] = field(default_factory=list)
    """Commands that show them."""
    runs: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def offences_of(checks: dict[str, dict[str, Any]]) -> list[str]:
    """A line for the first offences of every check that failed."""
    return [
        f"{name}: {offender}"
        for name, check in checks.items()
        if check["verdict"] == FAILED
        for offender in check["offenders"][:MAX_SHOWN] or [check["detail"]]
    ]


def replays_of(checks: dict[str, dict[str, Any]]) -> list[str]:
    """The commands that replay what failed, each once."""
    return list(dict.fromkeys(check["replay"] for check in checks.values() if check.get("replay")))


def exit_code_of(findings: Iterable[Finding]) -> int:
    """1 if a step failed, 4 if one shows nothing, else 0."""
    verdicts = {one.verdict for one in findings}
    return 1 if FAILED in verdicts else InconclusiveError.exit_code if INCONCLUSIVE in verdicts else 0
