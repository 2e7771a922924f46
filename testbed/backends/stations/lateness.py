"""How late things happen that are due at a time: whether a run in real time kept up."""

from __future__ import annotations

from array import array


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
        last = len(ordered) - 1
        named = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
        found = {name: round(ordered[round(share * last)] / 1e6, 3) for name, share in named.items()}
        return {"mean": round(sum(ordered) / len(ordered) / 1e6, 3), **found}
