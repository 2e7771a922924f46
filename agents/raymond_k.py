"""Raymond's algorithm for k entries: a node enters when all but k - 1 of the other nodes have given their permission.

K. Raymond: A Distributed Algorithm for Multiple Entries to a Critical Section. Information Processing Letters 30(4),
1989.

As in Ricart and Agrawala's algorithm a request is stamped with a clock, the lower stamp goes first (of equal clocks,
that of the lower node), and a node that waits with a lower stamp, or is inside, defers its reply until it leaves. A
node enters with the replies of N - K others. The last ones arrive while it is inside or later, and are still counted: a
node may ask again while a reply to its earlier request is outstanding, and then awaits one more from that node. The
node that deferred both answers them with one reply. Assumes delivery between any two nodes, exactly once, and nodes
that do not fail: a node that restarts has forgotten which replies it owes, and which it awaits.

Deviations: none. Only the clock of a request's stamp travels, because the other half is its sender. The order in which
deferred replies are sent is a parameter: it changes waiting times where sending takes time.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Literal, Self

from agents.contract import CRITICAL, REMAINDER, WAITING, Agent, Demand, MultipleEntries, Needs, Shares
from agents.message import Message


@dataclass(frozen=True)
class RaymondKParameters(MultipleEntries):
    """`deferred`: which deferred reply goes first, by node number or by request."""

    deferred: Literal["index", "oldest"] = "index"


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST: asks for permission."""

    clock: int


@dataclass(frozen=True, slots=True)
class Reply(Message):
    """REPLY: permits this many requests of the receiver."""

    count: int


class RaymondK(Agent):
    """One node; `peers` are all others."""

    needs = Needs.ANY_NODE
    shares = Shares.PERMISSIONS
    messages = (Request, Reply)
    handlers: ClassVar = {Request: "on_request_message", Reply: "on_reply"}
    parameters = RaymondKParameters
    survives = ("cut",)
    summary = "k entries by permission of the other nodes, 2N-K-1 to 2(N-1) messages per entry (Raymond 1989)"

    def __init__(self, node: int, peers: tuple[int, ...], parameters: RaymondKParameters) -> None:
        super().__init__(node)
        self.peers = peers
        self.oldest_first = parameters.deferred == "oldest"
        self.spares = parameters.k - 1
        self.clock = 0  # the highest clock that was heard of
        self.stamp = (0, node)  # of the node's latest request
        self.outstanding = dict.fromkeys(peers, 0)  # by peer, how many requests it has not answered
        self.deferred: dict[int, list[int]] = {}  # by peer, the clocks of its requests that are not answered yet

    @classmethod
    def start(cls, node: int, initial: tuple[int, ...], parameters: RaymondKParameters, rng: Random) -> Self:
        """A node draws no random numbers."""
        return cls(node, initial, parameters)

    def on_request(self, demand: Demand) -> None:
        """The node wants to enter its critical section."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        self.clock += 1
        self.stamp = (self.clock, self.node)
        for j in self.peers:
            self.outstanding[j] += 1
        self.send_all(self.peers, Request(self.clock))
        self.enter_if_permitted()

    def on_request_message(self, j: int, message: Request) -> None:
        """REQUEST received."""
        self.clock = max(self.clock, message.clock)
        if self.status is CRITICAL or (self.status is WAITING and self.stamp < (message.clock, j)):
            self.deferred.setdefault(j, []).append(message.clock)
        else:
            self.send(j, Reply(1))

    def on_reply(self, j: int, message: Reply) -> None:
        """REPLY(n) received, perhaps to a request that was served without it."""
        self.outstanding[j] = max(0, self.outstanding[j] - message.count)  # below 0 only if this node has restarted
        self.enter_if_permitted()

    def on_release(self) -> None:
        """The node leaves its critical section."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        for j in self.reply_order():
            self.send(j, Reply(len(self.deferred[j])))
        self.deferred = {}

    def enter_if_permitted(self) -> None:
        """Enter when no more replies are outstanding than the node can do without."""
        if self.status is WAITING and len(self.awaits()) <= self.spares:
            self.status = CRITICAL
            self.enter()

    def reply_order(self) -> list[int]:
        """The peers whose requests were deferred, in the order in which they are answered."""
        if self.oldest_first:
            return sorted(self.deferred, key=lambda j: (min(self.deferred[j]), j))
        return sorted(self.deferred)

    def awaits(self) -> frozenset[int]:
        """While the node waits, the peers that owe it a reply; it can do without k - 1 of them."""
        if self.status is not WAITING:
            return frozenset()
        return frozenset(j for j, count in self.outstanding.items() if count)
