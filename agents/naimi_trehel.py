"""Naimi and Tréhel's algorithm: requests follow pointers to the last node that asked, and turn them on the way.

M. Naimi, M. Tréhel, A. Arnold: A log(N) Distributed Mutual Exclusion Algorithm Based on Path Reversal. Journal of
Parallel and Distributed Computing 34(1), 1996.

Every node points at the node that it believes to have asked last, its father; the last one has none. A request is
forwarded from father to father, and every node on the way points at the requester from then on. The last one passes the
token to the requester, at once or when it leaves its critical section. Assumes delivery between any two nodes, exactly
once and in order, and nodes that do not fail: a node that restarts does not know who follows it. Deviations: none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from agents.contract import CRITICAL, REMAINDER, WAITING, Agent, Demand, Graph, Needs
from agents.message import Message


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST(j): node j asks for the token."""

    origin: int


@dataclass(frozen=True, slots=True)
class Token(Message):
    """TOKEN: the right to enter the critical section."""

    units: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Initial:
    """What a node starts with: its father, if it has one, and whether it holds the token."""

    father: int | None
    holds_token: bool


class NaimiTrehel(Agent):
    """One node of the algorithm."""

    needs = Needs.ANY_NODE
    messages = (Request, Token)
    handlers: ClassVar = {Request: "on_request_message", Token: "on_token"}
    survives = ("cut",)
    summary = "one token, requests by path reversal, O(log N) messages per entry (Naimi, Trehel, Arnold 1996)"

    def __init__(self, node: int, initial: Initial) -> None:
        super().__init__(node)
        self.father = initial.father
        self.holds_token = initial.holds_token
        self.next: int | None = None

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Initial]:
        """Node 0 holds the token, and is the father of all others."""
        return [Initial(0 if node else None, node == 0) for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: Initial, parameters: Any) -> Initial:
        """A node that restarts points at node 0, or node 0 at node 1."""
        return Initial(0 if node else 1, holds_token=False)

    @property
    def units(self) -> int:
        """1 for the node that has the token."""
        return int(self.holds_token)

    def on_request(self, demand: Demand) -> None:
        """The node wants to enter its critical section."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        if self.father is not None:
            self.send(self.father, Request(self.node))
            self.father = None
        elif self.holds_token:
            self.enter_critical()

    def on_request_message(self, j: int, message: Request) -> None:
        """REQUEST(j) received, from j itself or forwarded."""
        if self.father is not None:
            self.send(self.father, message)
        elif self.status is REMAINDER and self.holds_token:
            self.send_token(message.origin)
        else:
            self.next = message.origin
        self.father = message.origin

    def on_token(self, j: int, message: Token) -> None:
        """TOKEN received."""
        self.holds_token = True
        if self.status is WAITING:  # else the node has restarted, and forgotten that it asked
            self.enter_critical()

    def on_release(self) -> None:
        """The node leaves its critical section."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        if self.next is not None:
            self.send_token(self.next)
            self.next = None

    def send_token(self, j: int) -> None:
        """The token leaves."""
        self.holds_token = False
        self.send(j, Token())

    def enter_critical(self) -> None:
        """Enter the critical section."""
        self.status = CRITICAL
        self.enter()
