"""How late things are done that are due at a given time: whether a run in real time kept up."""

from __future__ import annotations

from array import array

from analysis import stats

_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


class Lateness:
    """Every delay, in nanoseconds. A million of them take 8 MB."""

    def __init__(self) -> None:
        self._ns = array("q")
        self.note = self._ns.append
        """Something was this many nanoseconds late."""

    def summary_ms(self) -> dict[str, float] | None:
        """The distribution in milliseconds; None if nothing was ever due."""
        ordered = sorted(self._ns)
        if not ordered:
            return None
        found = {"mean": stats.mean(ordered)}
        found |= {name: stats.percentile(ordered, share) for name, share in _PERCENTILES.items()}
        return {name: round(ns / 1e6, 3) for name, ns in found.items() if ns is not None}
