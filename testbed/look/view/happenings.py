"""What happened in a repetition, from its log: messages with their ends, intervals of nodes and links, what nodes hold.

A listener, so it reads the log of every backend and of every trace level; what a level lacks stays empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.events import KINDS, Start
from analysis.listener import Listener
from testbed.look.view.columns import MAX_TEXT, Table, column, finite

KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
MAX_FIELDS = 200_000
"""Of a run with more messages than this, the page holds no fields of messages."""
MAX_SIZE = 20_000_000
"""Nor of those after so many characters of fields."""
MAX_MARKS = 10_000
MAX_NAME = 80

ARRIVED, RETURNED, LOST, UNDECIDED = range(4)
"""What became of a message; undecided, if the log does not say."""
WAITING, INSIDE, CRASHED, CUT_OFF = range(4)
"""What an interval of a node is."""


class Happenings(Listener):
    """Collects what the page shows."""

    def __init__(self) -> None:
        self.start_event: Start | None = None
        self.end = 0
        self.has_stopped = False
        self.names, self.values = Table(), Table()  # message types and timers; fields of messages
        self.events: list[tuple[int, int, int, int]] = []  # t, node, kind, and a message, a peer or a name
        self.messages: list[list[int]] = []  # t, end, from, to, type, units, tokens, fate, fields
        self.relays: list[tuple[int, int, int]] = []  # message, t, the node that passes it on
        self.intervals: list[tuple[int, int, int, int]] = []  # node, what, from, to
        self.links: list[tuple[int, int, int, int, int]] = []  # a, b, from, to, how many ends know of it
        self.held: list[tuple[int, int, int, int]] = []  # t, node, units, tokens
        self.stays: list[tuple[int, int, int, int]] = []  # node, neighbourhood, from, to
        self.kept: list[tuple[int, int, int]] = []  # t, neighbourhood, units that lie there
        self.parts: list[tuple[int, int]] = []  # t, components
        self.marks: list[tuple[int, int, str, str]] = []  # t, node, what, text: faults and breaches
        self._held: list[tuple[int, int]] = []
        self._on_their_way: dict[tuple[int, int, int], int] = {}
        self._open: dict[tuple[int, int], int] = {}  # (node, what) -> since when
        self._link_ends: dict[tuple[int, int], tuple[set[int], int]] = {}  # who knows of a link, since when
        self._stay: dict[int, tuple[int, int]] = {}
        self._kept: list[int] = []

    # -- of the run --------------------------------------------------------------------------------------------------

    def start(self, t: int, node: None, *fields: Any) -> None:
        start = self.start_event = Start(*fields)
        self._held = list(zip(start.units, start.tokens, strict=True))
        self.held = [(t, number, *amount) for number, amount in enumerate(self._held)]
        if not start.over_radio:  # otherwise each link is logged when it is found
            for a, b in start.links:
                self._link_ends[min(a, b), max(a, b)] = ({a, b}, t)
        for number, group in enumerate(start.groups):
            if group is not None:
                self._stay[number] = (group, t)
        self._kept = list(start.kept)
        self.kept = [(t, group, units) for group, units in enumerate(self._kept)]

    def stop(self, t: int, node: None, reason: str, units: list[int], tokens: list[int]) -> None:
        self._note(t, -1, "stop")
        self.has_stopped = True

    def finish(self) -> None:
        """The log has been read: what goes on at its end ends there."""
        for node, what in list(self._open):
            self._end(self.end, node, what)
        for (a, b), (ends, since) in self._link_ends.items():
            if ends:
                self.links.append((a, b, since, self.end, len(ends)))
        for node, (group, since) in self._stay.items():
            self.stays.append((node, group, since, self.end))

    def _note(self, t: int, node: int, kind: str, about: int = -1) -> None:
        self.end = max(self.end, t)
        self.events.append((t, node, KIND_NUMBERS[kind], about))

    def _mark(self, t: int, node: int | None, what: str, text: str) -> None:
        if len(self.marks) < MAX_MARKS:
            self.marks.append((t, -1 if node is None else node, what, text[:500]))

    def partition(self, t: int, node: None, parts: int, cut_off: list[int]) -> None:
        self._note(t, -1, "partition", parts)
        self.parts.append((t, parts))
        now = set(cut_off)
        for one, what in list(self._open):
            if what == CUT_OFF and one not in now:
                self._end(t, one, CUT_OFF)
        for one in cut_off:
            self._begin(t, one, CUT_OFF)

    def fault(self, t: int, node: int | None, fault: str, detail: Any) -> None:
        self._note(t, -1 if node is None else node, "fault")
        self._mark(t, node, "fault", f"{fault} {detail if detail is not None else ''}".strip())

    def breach(self, t: int, node: int | None, algorithm: str, event: str, output: str, why: str) -> None:
        self._note(t, -1 if node is None else node, "breach")
        self._mark(t, node, "fault", f"breach of the contract in {event}: {why}")

    def close(self, t: int, node: None, patience: int) -> None:
        self._note(t, -1, "close")

    # -- nodes -------------------------------------------------------------------------------------------------------

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self._note(t, node, "request")
        self._begin(t, node, WAITING)

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self._note(t, node, "enter")
        self._end(t, node, WAITING)
        self._begin(t, node, INSIDE)

    def exit(self, t: int, node: int, units: int) -> None:
        self._note(t, node, "exit")
        self._end(t, node, INSIDE)

    def evict(self, t: int, node: int) -> None:
        self._note(t, node, "evict")
        self._end(t, node, INSIDE)

    def timer(self, t: int, node: int, name: str) -> None:
        self._note(t, node, "timer", self._name(name))

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self._note(t, node, "crash")
        self._mark(t, node, "fault", f"node {node} crashes")
        for what in (WAITING, INSIDE):
            self._end(t, node, what)
        self._begin(t, node, CRASHED)
        self._hold(t, node, 0, 0)
        self._go(t, node, None)
        for pair in list(self._link_ends):
            if node in pair:
                self._know(t, pair, node, False)

    def restart(self, t: int, node: int, incarnation: int) -> None:
        self._note(t, node, "restart", incarnation)
        self._mark(t, node, "fault", f"node {node} restarts")
        self._end(t, node, CRASHED)

    def miscount(
        self, t: int, node: int, units: int, tokens: int, said_units: int, said_tokens: int, event: str
    ) -> None:
        self._note(t, node, "miscount")
        self._hold(t, node, said_units, said_tokens)

    def _begin(self, t: int, node: int, what: int) -> None:
        self._open.setdefault((node, what), t)

    def _end(self, t: int, node: int, what: int) -> None:
        since = self._open.pop((node, what), None)
        if since is not None:
            self.intervals.append((node, what, since, t))

    def _hold(self, t: int, node: int, units: int, tokens: int) -> None:
        if self._held[node] != (units, tokens):
            self._held[node] = (units, tokens)
            self.held.append((t, node, units, tokens))

    def _get(self, t: int, node: int, units: int, tokens: int) -> None:
        if units or tokens:
            had = self._held[node]
            self._hold(t, node, had[0] + units, had[1] + tokens)

    # -- neighbourhoods ----------------------------------------------------------------------------------------------

    def join(
        self, t: int, node: int, group: int, visit: int, members: list[list[int]], units: int, tokens: int, fields: Any
    ) -> None:
        self._note(t, node, "join", group)
        self._go(t, node, group)
        self._get(t, node, units, tokens)
        self._keep(t, group, -units)

    def leaving(self, t: int, node: int, group: int) -> None:
        self._note(t, node, "leaving", group)

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        self._note(t, node, "left", group)
        for what in (WAITING, INSIDE):
            self._end(t, node, what)
        self._go(t, node, None)
        self._hold(t, node, 0, 0)

    def deposit(self, t: int, node: int, group: int, units: int, tokens: int, fields: Any) -> None:
        self._note(t, node, "deposit", group)
        self._get(t, node, -units, -tokens)
        self._keep(t, group, units)

    def refused(self, t: int, node: int, group: int, units: int, tokens: int, fields: Any) -> None:
        self._note(t, node, "refused", group)
        self._get(t, node, units, tokens)
        self._keep(t, group, -units)

    def regenerate(self, t: int, node: int, group: int, units: int, tokens: int) -> None:
        self._note(t, node, "regenerate", group)
        self._get(t, node, units, tokens)

    def _go(self, t: int, node: int, group: int | None) -> None:
        before = self._stay.pop(node, None)
        if before is not None:
            self.stays.append((node, *before, t))
        if group is not None:
            self._stay[node] = (group, t)

    def _keep(self, t: int, group: int, units: int) -> None:
        if units:
            self._kept[group] += units
            self.kept.append((t, group, self._kept[group]))

    # -- links -------------------------------------------------------------------------------------------------------

    def link_up(self, t: int, node: int, peer: int) -> None:
        self._note(t, node, "link_up", peer)
        self._know(t, (min(node, peer), max(node, peer)), node, True)

    def link_down(self, t: int, node: int, peer: int, lag: int) -> None:
        self._note(t, node, "link_down", peer)
        self._know(t, (min(node, peer), max(node, peer)), node, False)

    def _know(self, t: int, pair: tuple[int, int], node: int, is_up: bool) -> None:
        """One end learns of a link, or that it is gone. There is a link as long as either end knows of one."""
        ends, since = self._link_ends.get(pair, (set(), t))
        after = ends | {node} if is_up else ends - {node}
        if after != ends:
            if ends and since < t:
                self.links.append((*pair, since, t, len(ends)))
            self._link_ends[pair] = (after, t)

    # -- messages ----------------------------------------------------------------------------------------------------

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
        number = len(self.messages)
        self._note(t, node, "send", number)
        values = self._fields(fields) if number < MAX_FIELDS and self.values.size < MAX_SIZE else -1
        self.messages.append([t, -1, node, peer, self._name(type), units, tokens, UNDECIDED, values])
        self._on_their_way[node, peer, id] = number
        self._get(t, node, -units, -tokens)

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        self._note(t, node, "recv", self._arrive(t, (peer, node, id), ARRIVED))
        self._get(t, node, units, tokens)

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        self._note(t, node, "return", self._arrive(t, (node, peer, id), RETURNED))
        self._get(t, node, units, tokens)

    def relay(
        self, t: int, node: int, source: int, target: int, id: int, type: str, words: int, added_words: int
    ) -> None:
        number = self._on_their_way.get((source, target, id), -1)
        self._note(t, node, "relay", number)
        if number >= 0:
            self.relays.append((number, t, node))

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        self._note(t, node, "lost", self._arrive(t, (node, peer, id), LOST))
        if why == "fault":
            self._mark(t, node, "fault", f"a message {type[:MAX_NAME]} of node {node} to node {peer} is lost")

    def _arrive(self, t: int, key: tuple[int, int, int], fate: int) -> int:
        number = self._on_their_way.pop(key, -1)
        if number >= 0:
            self.messages[number][1], self.messages[number][7] = t, fate
        return number

    def _fields(self, fields: Any) -> int:
        try:
            return self.values.add(_short(finite(fields)))
        except RecursionError:
            return self.values.add(["… (nested too deeply)"])

    def _name(self, name: str) -> int:
        return self.names.add(name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…")

    # -- for the page ------------------------------------------------------------------------------------------------

    def as_columns(self) -> dict[str, Any]:
        """All of it; tables are lists of columns, in order of time."""
        longest = [message[1] - message[0] for message in self.messages if message[7] == ARRIVED]
        return {
            "end": self.end,
            "kinds": list(KIND_NUMBERS),
            "names": self.names.values,
            "values": self.values.values,
            "events": _columns(self.events, 4),
            "messages": _columns([[m[0], max(0, m[1] - m[0] + 1), *m[2:]] for m in self.messages], 9),
            "relays": _columns(sorted(self.relays), 3),
            "typicalDelay": sorted(longest)[len(longest) // 2] if longest else 0,
            "intervals": _columns(sorted(self.intervals), 4),
            "links": _columns(sorted(self.links, key=lambda link: link[2]), 5),
            "held": _columns(sorted(self.held, key=lambda one: one[1]), 4),
            "stays": _columns(sorted(self.stays, key=lambda stay: (stay[0], stay[2])), 4),
            "kept": _columns(self.kept, 3),
            "parts": _columns(self.parts, 2),
        }


def _columns(rows: Sequence[Sequence[int]], width: int) -> list[str]:
    return [column([row[place] for row in rows]) for place in range(width)]


def _short(fields: Any) -> Any:
    """Fields without texts that no one can read."""
    if isinstance(fields, list):
        return [_short(one) for one in fields[:1000]]
    if isinstance(fields, str) and len(fields) > MAX_TEXT // 10:
        return f"{fields[: MAX_TEXT // 10]}… ({len(fields)} characters)"
    return fields
