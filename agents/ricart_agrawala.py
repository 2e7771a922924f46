"""Ricart and Agrawala's algorithm: a node enters when every other node has given its permission.

G. Ricart, A. K. Agrawala: An Optimal Algorithm for Mutual Exclusion in Computer Networks. CACM 24(1), 1981.

A request has a sequence number; of two, the lower one goes first, and of equal ones the lower node's. A node that waits
with a lower request, or is inside, defers its reply until it leaves. Assumes delivery between any two nodes, exactly
once, and nodes that do not fail: a node that restarts has forgotten which replies it owes. Deviations: none.
"""

from dataclasses import dataclass
from typing import ClassVar

from agents.contract import CRITICAL, REMAINDER, WAITING, Agent, Demand, Needs, Shares
from agents.message import Message


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST: asks for permission."""

    sequence_number: int


@dataclass(frozen=True, slots=True)
class Reply(Message):
    """REPLY: gives it."""


class RicartAgrawala(Agent):
    """One node; `peers` are all others."""

    needs = Needs.ANY_NODE
    shares = Shares.PERMISSIONS
    messages = (Request, Reply)
    handlers: ClassVar = {Request: "on_request_message", Reply: "on_reply"}
    survives = ("crash", "cut")
    summary = "permission of all other nodes, 2(N-1) messages per entry (Ricart, Agrawala 1981)"

    def __init__(self, node: int, peers: tuple[int, ...]) -> None:
        super().__init__(node)
        self.peers = peers
        self.sequence_number = 0  # Our_Sequence_Number
        self.highest_sequence_number = 0
        self.awaited: set[int] = set()  # whose replies are outstanding: Outstanding_Reply_Count is its size
        self.deferred: list[int] = []  # the j with Reply_Deferred[j] true

    def on_request(self, demand: Demand) -> None:
        """The node wants to enter its critical section."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        self.sequence_number = self.highest_sequence_number + 1
        self.awaited = set(self.peers)
        self.send_all(self.peers, Request(self.sequence_number))
        self.enter_if_permitted()

    def on_request_message(self, j: int, message: Request) -> None:
        """REQUEST(k, j) received."""
        k = message.sequence_number
        self.highest_sequence_number = max(self.highest_sequence_number, k)
        if self.status is not REMAINDER and (k, j) > (self.sequence_number, self.node):
            self.deferred.append(j)
        else:
            self.send(j, Reply())

    def on_reply(self, j: int, message: Reply) -> None:
        """REPLY received."""
        self.awaited.discard(j)
        self.enter_if_permitted()

    def on_release(self) -> None:
        """The node leaves its critical section."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        self.send_all(self.deferred, Reply())
        self.deferred = []

    def enter_if_permitted(self) -> None:
        """Enter when no reply is outstanding."""
        if self.status is WAITING and not self.awaited:
            self.status = CRITICAL
            self.enter()
