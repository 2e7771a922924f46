"""Maekawa's algorithm: a node enters when every member of its quorum has granted its request.

M. Maekawa: A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems. ACM TOCS 3(2), 1985; with the correction
of B. A. Sanders: The Information Structure of Distributed Mutual Exclusion Algorithms. ACM TOCS 5(3), 1987.

Any two quorums have a common member, and a member grants one request at a time, so no two nodes are inside. A request
is stamped with a clock; the lower stamp is the older request, and of equal clocks that of the lower node. A member that
has granted a younger request than the one that arrives inquires whether it can have its grant back, and sends FAILED to
all other requests that wait. A requester with a FAILED relinquishes what is inquired about; one without keeps the
inquiry until it has one, or enters. A member whose grant is given back grants the oldest request that waits.

Assumes delivery between any two nodes, exactly once and in order, and nodes that do not fail: a node that restarts has
forgotten what it granted. Because of the order, grants need no numbers: an inquiry that arrives after its grant was
given back finds the requester without a grant of that member, since a new grant would arrive after the inquiry.

Deviations from the paper of 1985:
1. A waiting request that was the oldest gets a FAILED when an older one arrives (Sanders). Without it, its requester
   may keep an inquiry for ever, and all nodes wait.
2. Quorums are the rows and columns of a grid and not finite projective planes, which exist for some N only.
3. What a node says to itself as a member of its own quorum is no message.
4. The paper's at most 5 messages per member and entry are an average here: a request whose grant was relinquished is
   granted again, which takes one more LOCKED.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar

from agents.contract import CRITICAL, REMAINDER, WAITING, Agent, Demand, Graph, Needs, Shares
from agents.message import Message


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST: asks a member of the quorum for its grant."""

    clock: int


@dataclass(frozen=True, slots=True)
class Locked(Message):
    """LOCKED: the sender has granted the receiver's request."""


@dataclass(frozen=True, slots=True)
class Failed(Message):
    """FAILED: the sender knows of an older request than the receiver's."""


@dataclass(frozen=True, slots=True)
class Inquire(Message):
    """INQUIRE: can the grant be given back? An older request waits for it."""


@dataclass(frozen=True, slots=True)
class Relinquish(Message):
    """RELINQUISH: gives a grant back; the sender's request waits on."""


@dataclass(frozen=True, slots=True)
class Release(Message):
    """RELEASE: gives a grant back after the critical section."""


def quorum_of(node: int, nodes: int) -> tuple[int, ...]:
    """The node's row and column in a grid of ceil(sqrt(N)) columns, which is filled row by row.

    The row of one node crosses the column of another in two places, and at least one of them exists: only the last row
    can be incomplete, and if one node is in it and the other is not, the row of the other is complete.
    """
    width = isqrt(nodes - 1) + 1
    first = node - node % width
    return tuple(sorted({*range(first, min(first + width, nodes)), *range(node % width, nodes, width)}))


class Maekawa(Agent):
    """One node: a requester, and a member of quorums."""

    needs = Needs.ANY_NODE
    shares = Shares.PERMISSIONS
    handlers: ClassVar = {
        Request: "on_request_message",
        Locked: "on_locked",
        Failed: "on_failed",
        Inquire: "on_inquire",
        Relinquish: "on_relinquish",
        Release: "on_release_message",
    }
    messages = tuple(handlers)
    survives = ("crash", "cut")
    summary = (
        "permission of a quorum of about 2 sqrt(N) - 1 nodes, 3 to 5 messages per member (Maekawa 1985, Sanders 1987)"
    )

    def __init__(self, node: int, quorum: tuple[int, ...]) -> None:
        super().__init__(node)
        self.quorum = quorum
        self.clock = 0  # the highest clock that was heard of
        # The requester:
        self.awaited: set[int] = set()  # members whose grant it lacks
        self.failed: set[int] = set()  # of these, the ones that know of an older request
        self.inquiries: list[int] = []  # members that it has not answered yet
        # The member of quorums, with requests as stamps (clock, node):
        self.granted: tuple[int, int] | None = None
        self.waiting: list[tuple[int, int]] = []  # the oldest first

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[tuple[int, ...]]:
        """Every node starts with its quorum."""
        return [quorum_of(node, len(graph)) for node in range(len(graph))]

    def awaits(self) -> frozenset[int]:
        """The members whose grant the node lacks, and the node that has its own: so a crash behind a member is seen."""
        holder = set() if self.granted is None else {self.granted[1]}
        return frozenset((self.awaited | holder) - {self.node})

    # -- the requester -----------------------------------------------------------------------------------------------

    def on_request(self, demand: Demand) -> None:
        """The node wants to enter its critical section."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        self.clock += 1
        self.awaited = set(self.quorum)
        self.tell(self.quorum, Request(self.clock))

    def on_locked(self, j: int, message: Locked) -> None:
        """LOCKED received."""
        self.awaited.discard(j)
        self.failed.discard(j)
        if self.status is WAITING and not self.awaited:
            self.status = CRITICAL
            self.inquiries = []  # a RELEASE will answer them
            self.enter()

    def on_failed(self, j: int, message: Failed) -> None:
        """FAILED received: the inquiries that were kept can be answered now."""
        self.failed.add(j)
        inquiries, self.inquiries = self.inquiries, []
        for member in inquiries:
            self.relinquish(member)

    def on_inquire(self, j: int, message: Inquire) -> None:
        """INQUIRE received; it is out of date if the grant was given back already."""
        if self.status is not WAITING or j in self.awaited:
            return
        if self.failed:
            self.relinquish(j)
        else:
            self.inquiries.append(j)

    def on_release(self) -> None:
        """The node leaves its critical section."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        self.tell(self.quorum, Release())

    def relinquish(self, member: int) -> None:
        """Give a grant back. The member gives it to an older request, as one does that sends FAILED."""
        self.awaited.add(member)
        self.failed.add(member)
        self.tell((member,), Relinquish())

    # -- the member of quorums ---------------------------------------------------------------------------------------

    def on_request_message(self, j: int, message: Request) -> None:
        """REQUEST received.

        A request that waits first and is older than the granted one came after the grant: the member has inquired on
        its behalf, and has not sent it FAILED. All others that wait know that they do.
        """
        self.clock = max(self.clock, message.clock)
        stamp = (message.clock, j)
        oldest = min([self.granted, *self.waiting[:1]]) if self.granted else None
        insort(self.waiting, stamp)
        if oldest is None:
            self.grant_oldest()
        elif oldest < stamp:
            self.tell((j,), Failed())
        elif oldest == self.granted:
            self.tell((oldest[1],), Inquire())
        else:
            self.tell((oldest[1],), Failed())  # deviation 1

    def on_relinquish(self, j: int, message: Relinquish) -> None:
        """RELINQUISH received: the request waits with the others again."""
        if self.granted and self.granted[1] == j:  # else this node has restarted
            insort(self.waiting, self.granted)
            self.grant_oldest()

    def on_release_message(self, j: int, message: Release) -> None:
        """RELEASE received."""
        if self.granted and self.granted[1] == j:  # else this node has restarted
            self.grant_oldest()

    def grant_oldest(self) -> None:
        """Grant the oldest request that waits, if any does."""
        self.granted = self.waiting.pop(0) if self.waiting else None
        if self.granted:
            self.tell((self.granted[1],), Locked())

    def tell(self, nodes: tuple[int, ...], message: Message) -> None:
        """Send a message; what a node says to itself is received at once."""
        others = [j for j in nodes if j != self.node]
        if others:
            self.send_all(others, message)
        if self.node in nodes:
            self.on_receive(self.node, message)
