"""One repetition, measured and judged: the metrics and all checks as a single listener."""

from __future__ import annotations

from typing import Any

from analysis.checks import CHECKS
from analysis.events import LEVELS
from analysis.listener import Fan
from analysis.metrics import Metrics


class Audit(Fan):
    """Passes every event to the metrics and to the checks that care for its kind."""

    def __init__(self) -> None:
        self._metrics = Metrics()
        self._checks = [check() for check in CHECKS]
        super().__init__(self._metrics, *self._checks)

    def metrics(self) -> dict[str, Any]:
        """What was measured."""
        return self._metrics.result()

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """What every check says."""
        return {check.name: check.verdict().as_dict() for check in self._checks}


class LiveAudit(Audit):
    """An audit that follows the run itself: it hears every event, whatever the trace level of the log."""

    def __init__(self) -> None:
        super().__init__()
        hear = self.start

        def start(t: int, node: None, version: int, trace: str, *more: Any) -> None:
            hear(t, node, version, LEVELS[-1], *more)

        setattr(self, "start", start)  # noqa: B010  (an event's method, like those that Fan sets)
