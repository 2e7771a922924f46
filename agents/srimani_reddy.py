"""A reconstruction of Srimani and Reddy's algorithm: Suzuki and Kasami's with k tokens, each with a queue of its own.

P. K. Srimani, R. L. N. Reddy: Another Distributed Algorithm for Multiple Entries to a Critical Section. Information
Processing Letters 41, 1992. The original text could not be found. The reconstruction is made from how S. Bulgannawar
and N. H. Vaidya describe and measure it (A Distributed K-Mutual Exclusion Algorithm, ICDCS 1995), and from the
algorithm it extends (`agents.suzuki_kasami`).

A request goes to all other nodes. A token carries a queue of nodes that wait, and for every node the number of its
last request that was served. A node appends the waiting nodes it has heard of to the queue of every token that it does
not use itself, and sends that token to the first. Two tokens may go to the same node: it uses one and passes the other
on. Assumes delivery between any two nodes, exactly once, and nodes that do not fail: a node that restarts counts its
requests from 1 again, and the others take them for old ones.

Deviations: the request numbers of the original are bounded; here they grow without bound, as in Suzuki and Kasami's
algorithm and in the comparison by Bulgannawar and Vaidya. What else may differ from the original is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agents.contract import CRITICAL, REMAINDER, WAITING, Agent, Demand, Graph, MultipleEntries, Needs
from agents.message import Message


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST(j, n): the sender's n-th request."""

    number: int


@dataclass(frozen=True, slots=True)
class Token(Message):
    """TOKEN(Q, LN): the right to enter, the nodes that wait for this token, and what was served."""

    units: ClassVar[int] = 1
    queue: tuple[int, ...]  # Q
    served: tuple[int, ...]  # LN


@dataclass(frozen=True, slots=True)
class Initial:
    """What a node starts with: how many nodes there are, and whether it holds a token."""

    nodes: int
    holds_token: bool


class SrimaniReddy(Agent):
    """One node of the reconstruction."""

    needs = Needs.ANY_NODE
    is_reconstruction = True
    messages = (Request, Token)
    handlers: ClassVar = {Request: "on_request_message", Token: "on_token"}
    parameters = MultipleEntries
    survives = ("cut",)
    summary = "k tokens with queues, about N-1 messages per entry (reconstruction of Srimani, Reddy 1992)"

    def __init__(self, node: int, initial: Initial) -> None:
        super().__init__(node)
        self.requested = [0] * initial.nodes  # RN: the highest number of a request that was heard of, by node
        self.served = [0] * initial.nodes  # LN: the highest number for which a token was used or sent, by node
        self.queues: list[list[int]] = [[]] if initial.holds_token else []  # the queue Q of every token held

    @classmethod
    def initial(cls, graph: Graph, parameters: MultipleEntries) -> list[Initial]:
        """Nodes 0 to k-1 hold a token each."""
        return [Initial(len(graph), node < parameters.k) for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: Initial, parameters: MultipleEntries) -> Initial:
        """A node that restarts has no token."""
        return Initial(initial.nodes, holds_token=False)

    @property
    def units(self) -> int:
        """The tokens held, the one in use included."""
        return len(self.queues)

    def on_request(self, demand: Demand) -> None:
        """The node wants to enter its critical section."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        self.requested[self.node] += 1
        if self.queues:
            self.enter_critical()
        else:
            self.send_all(self.others(), Request(self.requested[self.node]))

    def on_request_message(self, j: int, message: Request) -> None:
        """REQUEST(j, n) received."""
        self.requested[j] = max(self.requested[j], message.number)
        self.send_spare_tokens()

    def on_token(self, j: int, message: Token) -> None:
        """TOKEN(Q, LN) received."""
        for peer in self.others():  # of its own requests the node itself knows best
            self.served[peer] = max(self.served[peer], message.served[peer])
        self.queues.append(list(message.queue))
        if self.status is WAITING:
            self.enter_critical()
        self.send_spare_tokens()

    def on_release(self) -> None:
        """The node leaves its critical section."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        self.served[self.node] = self.requested[self.node]
        self.send_spare_tokens()

    def send_spare_tokens(self) -> None:
        """Send every token that is not in use to the first node of its queue, until no node is known to wait."""
        while len(self.queues) > (self.status is CRITICAL):
            queue = self.queues[0]
            queue += [j for j in self.others() if self.is_unserved(j) and j not in queue]
            while queue and (queue[0] == self.node or not self.is_unserved(queue[0])):
                queue.pop(0)
            if not queue:
                return
            j = queue.pop(0)
            del self.queues[0]
            self.send(j, Token(tuple(queue), tuple(self.served)))
            self.served[j] = self.requested[j]  # so that this node sends it no second token

    def is_unserved(self, j: int) -> bool:
        """Whether the latest request of a node is not known to be served: RN[j] > LN[j]."""
        return self.requested[j] > self.served[j]

    def others(self) -> list[int]:
        """All other nodes, from the next higher number on."""
        nodes = len(self.requested)
        return [(self.node + step) % nodes for step in range(1, nodes)]

    def enter_critical(self) -> None:
        """Enter the critical section."""
        self.status = CRITICAL
        self.enter()
