"""Virtual time: what is to happen, in order.

Two structures hold it. The heap takes anything at any time. The lane is for what happens after a fixed delay, which is
what most messages do in the papers' model: it happens in the order it was planned, so a deque keeps it sorted at a
fraction of a heap's cost. Both are ordered by (t, ticket), and tickets are given out one by one, so ties happen in the
order they were planned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count, repeat
from typing import Any

EVENTS_BETWEEN_REPORTS = 2_000


class Halt(Exception):
    """Ends the event loop from within an event; its text says why."""


class EventQueue:
    """Time, what is planned, and the loop that lets it happen."""

    def __init__(self) -> None:
        self.now = 0
        self.heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.lane: deque[tuple[int, int, Any]] = deque()  # t, ticket, and what to `deliver`
        self.deliver: Callable[[Any], None] = lambda parcel: None
        self.ticket: Callable[[], int] = count(1).__next__

    def at(self, t: int, happen: Callable[..., None], *args: Any) -> None:
        """Plan an event."""
        ticket = self.ticket
        heappush(self.heap, (t, ticket(), happen, args))

    def lane_after(self, delay: int) -> Callable[[Any], None]:
        """A function that plans to `deliver` something after a delay, which must be the same for all of the lane."""
        plan, ticket = self.lane.append, self.ticket

        def follow(parcel: Any) -> None:
            plan((self.now + delay, ticket(), parcel))

        return follow

    def run(self, report: Callable[[], None]) -> str:
        """Let everything happen; returns why it ended."""
        heap, lane, deliver = self.heap, self.lane, self.deliver
        pop, take = heappop, lane.popleft
        try:
            while heap or lane:
                for _ in repeat(None, EVENTS_BETWEEN_REPORTS):
                    if lane and (not heap or lane[0] < heap[0]):
                        self.now, _ticket, parcel = take()
                        deliver(parcel)
                    elif heap:
                        self.now, _ticket, happen, args = pop(heap)
                        happen(*args)
                    else:
                        break
                report()
        except Halt as halt:
            return str(halt)
        return "nothing left to happen"
