"""RR: Raymond's tree algorithm over ideal routing, the baseline of the RL paper.

K. Raymond: A Tree-Based Algorithm for Distributed Mutual Exclusion. ACM TOCS 7(1), 1989; as run in section 6 of the RL
paper (Walter, Welch, Vaidya: A Mutual Exclusion Algorithm for Ad Hoc Mobile Networks. Wireless Networks 7(6), 2001).

One token; a static spanning tree, on which every node knows in which direction the token is and keeps a FIFO queue of
those who asked it. In the RL paper the tree is the breadth-first tree of the initial graph, the graph is then permuted,
and messages between tree neighbours take the current shortest path, one message charged for every link. Assumes
delivery between any two nodes, exactly once and in order.

Deviations: the RL paper does not print the algorithm; this is Raymond's, with ASSIGN_PRIVILEGE and MAKE_REQUEST called
after every event as in the original. Its PRIVILEGE is called Token here, so that tables agree. Its recovery, by which a
node that comes back learns from its neighbours what it forgot, is left out, since the RL paper's nodes do not fail: a
node that has crashed does not know who asked it, and they may wait for ever even if it held nothing. Seed 2 shows it
(tests/agents/test_raymond_tree_paper.py).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

from agents.contract import Agent, Demand, Graph, Needs, Parameters, Status
from agents.message import Message


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST: asks a tree neighbour for the token on behalf of the sender."""


@dataclass(frozen=True, slots=True)
class Token(Message):
    """PRIVILEGE: the right to enter the critical section."""

    units: ClassVar[int] = 1


@dataclass(frozen=True)
class TreeParameters(Parameters):
    """`permuted`: build the tree on a permuted copy of the graph, as the RL paper does."""

    permuted: bool = True


class RaymondTree(Agent):
    """One node of Raymond's algorithm."""

    needs = Needs.ANY_NODE
    messages = (Request, Token)
    parameters = TreeParameters
    survives = ("cut",)
    summary = "Raymond's tree over ideal routing (RR): one token, static spanning tree (Raymond 1989)"

    def __init__(self, node: int, holder: int) -> None:
        super().__init__(node)
        self.holder = holder  # HOLDER: this node, or the tree neighbour in whose direction the token is
        self.queue: list[int] = []  # REQUEST_Q
        self.asked = False

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[int]:
        """For every node its parent in the breadth-first tree from node 0, which is its own and has the token."""
        parents = {0: 0}
        frontier = deque([0])
        while frontier:
            node = frontier.popleft()
            for peer in graph[node]:
                if peer not in parents:
                    parents[peer] = node
                    frontier.append(peer)
        return [parents.get(node, 0) for node in range(len(graph))]

    @classmethod
    def starts_permuted(cls, parameters: TreeParameters) -> bool:
        """The RL paper forms the tree first and permutes the graph afterwards."""
        return parameters.permuted

    @classmethod
    def blank(cls, node: int, initial: Any, parameters: Any) -> int:
        """Raymond's recovery asks the neighbours; a node that comes back here takes node 0 for the holder."""
        return 0 if node else 1

    @classmethod
    def start(cls, node: int, initial: int, parameters: Any, rng: Random) -> Self:
        """Raymond's algorithm draws no random numbers."""
        return cls(node, initial)

    @property
    def units(self) -> int:
        """1 for the node that has the token."""
        return int(self.holder == self.node)

    def on_request(self, demand: Demand) -> None:
        """The node wishes to enter its critical section."""
        self.require(Status.REMAINDER, "request")
        self.status = Status.WAITING
        self.queue.append(self.node)
        self.proceed()

    def on_release(self) -> None:
        """The node exits its critical section."""
        self.require(Status.CRITICAL, "release")
        self.status = Status.REMAINDER
        self.proceed()

    def on_receive(self, peer: int, message: Message) -> None:
        """REQUEST or PRIVILEGE received from a tree neighbour."""
        if isinstance(message, Request):
            self.queue.append(peer)
        elif isinstance(message, Token):
            self.holder = self.node
        else:
            raise self.refuse(peer, message)
        self.proceed()

    def proceed(self) -> None:
        """ASSIGN_PRIVILEGE, then MAKE_REQUEST."""
        if self.holder == self.node and self.status is not Status.CRITICAL and self.queue:
            self.assign_privilege()
        if self.holder != self.node and self.queue and not self.asked:
            self.asked = True
            self.send(self.holder, Request())

    def assign_privilege(self) -> None:
        """Give the token to the head of the queue."""
        head = self.queue.pop(0)
        self.asked = False
        if head == self.node:
            self.status = Status.CRITICAL
            self.enter()
        else:
            self.holder = head
            self.send(head, Token())
