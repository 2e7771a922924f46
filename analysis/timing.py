"""Timing: in real time, stations and medium acted soon enough for the link layer's timers.

A link layer takes a late answer for a lost one. On a machine that is too slow or too busy, links fall and requests are
not served although the algorithm is correct. So a run that was late shows nothing of the algorithm: it is neither ok
nor failed, but inconclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.check import INCONCLUSIVE, NOT_CHECKED, OK, Check, Verdict
from analysis.events import Start

ADVICE = "repeat it with a slower time_unit, or on an idle machine"


class Timing(Check):
    """No station, nor the medium, was later than the bound in more than one case of a hundred.

    The bound is in the `lateness` event, which is logged at the end. A run that was killed has none, and is not
    checked. In virtual time nothing is late.
    """

    name = "timing"
    needs_kind = "lateness"

    def __init__(self) -> None:
        super().__init__()
        self.bound_ms = 0.0
        self.p99_ms: dict[str, float] = {}
        """Of the latest station and of the medium, if they were measured."""

    def begin(self, start: Start) -> None:
        if not start.real_time:
            self.not_applicable = "time is virtual"

    def lateness(
        self,
        t: int,
        node: None,
        medium_ms: dict[str, float] | None,
        station_ms: dict[str, float] | None,
        bound_ms: float,
    ) -> None:
        self.bound_ms = bound_ms
        if station_ms is not None:
            self.p99_ms[f"station {station_ms['station']:.0f}"] = station_ms["p99"]
        if medium_ms is not None:
            self.p99_ms["the medium"] = medium_ms["p99"]

    def verdict(self) -> Verdict:
        """What the check says of the events so far: never `failed`, as no algorithm is to blame."""
        verdict = super().verdict()
        if verdict.verdict != OK:
            return verdict
        if not self.p99_ms:
            return Verdict(NOT_CHECKED, "the log does not say how late stations were")
        if max(self.p99_ms.values()) > self.bound_ms:
            return Verdict(INCONCLUSIVE, f"too late: {verdict.detail}; {ADVICE}")
        return verdict

    def remark(self) -> str:
        if not self.p99_ms:
            return ""
        latest = max(self.p99_ms, key=self.p99_ms.__getitem__)
        return f"p99 of {latest}: {_shown(self.p99_ms[latest])} of {_shown(self.bound_ms)} ms allowed"


def late(verdicts: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the verdicts of a run say that the machine was too slow for it."""
    return Timing.name in verdicts and verdicts[Timing.name]["verdict"] == INCONCLUSIVE


def _shown(ms: float) -> str:
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.2g}" if ms < 10 else f"{ms:.3g}"
