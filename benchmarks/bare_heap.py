"""A bare heap: the least that planning and taking out events can cost, with nothing happening at any of them."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from random import Random
from time import process_time

from agents.contract import TICKS
from benchmarks.testbed_rl import SEED


def run(events: int, pending: float) -> float:
    """Take out an event and plan another, so many times, with so many planned at all times; returns seconds.

    The entries look like the simulator's: (t, ticket, function, arguments). As there, each has its own arguments, made
    when it is planned, because no two events of a run have the same ones. There are three, as for a message: receiver,
    sender and the message. Delays are drawn before the clock starts.
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
