"""Whether a run in real time was late: what the check says, on line and from a log."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.audit import EventAudit
from analysis.check import INCONCLUSIVE, NOT_APPLICABLE, NOT_CHECKED, OK, Verdict, combine
from analysis.timing import ADVICE, Timing, late
from tests.analysis.histories import Event, feed, start, stop

BEGIN, END = start(real_time=True), stop(10, 1, 0, 0)


def lateness(station: float | None, medium: float | None = None, bound: float = 12.5) -> Event:
    """The event of a run whose p99 are these; node 2 is the latest station."""

    def summary(p99: float) -> dict[str, float]:
        return {"mean": 0.1, "p50": 0.1, "p95": 0.2, "p99": p99, "max": 900.0}

    latest = None if station is None else {**summary(station), "station": 2}
    return ("lateness", 9, None, None if medium is None else summary(medium), latest, bound)


def judge(*events: Event) -> Verdict:
    """What the check says of a history."""
    return feed(Timing(), *events).verdict()


def test_a_run_in_time() -> None:
    """It says how near to the bound the latest was; the largest single delay does not count."""
    verdict = judge(BEGIN, lateness(1.24, 0.3), END)
    assert (verdict.verdict, verdict.detail) == (OK, "p99 of station 2: 1.2 of 12.5 ms allowed")
    assert judge(BEGIN, lateness(1.24, 3.3), END).detail == "p99 of the medium: 3.3 of 12.5 ms allowed"


@pytest.mark.parametrize(
    ("station", "medium", "who"),
    [(40.0, None, "station 2: 40"), (40.0, 50.0, "the medium: 50"), (0.1, 12.6, "the medium: 12.6")],
)
def test_a_late_run_shows_nothing(station: float, medium: float | None, who: str) -> None:
    """Be it the fault of a station or of the medium. It is never `failed`, and there is nothing to replay."""
    verdict = judge(BEGIN, lateness(station, medium), END)
    assert verdict.verdict == INCONCLUSIVE
    assert verdict.detail == f"too late: p99 of {who} of 12.5 ms allowed; {ADVICE}"
    assert (verdict.offenders, verdict.first) == ([], None)


def test_just_in_time() -> None:
    """The bound itself is allowed."""
    assert judge(BEGIN, lateness(12.5), END).verdict == OK


def test_in_virtual_time_nothing_is_late() -> None:
    assert judge(start(), END).verdict == NOT_APPLICABLE


@pytest.mark.parametrize("events", [[BEGIN], [BEGIN, lateness(None), END], []], ids=["killed", "unmeasured", "empty"])
def test_what_was_not_measured_is_not_ok(events: list[Event]) -> None:
    """A run that was killed, one of which nothing was measured, and a log without a start."""
    assert judge(*events).verdict == NOT_CHECKED


def test_a_run_of_which_one_repetition_was_late() -> None:
    """Is late."""
    both = [judge(BEGIN, lateness(ms), END).as_dict() for ms in (1.0, 40.0)]
    assert combine(both)["verdict"] == INCONCLUSIVE
    assert late({"timing": combine(both)})


def verdicts(*events: Event) -> dict[str, dict[str, Any]]:
    """What an audit of a run that goes on says, whatever the trace level."""
    return feed(EventAudit(checks=(Timing,)), *events).verdicts()


def test_verdicts_that_say_that_a_run_was_late() -> None:
    """On line, with the lowest trace level. Nothing else means that, not even that nothing was measured."""
    begin = start(real_time=True, trace="metrics")
    assert late(verdicts(begin, lateness(40.0), END))
    assert not late(verdicts(begin, lateness(1.0), END))
    assert not late(verdicts(begin))
    assert not late({"starvation": {"verdict": INCONCLUSIVE}})
