"""What became of tokens: how evenly nodes see them, how far they travel between critical sections, when they lie idle.

Only what happens at `warmup` or later counts: an arrival by the time of the reception, a path by the time of the entry
at its end.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from analysis import stats
from analysis.batched import ENTERED, RECEIVED, REQUESTED, SENT, Note, NoteListener
from analysis.check import PERMISSIONS
from analysis.events import LEVELS, Start, supports

UNUSED = -(1 << 40)
"""The hops of a token that no critical section has used: no number of receptions makes it a path."""

FOREVER = 1 << 62
"""No time is later."""


class TokenMetrics(NoteListener):
    """Listens to one repetition and follows its tokens.

    - `token_fairness`: Jain's index of the tokens that arrive at each node in messages.
    - `tokens_idle`: the share of the time until requests stop in which a request is pending and a token is idle. A
      token is idle while a node holds it and does not use it: it is not in transit, and its node is outside the
      critical section or holds another token beside the one that it uses. Whether the token can reach the node that
      waits does not matter.
    - `token_path`: how often a token is received between two critical sections that use it, one after the other; 0 if
      a node uses it twice and has kept it meanwhile. Tokens are alike, so a node that holds several is taken to use,
      and to pass on, the one that came last. The way of a token to its first critical section is no path, and a message
      that comes back to its sender is no reception.

    The last two need tokens of one unit each and critical sections that take one unit. They are None where units and
    tokens differ, for permissions, and with clusters or neighbourhoods, which do not share their tokens.
    """

    def __init__(self) -> None:
        self._start = Start(trace=LEVELS[0])
        self._follows = False  # whether every token is one unit and every critical section takes one
        self._arrivals: list[int] = []  # per node
        self._waiting: set[int] = set()
        self._paths = array("q")
        self._since = 0  # up to when the idle time has been taken
        self._idle_ticks = 0
        self._end: int | None = None  # when requests stopped
        # The only token, if there is one:
        self._is_only = self._is_idle = False
        self._hops = UNUSED  # receptions since it was used
        # Several tokens:
        self._at: list[list[int]] = []  # per node, for each token that it holds and does not use: receptions since use
        self._in_transit: dict[tuple[int, int, int], int] = {}  # (sender, receiver, id) -> receptions since use
        self._held = 0  # how many tokens nodes hold, used or not
        self._inside: set[int] = set()

    def start(self, t: int, node: None, *fields: Any) -> None:
        self._start = start = Start(*fields)
        self._since = start.warmup
        self._arrivals = [0] * len(start.units)
        self._held = sum(start.tokens)
        self._at = [[UNUSED] * tokens for tokens in start.tokens]
        self._is_only = self._is_idle = self._held == 1
        are_alike = list(start.units) == list(start.tokens) and not start.clusters and not start.places
        self._follows = are_alike and start.shares != PERMISSIONS

    def take_notes(self, notes: Iterable[Note]) -> None:
        if not self._follows:
            self._count(notes)
        elif self._is_only:
            self._follow_one(notes)
        else:
            self._follow_several(notes)

    def _count(self, notes: Iterable[Note]) -> None:
        """Only count arrivals."""
        for note in notes:
            if note[0] is RECEIVED and note[1] >= self._start.warmup:
                self._arrivals[note[2]] += note[7]

    def _follow_one(self, notes: Iterable[Note]) -> None:
        """Follow the only token there is, whose place does not matter. This loop is most of what the metrics cost."""
        arrivals, note_path, warmup, waiting = self._arrivals, self._paths.append, self._start.warmup, self._waiting
        since, idle_ticks, hops, is_idle = self._since, self._idle_ticks, self._hops, self._is_idle
        for note in notes:
            kind, t = note[0], note[1]
            if t > since:
                if is_idle and waiting:
                    idle_ticks += t - since
                since = t
            if kind is RECEIVED:
                if t >= warmup:
                    arrivals[note[2]] += note[7]
                hops += 1
                is_idle = True
            elif kind is SENT:
                is_idle = False
                if note[6] != note[7]:
                    self._follows = False
            elif kind is REQUESTED:
                waiting.add(note[2])
            elif kind is ENTERED:
                waiting.discard(note[2])
                if hops >= 0 and t >= warmup:
                    note_path(hops)
                hops, is_idle = 0, False
            else:
                is_idle = True
        self._since, self._idle_ticks, self._hops, self._is_idle = since, idle_ticks, hops, is_idle

    def _follow_several(self, notes: Iterable[Note]) -> None:
        arrivals, at, in_transit, note_path = self._arrivals, self._at, self._in_transit, self._paths.append
        waiting, inside, warmup = self._waiting, self._inside, self._start.warmup
        for note in notes:
            kind, t, node = note[0], note[1], note[2]
            if t > self._since:
                self._pass_time(t)
            if kind is RECEIVED:
                if t >= warmup:
                    arrivals[node] += note[7]
                at[node].append(in_transit.pop((note[3], node, note[4]), UNUSED) + 1)
                self._held += 1
            elif kind is SENT:
                in_transit[node, note[3], note[4]] = _last(at[node])
                self._held -= 1
                if note[6] != 1 or note[7] != 1:
                    self._follows = False
            elif kind is REQUESTED:
                waiting.add(node)
            elif kind is ENTERED:
                waiting.discard(node)
                inside.add(node)
                hops = _last(at[node])
                if hops >= 0 and t >= warmup:
                    note_path(hops)
                if note[3] != 1:
                    self._follows = False
            else:
                inside.discard(node)
                at[node].append(0)

    def _pass_time(self, t: int) -> None:
        """Add the time since the last event."""
        if t > self._since:
            is_idle = self._is_idle if self._is_only else self._held > len(self._inside)
            if is_idle and self._waiting:
                self._idle_ticks += t - self._since
            self._since = t

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        if units or tokens:
            self._pass_time(t)
            self._at[node].append(self._in_transit.pop((node, peer, id), UNUSED))
            self._held += 1
            self._is_idle = True

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        self._in_transit.pop((node, peer, id), None)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self._pass_time(t)
        self._waiting.discard(node)
        self._inside.discard(node)
        self._at[node].clear()
        self._held -= tokens
        if tokens:
            self._is_idle = False

    def close(self, t: int, node: None, patience: int) -> None:
        self._pass_time(t)
        self._end, self._since = max(t, self._start.warmup), FOREVER

    def stop(self, t: int, node: None, reason: str, units: list[int], tokens: list[int]) -> None:
        if self._end is None:  # the run ended while requests were made
            self.close(t, None, 0)

    def result(self) -> dict[str, Any]:
        """The metrics of the repetition, ready for JSON; None where nothing was measured or the log does not say."""
        start = self._start
        knows = supports(start.trace, "send") and start.shares != PERMISSIONS
        span = (self._since if self._end is None else self._end) - start.warmup
        follows = knows and self._follows
        return {
            "token_fairness": stats.jain(self._arrivals) if knows else None,
            "tokens_idle": self._idle_ticks / span if follows and span > 0 else None,
            "token_path": stats.spread(sorted(self._paths)) if follows else None,
        }


def _last(tokens: list[int]) -> int:
    """Take out the token that came last; a node that has none must have made one."""
    return tokens.pop() if tokens else UNUSED
