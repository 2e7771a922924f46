"""What became of demands: whether urgent ones went first, deadlines were met, and units lay idle while nodes waited.

Averages over time are from the end of the warmup to the time at which requests stop (`close`): what happens afterwards
serves what is left, without load.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Any

from agents.contract import TICKS
from analysis.batched import ENTERED, REQUESTED, Step, StepListener
from analysis.check import MAX_OFFENDERS
from analysis.events import LEVELS, Start, supports
from analysis.neighbourhoods import Whereabouts

Pending = tuple[int, int, int, int | None]
"""A pending request: when it was made, its units, its priority and its deadline."""
NO_REQUEST: Pending = (0, 0, 0, None)


class DemandMetrics(StepListener):
    """Listens to one repetition and summarises its demands.

    An inversion is a request that is pending, with a strictly greater priority, when another node enters. Priorities
    are those that applications ask with, whatever an algorithm adds to them.
    """

    def __init__(self) -> None:
        self._start = Start(trace=LEVELS[0])
        self._whereabouts = Whereabouts(self._start)
        self._waiting: dict[int, Pending] = {}
        self._inside: dict[int, Pending] = {}  # the requests of the nodes that are inside
        self._in_use = 0
        self._since = 0  # up to when the averages over time have been taken
        self._end: int | None = None  # when requests stopped
        self._node_ticks = self._unit_ticks = self._fit_ticks = 0
        self._priorities: set[int] = set()
        self._sizes: set[int] = set()
        self._entries = self._inversions = self._after_grace = 0
        self._listed: list[str] = []
        self._lateness = array("q")  # entry minus deadline, of entries that had one
        self._missed_waiting = 0  # deadlines that had passed at the end, of requests still pending
        self._longest = self._pending = 0

    def start(self, t: int, node: None, *fields: Any) -> None:
        self._start = Start(*fields)
        self._whereabouts = Whereabouts(self._start)
        self._since = self._start.warmup

    def take_steps(self, steps: Iterable[Step]) -> None:
        waiting, inside, warmup, capacity = self._waiting, self._inside, self._start.warmup, self._start.capacity
        since, in_use, is_open = self._since, self._in_use, self._end is None
        node_ticks, unit_ticks, sizes = self._node_ticks, self._unit_ticks, self._sizes
        least = self._least_size()
        for kind, t, node, units, priority, deadline in steps:
            if t > since and is_open:  # as nearly always; then as in `_pass_time`
                if inside:
                    node_ticks += len(inside) * (t - since)
                    unit_ticks += in_use * (t - since)
                if waiting and in_use < capacity:
                    self._in_use = in_use
                    if in_use + least <= capacity if least else self._one_fits():
                        self._fit_ticks += t - since
                since = t
            if kind is REQUESTED:
                waiting[node] = (t, units, priority, deadline)
                if priority not in self._priorities:
                    self._priorities.add(priority)
                if units not in sizes:
                    sizes.add(units)
                    least = self._least_size()
            elif kind is ENTERED:
                asked, _, _, due = waiting.pop(node, (t, units, priority, deadline))
                inside[node] = (asked, units, priority, deadline)
                in_use += units
                if t >= warmup:
                    self._entries += 1
                    if t - asked > self._longest:
                        self._longest = t - asked
                    if due is not None:
                        self._lateness.append(t - due)
                    if len(self._priorities) > 1:
                        self._find_inversions(t, node, priority)
            else:
                in_use -= inside.pop(node, NO_REQUEST)[1]
        self._since, self._in_use, self._node_ticks, self._unit_ticks = since, in_use, node_ticks, unit_ticks

    def _pass_time(self, t: int) -> None:
        """Add the time since the last step to the averages."""
        passed = t - self._since
        if passed <= 0 or self._end is not None:
            return
        self._since = t
        if self._inside:
            self._node_ticks += len(self._inside) * passed
            self._unit_ticks += self._in_use * passed
        if self._waiting and (self._in_use < self._start.capacity) and self._one_fits():
            self._fit_ticks += passed

    def _one_fits(self) -> bool:
        """Whether a pending request asks for no more than the units not in use, of its cluster or neighbourhood."""
        start, free = self._start, self._start.capacity - self._in_use
        if not start.clusters and not start.places:
            return (self._least_size() or min(one[1] for one in self._waiting.values())) <= free
        in_use = Counter[int | None]()
        for node, (_, units, _, _) in self._inside.items():
            in_use[self._section(node)] += units
        share = start.capacity // max(1, len(set(start.clusters)))
        for node, (_, units, _, _) in self._waiting.items():
            section = self._section(node)
            has = share if start.clusters else 0 if section is None else start.places[section]
            if units <= has - in_use[section]:
                return True
        return False

    def _least_size(self) -> int:
        """What every request asks for, if all ask for the same and share the same units; else 0."""
        is_alike = len(self._sizes) == 1 and not self._start.clusters and not self._start.places
        return min(self._sizes) if is_alike else 0

    def _section(self, node: int) -> int | None:
        """The cluster or neighbourhood of a node."""
        return self._start.clusters[node] if self._start.clusters else self._whereabouts.of(node)

    def _find_inversions(self, t: int, node: int, priority: int) -> None:
        is_whole = not self._start.clusters and not self._start.places
        for other, (asked, _, greater, _) in self._waiting.items():
            if greater > priority and (is_whole or self._section(other) == self._section(node)):
                self._inversions += 1
                self._after_grace += t - asked > self._start.grace
                if len(self._listed) < MAX_OFFENDERS:
                    waits = f"while node {other} waits with {greater} since t={asked / TICKS:g}"
                    self._listed.append(f"t={t / TICKS:g}: node {node} enters with priority {priority} {waits}")

    def evict(self, t: int, node: int) -> None:
        self._pass_time(t)
        self._in_use -= self._inside.pop(node, NO_REQUEST)[1]

    def join(
        self, t: int, node: int, group: int, visit: int, members: list[list[int]], units: int, tokens: int, fields: Any
    ) -> None:
        self._pass_time(t)
        self._whereabouts.move(node, group)

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        self._pass_time(t)
        self._waiting.pop(node, None)
        self._whereabouts.move(node, None)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self._pass_time(t)
        self._waiting.pop(node, None)
        self._in_use -= self._inside.pop(node, NO_REQUEST)[1]

    def close(self, t: int, node: None, patience: int) -> None:
        self._pass_time(t)
        self._end = max(t, self._start.warmup)
        self._pending = len(self._waiting)

    def stop(self, t: int, node: None, reason: str, units: list[int], tokens: list[int]) -> None:
        if self._end is None:  # the run ended while requests were made
            self.close(t, None, 0)
        for asked, _, _, deadline in self._waiting.values():
            self._longest = max(self._longest, t - asked)
            self._missed_waiting += deadline is not None and t > deadline

    def result(self) -> dict[str, Any]:
        """The metrics of the repetition, ready for JSON; None where nothing was measured or the log does not say."""
        start = self._start
        span = (self._since if self._end is None else self._end) - start.warmup
        knows = supports(start.trace, "enter")

        def averaged(ticks: float) -> float | None:
            return ticks / span if span > 0 and knows else None

        has_priorities = knows and len(self._priorities) > 1 and self._entries > 0
        late, deadlines = sum(one > 0 for one in self._lateness), len(self._lateness)
        missed = (late + self._missed_waiting) / max(1, deadlines + self._missed_waiting)
        return {
            "inversions_per_cs": self._inversions / self._entries if has_priorities else None,
            "inversions_after_grace_per_cs": self._after_grace / self._entries if has_priorities else None,
            "first_inversions": self._listed if has_priorities else None,
            "deadlines_missed": missed if knows and deadlines + self._missed_waiting else None,
            "nodes_inside": averaged(self._node_ticks),
            "utilisation": averaged(self._unit_ticks / start.capacity),
            "idle_though_fitting": averaged(self._fit_ticks),
            "longest_wait": self._longest / TICKS if knows else None,
            "pending_at_close": self._pending if knows and self._end is not None else None,
        }
