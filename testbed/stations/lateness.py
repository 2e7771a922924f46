"""How late things happen that are due at a time, counted in steps of a tenth of a millisecond."""

from __future__ import annotations

from collections import Counter

STEP_MS = 0.1


class Lateness:
    """Collects latenesses and sums them up."""

    def __init__(self) -> None:
        self._steps: Counter[int] = Counter()
        self._count = 0
        self._sum_ms = self._max_ms = 0.0

    def note(self, ms: float) -> None:
        """Something was this late."""
        self._steps[int(ms / STEP_MS)] += 1
        self._count += 1
        self._sum_ms += ms
        self._max_ms = max(self._max_ms, ms)

    def summary(self) -> dict[str, float] | None:
        """The distribution in milliseconds; percentiles are rounded up to a step. None if nothing was ever due."""
        if not self._count:
            return None
        shares = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
        found = {name: min(self._percentile(share), self._max_ms) for name, share in shares.items()}
        return {"mean": self._sum_ms / self._count, **found, "max": self._max_ms}

    def _percentile(self, share: float) -> float:
        below = 0
        for step in sorted(self._steps):
            below += self._steps[step]
            if below >= share * self._count:
                return (step + 1) * STEP_MS
        return self._max_ms
