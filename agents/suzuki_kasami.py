"""Suzuki and Kasami's algorithm: requests go to all nodes, and one token carries who was served and who waits.

I. Suzuki, T. Kasami: A Distributed Mutual Exclusion Algorithm. ACM TOCS 3(4), 1985.

Every request of a node has a number. The token carries for every node the number of its last request that was served,
and a queue of nodes that wait. A node that leaves its critical section appends the nodes whose latest request is not
served yet and sends the token to the first. Assumes delivery between any two nodes, exactly once, and nodes that do not
fail: a node that restarts counts its requests from 1 again, and the others take them for old ones.

Deviations: none. The original leaves open in which order nodes are appended; here it is the next higher number first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from agents.contract import CRITICAL, REMAINDER, WAITING, Agent, Demand, Graph, Needs
from agents.message import Message


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST(j, n): the sender's n-th request."""

    number: int


@dataclass(frozen=True, slots=True)
class Token(Message):
    """PRIVILEGE(Q, LN): the right to enter, who waits for it, and what was served."""

    units: ClassVar[int] = 1
    queue: tuple[int, ...]  # Q
    served: tuple[int, ...]  # LN


@dataclass(frozen=True, slots=True)
class Initial:
    """What a node starts with: how many nodes there are, and whether it holds the token."""

    nodes: int
    holds_token: bool


class SuzukiKasami(Agent):
    """One node of the algorithm."""

    needs = Needs.ANY_NODE
    messages = (Request, Token)
    handlers: ClassVar = {Request: "on_request_message", Token: "on_token"}
    survives = ("cut",)
    summary = "requests to all nodes, one token with a queue, 0 or N messages per entry (Suzuki, Kasami 1985)"

    def __init__(self, node: int, initial: Initial) -> None:
        super().__init__(node)
        self.holds_token = initial.holds_token
        self.requested = [0] * initial.nodes  # RN: the highest number of a request that was heard of, by node
        self.served = [0] * initial.nodes  # LN, as the token had it
        self.queue: list[int] = []  # Q, as the token has it

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Initial]:
        """Node 0 holds the token."""
        return [Initial(len(graph), node == 0) for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: Initial, parameters: Any) -> Initial:
        """A node that restarts has no token."""
        return Initial(initial.nodes, holds_token=False)

    @property
    def units(self) -> int:
        """1 for the node that has the token."""
        return int(self.holds_token)

    def on_request(self, demand: Demand) -> None:
        """The node wants to enter its critical section."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        if self.holds_token:
            self.enter_critical()
            return
        self.requested[self.node] += 1
        others = [peer for peer in range(len(self.requested)) if peer != self.node]
        self.send_all(others, Request(self.requested[self.node]))

    def on_request_message(self, j: int, message: Request) -> None:
        """REQUEST(j, n) received."""
        self.requested[j] = max(self.requested[j], message.number)
        if self.holds_token and self.status is REMAINDER and self.is_unserved(j):
            self.send_token(j)

    def on_token(self, j: int, message: Token) -> None:
        """PRIVILEGE(Q, LN) received."""
        self.holds_token = True
        self.queue, self.served = list(message.queue), list(message.served)
        if self.status is WAITING:  # else the node has restarted, and forgotten that it asked
            self.enter_critical()

    def on_release(self) -> None:
        """The node leaves its critical section."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        nodes = len(self.requested)
        self.served[self.node] = self.requested[self.node]
        for j in ((self.node + step) % nodes for step in range(1, nodes)):
            if self.is_unserved(j) and j not in self.queue:
                self.queue.append(j)
        if self.queue:
            self.send_token(self.queue.pop(0))

    def is_unserved(self, j: int) -> bool:
        """Whether the latest request of a node has not been served: RN[j] = LN[j] + 1."""
        return self.requested[j] == self.served[j] + 1

    def send_token(self, j: int) -> None:
        """The token leaves with all that it carries."""
        self.holds_token = False
        self.send(j, Token(tuple(self.queue), tuple(self.served)))

    def enter_critical(self) -> None:
        """Enter the critical section."""
        self.status = CRITICAL
        self.enter()
