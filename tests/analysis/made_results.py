"""Results written by hand: known numbers on known axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from analysis.results import Results, Row

OK = {"safety": {"verdict": "ok", "detail": "", "offenders": [], "first": None}}
FAILED = {"safety": {"verdict": "failed", "detail": "1 offence", "offenders": ["t=1: two inside"], "first": None}}


def waiting(mean: float) -> dict[str, Any]:
    """The metrics of a repetition whose waiting time has this mean."""
    return {"waiting_time": {"mean": mean, "p50": mean / 2, "p95": 2 * mean, "max": 3 * mean}, "entries": 10}


def made(
    axes: Mapping[str, Sequence[Any]],
    value: Callable[[dict[str, Any], int], float],
    repetitions: int = 3,
    **more: Any,
) -> Results:
    """Every combination of the values on the axes, with a waiting time of `value(axes, repetition)`."""
    rows = [
        Row(point, number, waiting(value(point, number)), OK, 0.5)
        for values in product(*axes.values())
        for point in [dict(zip(axes, values, strict=True))]
        for number in range(repetitions)
    ]
    return Results("made", tuple(axes), tuple(rows), shares_draws=frozenset({"algorithm"}), **more)
