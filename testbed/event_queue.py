"""Virtual time: the planned events, in order of time.

Two structures hold them. The heap takes an event at any time. The lane takes events after a fixed delay, such as most
messages of the papers' model: they happen in the order in which they were planned, so a deque keeps them sorted at a
fraction of a heap's cost. Both are ordered by (t, ticket), and tickets are given out one by one, so events of the same
time happen in the order in which they were planned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count, repeat
from typing import Any, Protocol

FIRST_REPORT, EVENTS_BETWEEN_REPORTS = 10, 2_000
"""The first report comes soon, the others at growing distances: short runs are looked into as well."""


class Scheduler(Protocol):
    """A clock: the time, and a way to be called later."""

    @property
    def now(self) -> int:
        """The time in ticks."""

    def at(self, t: int, happen: Callable[..., None], *args: Any) -> None:
        """Call `happen(*args)` at time t."""


class Halt(Exception):
    """Ends the event loop from within an event; its text says why."""


class EventQueue:
    """The time, the planned events, and the loop that carries them out."""

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
        """A function that plans to `deliver` a parcel after a delay, which must be the same for the whole lane."""
        plan, ticket = self.lane.append, self.ticket

        def follow(parcel: Any) -> None:
            plan((self.now + delay, ticket(), parcel))

        return follow

    def run(self, report: Callable[[], None]) -> str:
        """Carry out events until none is left or one raises `Halt`; returns why it ended."""
        heap, lane, deliver = self.heap, self.lane, self.deliver
        pop, take = heappop, lane.popleft
        try:
            events = FIRST_REPORT
            while heap or lane:
                for _ in repeat(None, events):
                    if lane and (not heap or lane[0] < heap[0]):
                        self.now, _ticket, parcel = take()
                        deliver(parcel)
                    elif heap:
                        self.now, _ticket, happen, args = pop(heap)
                        happen(*args)
                    else:
                        break
                report()
                events = min(EVENTS_BETWEEN_REPORTS, events + events // 2)
        except Halt as halt:
            return str(halt)
        return "nothing left to happen"
