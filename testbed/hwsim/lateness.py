"""How late things happened that were due at a time: whether an emulation in real time kept up."""

from __future__ import annotations

from array import array


class Lateness:
    """Every delay, in nanoseconds. A million of them take 8 MB."""

    def __init__(self) -> None:
        self._ns = array("q")
        self.note = self._ns.append

    def __len__(self) -> int:
        return len(self._ns)

    def summary_ms(self) -> dict[str, float]:
        """The percentiles that matter; nothing was late if there is nothing."""
        ordered = sorted(self._ns)
        if not ordered:
            return {"p50": 0.0, "p95": 0.0, "p99": 0.0, "max": 0.0}
        last = len(ordered) - 1
        named = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
        return {name: round(ordered[round(share * last)] / 1e6, 3) for name, share in named.items()}
