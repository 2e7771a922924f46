"""Section 5 of the KLME paper: what one critical section costs in messages, and in times of a message (T).

Each case is set up as the paper describes it and stepped; nothing in it is random but the search for a dearest request.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

from agents.klme_messages import Request
from testbed.experiments.reproduce.klme_steps import HOP, Steps

K = 2
FIRST = 0
"""The first leader."""
LONG, SHORT = 100 * HOP, HOP // 2
"""Critical sections that last for longer than all that a case is about, and for less than a message takes."""


def _settled(nodes: int, ack: str = "always") -> Steps:
    """A neighbourhood whose members know their leader; what it sent to tell them so does not count."""
    steps = Steps(nodes, K, FIRST, ack)
    steps.settle()
    steps.sent.clear()
    return steps


def holder_messages(nodes: int = 10) -> int:
    """5.1.1: the token holder enters and leaves."""
    steps = _settled(nodes)
    steps.request(FIRST)
    steps.leave_cs(FIRST)
    steps.settle()
    assert len(steps.exits) == 1
    return len(steps.sent)


def best_messages(ack: str, nodes: int = 10) -> int:
    """5.1.2: the request of another node reaches a token holder that is inside, and a unit is free."""
    steps = _settled(nodes, ack)
    steps.request(FIRST)
    steps.request(1)
    steps.settle()
    steps.leave_cs(1)
    steps.settle()
    assert len(steps.exits) == 1
    return len(steps.sent)


def worst_messages(nodes: int) -> int:
    """5.1.3: the request of a node comes to every other node after the token has left that.

    All nodes but the leader ask at the same time. Each gets the token in turn, and leaves its critical section before
    the requests that follow it have arrived; the last node to ask is always late, until one stays inside for long.
    """
    steps, last = _settled(nodes), nodes - 1
    steps.stay = lambda node: LONG if node == last - 1 else SHORT
    for node in range(1, nodes):
        steps.request(node)
    steps.settle()
    return max(Counter(_requests(steps)).values())


@cache
def dearest_request(nodes: int, exits: int, seed: int = 1) -> Counter[str]:
    """The messages of the request that takes most of them, in a random run with as many critical sections.

    Every message takes T. Critical sections and the times between them are exponential with a mean of T / 2, so that
    the token moves on about as fast as messages do.
    """
    rng, steps = Random(seed), _settled(nodes)
    steps.stay = lambda node: max(1, round(rng.expovariate(1 / SHORT)))

    def ask_again(node: int) -> None:
        if len(steps.exits) < exits:
            steps.at(steps.queue.now + max(1, round(rng.expovariate(1 / SHORT))), steps.request, node)

    steps.after_exit = ask_again
    for node in range(nodes):
        steps.request(node)
    steps.settle()
    ((dearest, _),) = Counter(_requests(steps)).most_common(1)
    return Counter(type(one.message).__name__ for one in steps.sent if one.request == dearest)


def _requests(steps: Steps) -> list[Request]:
    """For every message that belongs to one request, which."""
    return [one.request for one in steps.sent if one.request is not None]


def response_time() -> float:
    """5.2: from a request to an idle token holder until the entry, in times of a message."""
    steps = _settled(10)
    asked = steps.queue.now
    steps.request(1)
    steps.settle()
    ((entered, _),) = steps.entries
    return (entered - asked) / HOP


def synchronization_delay(leaves: int) -> float:
    """5.3: nodes 0, the leader, and 1 are inside and 2 is queued; from the exit of one to the entry of 2."""
    steps = _settled(10)
    for node in (FIRST, 1, 2):
        steps.request(node)
        steps.settle()
    steps.leave_cs(leaves)
    steps.settle()
    ((left, _),) = steps.exits
    entered, node = steps.entries[-1]
    assert node == 2
    return (entered - left) / HOP
