"""One repetition, measured and judged: the metrics and all checks as a single listener."""

from __future__ import annotations

from typing import Any

from analysis.checks import CHECKS, LIVE_CHECKS, Check
from analysis.events import LEVELS
from analysis.listener import Fan, Listener, heeds
from analysis.metrics import Metrics
from analysis.network import Network


class Audit(Fan):
    """Passes every event to the metrics and to the checks that care for its kind."""

    def __init__(self, checks: tuple[type[Check], ...] = CHECKS) -> None:
        self._metrics, self._network = Metrics(), Network()
        self._checks = [check() for check in checks]
        self.parts: tuple[Listener, ...] = (self._metrics, self._network, *self._checks)
        super().__init__(*self.parts)

    def metrics(self) -> dict[str, Any]:
        """What was measured."""
        return {**self._metrics.result(), **self._network.result()}

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """What every check says."""
        return {check.name: check.verdict().as_dict() for check in self._checks}


class LiveAudit(Audit):
    """An audit for `Live` to tell."""

    def __init__(self) -> None:
        super().__init__(LIVE_CHECKS)


class Live(Fan):
    """What a driver tells everything to: an audit and, if anybody else wants to know, others.

    A run is mostly messages, so the audit is not told of each. The driver counts them and tells the sums at the end
    (`sent`); it sees for itself that they arrive in order and tells of those that do not (`disorder`); and it tells of
    messages that carry units, which are few. The others, such as a recorder of every event, are told of all messages:
    if there are any, `each_message` is true.
    """

    def __init__(self, audit: LiveAudit, *others: Listener) -> None:
        super().__init__(*audit.parts, *others)
        self._pass_on("sent", "sent", audit.parts)
        self._pass_on("sent_cut_off", "sent_cut_off", audit.parts)
        self._pass_on("disorder", "disorder", audit.parts)
        by_units = [part for part in audit.parts if part.units_only]
        self._pass_on("send", "send", [*by_units, *others])
        self._pass_on("recv", "recv", [*by_units, *others])
        self._pass_on("relay", "relay", others)
        self.each_message = any(heeds(one, name) for one in others for name in ("send", "recv"))
        tell_audit, tell_others = audit.start, Fan(*others).start

        def start(t: int, node: None, version: int, trace: str, *more: Any) -> None:
            tell_audit(t, node, version, LEVELS[-1], *more)  # it hears enough for everything it checks
            tell_others(t, node, version, trace, *more)

        setattr(self, "start", start)  # noqa: B010  (an event's method, like those that Fan sets)
