"""A bare heap: what planning and taking out events costs at the very least, with nothing happening at any of them."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from random import Random
from time import process_time

from analysis.events import TICKS
from benchmarks.testbed_rl import SEED


def run(events: int, pending: float) -> float:
    """Take out an event and plan another, so many times, with so many planned at all times; returns seconds.

    The entries look like the simulator's: (t, ticket, what, its arguments). As there, each has arguments of its own,
    made when it is planned, since no two events of a run have the same: three, because an event that is a message must
    tell who receives what from whom. Delays are drawn before the clock starts.
    """
    rng = Random(SEED)
    delays = [round(rng.expovariate(1.0) * TICKS) for _ in range(events)]
    ticket = count(1).__next__
    receiver, sender, message = 0, 1, object()
    heap = [
        (round(rng.expovariate(1.0) * TICKS), ticket(), run, (receiver, sender, message))
        for _ in range(max(1, round(pending)))
    ]
    heapify(heap)
    push, pop = heappush, heappop
    began = process_time()
    for delay in delays:
        t, _ticket, happen, _args = pop(heap)
        push(heap, (t + delay, ticket(), happen, (receiver, sender, message)))
    return process_time() - began
