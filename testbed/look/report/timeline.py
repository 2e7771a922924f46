"""What the charts of a run show, from its logs: waiting times, who waited and entered, and what changed over time.

Waiting times and counts by node are those of `analysis.metrics`: only what happens after the warmup counts. Charts over
time begin at 0 and show the warmup too.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from agents.contract import TICKS
from analysis.events import LEVELS, Start
from analysis.listener import Listener

BINS = 200
"""At most so many stretches of time: about two pixels each."""
GRID = 200
"""At most so many places at which the distribution of waiting times is drawn."""


class WaitingTimes(Listener):
    """The waiting time of every request of a repetition that was served, by node, in ticks."""

    def __init__(self) -> None:
        self.begun = Start()
        self.by_node: dict[int, array[int]] = {}
        self.asked: dict[int, int] = {}
        """When a node made the request that is pending."""

    def start(self, t: int, node: None, *fields: Any) -> None:
        self.begun = Start(*fields)

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self.asked[node] = t

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        asked = self.asked.pop(node, t)
        if t >= self.begun.warmup:
            self.by_node.setdefault(node, array("q")).append(t - asked)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self.asked.pop(node, None)

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        self.asked.pop(node, None)

    def ordered(self) -> list[float]:
        """All of them in time units, the shortest first."""
        return sorted(ticks / TICKS for waits in self.by_node.values() for ticks in waits)


class Steps:
    """A quantity that changes at some instants."""

    def __init__(self, value: float) -> None:
        self._times, self._values = array("q", [0]), array("d", [value])

    @property
    def value(self) -> float:
        """What it is now."""
        return self._values[-1]

    def change(self, t: int, value: float) -> None:
        """From t on, it is `value`."""
        if t == self._times[-1]:
            self._values[-1] = value
        else:
            self._times.append(t)
            self._values.append(value)

    def over(self, edges: Sequence[int]) -> tuple[list[float], list[float]]:
        """The mean, and the greatest value, between every two edges."""
        means, peaks = [], []
        at = max(0, bisect_right(self._times, edges[0]) - 1)
        for begin, end in pairwise(edges):
            total, peak, since = 0.0, self._values[at], begin
            while at + 1 < len(self._times) and self._times[at + 1] < end:
                total += self._values[at] * (self._times[at + 1] - since)
                at += 1
                since = self._times[at]
                peak = max(peak, self._values[at])
            total += self._values[at] * (end - since)
            means.append(total / (end - begin))
            peaks.append(peak)
            if at + 1 < len(self._times) and self._times[at + 1] == end:
                at += 1
        return means, peaks


class Timeline(Listener):
    """What happened when in one repetition, and how many messages each node sent."""

    def __init__(self) -> None:
        self.begun = Start(trace=LEVELS[0])
        self.end = 0
        self.sent_at: dict[str, array[int]] = {}
        """When messages of every type were sent."""
        self.sent_by: dict[int, int] = {}
        """How many messages a node has sent since the warmup."""
        self.in_use, self.waiting = Steps(0), Steps(0)
        self.links, self.components = Steps(0), Steps(1)
        self.marks: list[tuple[int, str]] = []
        """Crashes, restarts and faults."""
        self._inside: dict[int, int] = {}
        self._asked: set[int] = set()
        self._there: set[tuple[int, int]] = set()

    @property
    def knows_links(self) -> bool:
        """Whether the log tells of links: routers over radio report none."""
        return self.begun.needs == "links" or not self.begun.over_radio

    @property
    def capacity(self) -> int:
        """The units that there are."""
        return sum(self.begun.places) if self.begun.places else self.begun.capacity

    def start(self, t: int, node: None, *fields: Any) -> None:
        self.begun = Start(*fields)
        if not self.begun.over_radio:  # otherwise each link is logged when it is found
            self._there = {(min(a, b), max(a, b)) for a, b in self.begun.links}
        self.links = Steps(len(self._there))

    def stop(self, t: int, node: None, reason: str, units: list[int], tokens: list[int]) -> None:
        self.end = max(self.end, t)

    def send(
        self,
        t: int,
        node: int,
        peer: int,
        id: int,
        type: str,
        units: int,
        tokens: int,
        words: int,
        added_words: int,
        fields: Any,
    ) -> None:
        self._count(t, node, type)

    def relay(
        self, t: int, node: int, source: int, target: int, id: int, type: str, words: int, added_words: int
    ) -> None:
        self._count(t, node, type)

    def _count(self, t: int, node: int, type: str) -> None:
        self.end = max(self.end, t)
        times = self.sent_at.get(type)
        if times is None:
            times = self.sent_at[type] = array("q")
        times.append(t)
        if t >= self.begun.warmup:
            self.sent_by[node] = self.sent_by.get(node, 0) + 1

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self._asked.add(node)
        self._note(t)

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self._asked.discard(node)
        self._inside[node] = units
        self._note(t)

    def exit(self, t: int, node: int, units: int) -> None:
        self._inside.pop(node, None)
        self._note(t)

    def evict(self, t: int, node: int) -> None:
        self._inside.pop(node, None)
        self._note(t)

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        self._gone(t, node)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self._gone(t, node)
        self.marks.append((t, f"node {node} crashes"))

    def restart(self, t: int, node: int, incarnation: int) -> None:
        self.marks.append((t, f"node {node} restarts"))

    def fault(self, t: int, node: int | None, fault: str, detail: Any) -> None:
        if fault not in ("crash", "restart"):  # what comes of these has events of its own
            self.marks.append((t, fault if node is None else f"{fault}, node {node}"))

    def _gone(self, t: int, node: int) -> None:
        self._asked.discard(node)
        self._inside.pop(node, None)
        self._note(t)

    def _note(self, t: int) -> None:
        self.end = max(self.end, t)
        self.in_use.change(t, sum(self._inside.values()))
        self.waiting.change(t, len(self._asked))

    def partition(self, t: int, node: None, parts: int, cut_off: list[int]) -> None:
        self.end = max(self.end, t)
        self.components.change(t, parts)

    def link_up(self, t: int, node: int, peer: int) -> None:
        self.end = max(self.end, t)
        self._there.add((min(node, peer), max(node, peer)))
        self.links.change(t, len(self._there))

    def link_down(self, t: int, node: int, peer: int, lag: int) -> None:
        self.end = max(self.end, t)
        self._there.discard((min(node, peer), max(node, peer)))
        self.links.change(t, len(self._there))

    def edges(self) -> list[int]:
        """The ends of the stretches that charts show: of a round length, except for the last."""
        width = round_width(self.end)
        return [*range(0, self.end, width), self.end] if self.end else []


def round_width(end: int, most: int = BINS) -> int:
    """The shortest of 1, 2, 5, 10, 20, ... ticks of which at most so many make up the time until `end`."""
    width = 1
    while True:
        for factor in (1, 2, 5):
            if width * factor * most >= end:
                return width * factor
        width *= 10


def rates(times: Sequence[int], edges: Sequence[int]) -> list[float]:
    """How many of these instants there are between every two edges, for each time unit. What is at the end counts."""
    counts = [0] * (len(edges) - 1)
    for t in times:
        counts[min(bisect_right(edges, t) - 1, len(counts) - 1)] += 1
    widths = (end - begin for begin, end in pairwise(edges))
    return [count * TICKS / width for count, width in zip(counts, widths, strict=True)]


def grid_of(ordered: Sequence[float], most: int = GRID) -> list[float]:
    """Places at which a distribution is drawn: as dense as its values are, with the least and the greatest of them."""
    if len(ordered) <= most:
        return sorted(set(ordered))
    return sorted({ordered[round(index * (len(ordered) - 1) / (most - 1))] for index in range(most)})


def shares_up_to(ordered: Sequence[float], places: Sequence[float]) -> list[float]:
    """The share of the values that are not greater, at every place."""
    return [bisect_right(ordered, place) / len(ordered) for place in places]
