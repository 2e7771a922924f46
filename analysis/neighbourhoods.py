"""Neighbourhoods: which node is in which of them, and what happened there."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from agents.contract import TICKS
from analysis import stats
from analysis.batched import ENTERED, REQUESTED, Step, StepListener
from analysis.events import LEVELS, Start, supports
from analysis.metrics import spread


class Whereabouts:
    """The neighbourhood of every node, as events tell it."""

    def __init__(self, start: Start) -> None:
        self.places = list(start.places)
        """The units of every neighbourhood."""
        self._of: dict[int, int | None] = dict(enumerate(start.groups))

    def move(self, node: int, group: int | None) -> None:
        """A node is in a neighbourhood from now on; None for outside."""
        self._of[node] = group

    def of(self, node: int) -> int | None:
        """The neighbourhood that a node is in."""
        return self._of.get(node)


class NeighbourhoodMetrics(StepListener):
    """Listens to one repetition and summarises what happened in its neighbourhoods.

    A critical section counts for the neighbourhood in which it began; the waiting time of a request runs from the
    node's arrival, if the node has come with it.
    """

    def __init__(self) -> None:
        self._start = Start()
        self._whereabouts = Whereabouts(self._start)
        self._requested: dict[int, int] = {}
        self._waits: dict[int, list[int]] = {}
        self._freed_at: dict[int | None, int] = {}  # by neighbourhood: the last exit, if a request was pending there
        self._gaps = array("q")
        self._saved = 0  # messages that are one transmission with others
        self._joins = self._evictions = self._abandoned = self._regenerated = 0

    def start(self, t: int, node: None, *fields: Any) -> None:
        self._start = Start(*fields)
        self._whereabouts = Whereabouts(self._start)
        self._waits = {group: [] for group in range(len(self._start.places))}

    def take_steps(self, steps: Iterable[Step]) -> None:
        if not self._start.places:
            return
        for kind, t, node, *_ in steps:
            if kind is REQUESTED:
                self._requested[node] = t
            elif kind is ENTERED:
                asked, group = self._requested.pop(node, t), self._whereabouts.of(node)
                freed_at = self._freed_at.pop(group, None)
                if t >= self._start.warmup and group is not None:
                    self._waits[group].append(t - asked)
                    if freed_at is not None:
                        self._gaps.append(t - freed_at)
            else:
                self._free(t, node)

    def _free(self, t: int, node: int) -> None:
        """A node is no longer inside: from now on the next entry in its neighbourhood is waited for, if one is."""
        of = self._whereabouts.of
        if any(of(other) == of(node) for other in self._requested):
            self._freed_at[of(node)] = t

    def join(
        self, t: int, node: int, group: int, visit: int, members: list[list[int]], units: int, tokens: int, fields: Any
    ) -> None:
        self._whereabouts.move(node, group)
        self._joins += t >= self._start.warmup

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        self._whereabouts.move(node, None)
        self._requested.pop(node, None)
        self._abandoned += abandoned and t >= self._start.warmup

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self._whereabouts.move(node, None)
        self._requested.pop(node, None)

    def evict(self, t: int, node: int) -> None:
        self._free(t, node)
        self._evictions += t >= self._start.warmup

    def regenerate(self, t: int, node: int, group: int, units: int, tokens: int) -> None:
        self._regenerated += t >= self._start.warmup

    def broadcast(self, t: int, node: int, group: int, type: str, receivers: int, fields: Any) -> None:
        if t >= self._start.warmup:
            self._saved += max(0, receivers - 1)

    def result(self) -> dict[str, Any]:
        """The metrics of the neighbourhoods, ready for JSON; None where there are none."""
        trace = self._start.trace if self._start.places else LEVELS[0]
        knows = supports(trace, "enter")
        waits = self._waits.items()
        return {
            # An entry at one place does not end the delay after an exit at another.
            **({"synchronization_delay": spread(self._gaps)} if self._start.places else {}),
            "messages_saved": self._saved if supports(trace, "broadcast") else None,
            "arrivals": self._joins if knows else None,
            "evictions": self._evictions if knows else None,
            "abandoned": self._abandoned if knows else None,
            "regenerated": self._regenerated if self._start.places else None,
            "entries_by_place": {str(group): len(ticks) for group, ticks in waits} if knows else None,
            "waiting_by_place": {str(group): stats.mean([tick / TICKS for tick in ticks]) for group, ticks in waits}
            if knows
            else None,
        }


def transmissions_per_entry(metrics: dict[str, Any], saved: int | None) -> dict[str, float | None]:
    """Messages per critical section if a broadcast counts once; None where there are no broadcasts.

    `saved`: how many messages were one transmission with another.
    """
    entries, messages = metrics["entries"], metrics["messages"]
    is_known = saved is not None and entries and messages is not None
    return {"transmissions_per_cs": (sum(messages.values()) - saved) / entries if is_known else None}
