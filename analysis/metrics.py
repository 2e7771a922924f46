"""What a repetition measured. The only place where each metric is computed, on line and from a log alike.

Only what happens at `warmup` or later counts: an entry by the time it enters, an exit by the time it leaves, a message
by the time it is sent.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from agents.contract import TICKS
from analysis import stats
from analysis.batched import ENTERED, REQUESTED, Step, StepListener
from analysis.events import LEVELS, Start, supports
from analysis.metric_names import METRICS


class Metrics(StepListener):
    """Listens to one repetition and summarises it.

    Waiting time runs from request to entry, response time from request to exit. Both are of requests that were served,
    which flatters an algorithm that serves none any more; `waiting_time_with_pending` counts those that are still
    pending at the end with their age then, so that it is a lower bound. The synchronization delay is the gap
    between an exit and the next entry while a node is waiting. Concurrency is the mean number of units in use while any
    is. Messages of nodes that can reach no unit have nothing to do with what an entry costs and are counted apart
    (`messages_cut_off`). Times are in units of the scenario, not ticks.
    """

    def __init__(self) -> None:
        self.messages: dict[str, int] = {}
        self.words = self.added_words = self._token_hops = 0
        self._tokens_sent: set[tuple[int, int, int]] = set()  # sender, receiver and id of messages that carry tokens
        self._cut_off: frozenset[int] = frozenset()  # nodes that can reach no unit
        self._sent_cut_off = 0
        self._trace = LEVELS[0]
        self._warmup = 0
        self._counts = False  # whether the warmup was over at the last step
        self._begin = self._now = 0
        self._requested: dict[int, int] = {}  # node -> when its pending request was made
        self._inside: dict[int, tuple[int, int, int]] = {}  # node -> when it asked, since when it counts, its units
        self._waits, self._responses, self._gaps = array("q"), array("q"), array("q")
        self._entries: list[int] = []  # per node
        self._freed_at: int | None = None  # the last exit, if a node was waiting then
        self._busy_since = 0  # since when any unit has been in use, but no earlier than the end of the warmup
        self._used = self._peak = 0
        self._busy_ticks = self._used_ticks = 0  # time that any unit was in use, and units times time

    def start(self, t: int, node: None, *fields: Any) -> None:
        start = Start(*fields)
        self._trace = start.trace
        self._entries = [0] * len(start.units)
        self._begin = self._now = self._warmup = start.warmup

    def stop(self, t: int, node: None, reason: str, units: list[int], tokens: list[int]) -> None:
        for inside in list(self._inside):
            self._leave(t, inside)
        self._now = max(t, self._begin)

    def take_steps(self, steps: Iterable[Step]) -> None:
        requested, inside, entries, warmup = self._requested, self._inside, self._entries, self._warmup
        note_wait, note_response, note_gap = self._waits.append, self._responses.append, self._gaps.append
        used, peak, now, freed_at = self._used, self._peak, self._now, self._freed_at
        used_ticks, busy_ticks, busy_since, counts = self._used_ticks, self._busy_ticks, self._busy_since, self._counts
        t = -1  # the batch may be empty
        for kind, t, node, units, _, _ in steps:
            if kind is REQUESTED:
                requested[node] = t
            elif kind is ENTERED:
                asked, counted_from = requested.pop(node, t), warmup
                used += units
                if counts or t >= warmup:
                    now = counted_from = t
                    if used > peak:
                        peak = used
                    note_wait(t - asked)
                    entries[node] += 1
                    if freed_at is not None:
                        note_gap(t - freed_at)
                if not inside:
                    busy_since = counted_from
                inside[node] = (asked, counted_from, units)
                freed_at = None
            else:  # as in `_leave`
                asked, counted_from, held = inside.pop(node, (t, t, 0))
                used -= held
                if counts or t >= warmup:
                    now = t
                    note_response(t - asked)
                    used_ticks += held * (t - counted_from)
                    if held and not inside:
                        busy_ticks += t - busy_since
                freed_at = t if requested else None
        self._used, self._peak, self._now, self._freed_at = used, peak, now, freed_at
        self._used_ticks, self._busy_ticks, self._busy_since = used_ticks, busy_ticks, busy_since
        self._counts = counts or t >= warmup

    @property
    def entries(self) -> int:
        """How many entries have counted so far."""
        return len(self._waits)

    @property
    def waiting(self) -> int:
        """How many nodes have asked and not entered yet."""
        return len(self._requested)

    def evict(self, t: int, node: int) -> None:
        self._leave(t, node)
        self._freed_at = t if self._requested else None

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        self._requested.pop(node, None)
        if not self._requested:
            self._freed_at = None

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self._requested.pop(node, None)
        self._leave(t, node)
        if not self._requested:  # no other node waits, so there is no gap to measure
            self._freed_at = None

    def _leave(self, t: int, node: int) -> int:
        """A node is no longer in its critical section, if it was; returns when it made its request."""
        asked, counted_from, units = self._inside.pop(node, (t, t, 0))
        self._used -= units
        if t > counted_from:
            self._used_ticks += units * (t - counted_from)
        if t > self._warmup and units and not self._inside:
            self._busy_ticks += t - self._busy_since
        return asked

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
        if t >= self._warmup and node in self._cut_off:
            self._sent_cut_off += 1
        elif t >= self._warmup:
            self.messages[type] = self.messages.get(type, 0) + 1
            self.words += words
            self.added_words += added_words
            self._token_hops += bool(tokens)
        if tokens:
            self._tokens_sent.add((node, peer, id))

    def relay(
        self, t: int, node: int, source: int, target: int, id: int, type: str, words: int, added_words: int
    ) -> None:
        tokens = int((source, target, id) in self._tokens_sent)
        self.send(t, node, target, id, type, 0, tokens, words, added_words, None)  # charged like one of its own

    def sent(self, type: str, count: int, words: int, added_words: int, token_hops: int) -> None:
        self.messages[type] = self.messages.get(type, 0) + count
        self.words += words
        self.added_words += added_words
        self._token_hops += token_hops

    def sent_cut_off(self, count: int) -> None:
        self._sent_cut_off += count

    def partition(self, t: int, node: None, parts: int, cut_off: list[int]) -> None:
        self._cut_off = frozenset(cut_off)

    def _waiting_with_pending(self) -> float | None:
        """The mean waiting time if every request that is still pending were served now: at least so long they wait."""
        waits = sum(self._waits) + sum(self._now - asked for asked in self._requested.values())
        requests = len(self._waits) + len(self._requested)
        return waits / requests / TICKS if requests else None

    def result(self) -> dict[str, Any]:
        """The metrics of the repetition, ready for JSON; None where nothing was measured or the log does not say."""
        entries = len(self._waits)
        sent = sum(self.messages.values())
        span = (self._now - self._begin) / TICKS
        knows_entries, knows_messages = supports(self._trace, "enter"), supports(self._trace, "send")

        def per_entry(count: float) -> float | None:
            return count / entries if entries and knows_messages else None

        return {
            "entries": entries if knows_entries else None,
            "waiting_time": spread(self._waits),
            "waiting_time_with_pending": self._waiting_with_pending() if knows_entries else None,
            "pending": len(self._requested) if knows_entries else None,
            "response_time": spread(self._responses),
            "synchronization_delay": spread(self._gaps),
            "messages_per_cs": per_entry(sent),
            "messages_per_cs_by_type": {type: per_entry(count) for type, count in sorted(self.messages.items())}
            if per_entry(sent) is not None
            else None,
            "messages": dict(sorted(self.messages.items())) if knows_messages else None,
            "messages_cut_off": self._sent_cut_off if knows_messages else None,
            "words_per_message": self.words / sent if sent else None,
            "sent_words_per_message": (self.words + self.added_words) / sent if sent else None,
            "words_per_cs": per_entry(self.words),
            "token_hops_per_cs": per_entry(self._token_hops),
            "fairness": stats.jain(self._entries) if knows_entries else None,
            "concurrency": self._used_ticks / self._busy_ticks if self._busy_ticks else None,
            "peak_units": self._peak if knows_entries else None,
            "throughput": entries / span if span > 0 and knows_entries else None,
            "time": span,
        }


def spread(ticks: array[int]) -> dict[str, float | None]:
    """The mean, percentiles and maximum of times, in time units."""
    return stats.spread(sorted([tick / TICKS for tick in ticks]))  # floats are sorted faster than large integers


def summarise(repetitions: list[dict[str, Any]]) -> dict[str, Any]:
    """Metrics over repetitions: the mean of the repetitions' means with its 95 % confidence interval.

    Percentiles are the means of the repetitions' percentiles; max is the greatest of all. Without repetitions, every
    metric is there and has no value.
    """
    return {name: _over([repetition[name] for repetition in repetitions]) for name in _names(repetitions) or METRICS}


def _names(dicts: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for one in dicts for name in one))


def _over(values: list[Any]) -> dict[str, Any]:
    values = [value for value in values if value is not None]
    first = values[0] if values else None
    if isinstance(first, dict) and "p95" in first:
        largest = [value["max"] for value in values if value["max"] is not None]
        return {
            **_mean_and_ci([value["mean"] for value in values]),
            **{name: _mean_and_ci([value[name] for value in values])["mean"] for name in first if name.startswith("p")},
            "max": max(largest, default=None),
        }
    if isinstance(first, list):  # examples, which have no mean
        return {"mean": None, "ci95": None}
    if isinstance(first, dict):  # by type: a type that a repetition never sent counts as 0
        return {name: _mean_and_ci([value.get(name, 0) for value in values]) for name in sorted(_names(values))}
    return _mean_and_ci(values)


def _mean_and_ci(values: list[float | None]) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    return {"mean": stats.mean(known), "ci95": stats.ci95(known)}
