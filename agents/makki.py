"""A reconstruction of the algorithm of Makki et al.: one token with a queue and a semaphore, batches of requests.

K. Makki, P. Banta, K. Been, N. Pissinou, E. K. Park: A Token Based Distributed k Mutual Exclusion Algorithm. SPDP 1992.
The original text could not be found. Published about it elsewhere: one token carries a queue and a general semaphore S;
a node enters if S > 0, or if S = 0 on a later RELEASE of an earlier node; requests are collected for the time of a
message and its answer; an entry takes 3 messages under heavy load and many under light load. The rest is made up here.

The last node of a batch, its tail, collects the requests of the next batch. Once it has the token and a request, it
waits for a window of time, names the new tail to all nodes outside the new batch, and sends the token along that batch,
from node to node without a stop. A node enters with a unit of S or with one that is granted to it. When it leaves, it
grants the unit to the k-th node after it in the batch, or returns it to the tail if there are fewer. A tail that has
sent the token grants a unit that is returned to it to the first node of the next batch that has none, or returns it to
the tail of that batch. So every tail gets k units in all, and forgets the next batch with the last of them. Assumes
delivery between any two nodes, exactly once, and nodes that do not fail: a node that restarts has forgotten the
requests that it collected and the units that it owes.

Deviations: how far this is from the original is not known. Safety and progress do not depend on the window; if it is
shorter than a message and its answer, a request may pass several former tails before one collects it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

from agents.contract import CRITICAL, REMAINDER, TICKS, WAITING, Agent, Demand, Graph, MultipleEntries, Needs
from agents.message import Message


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST(j, e): node j asks the receiver, which is the tail of batch e."""

    origin: int
    batch: int


@dataclass(frozen=True, slots=True)
class NewTail(Message):
    """NEWTAIL(t, e): node t is the tail of batch e."""

    tail: int
    batch: int


@dataclass(frozen=True, slots=True)
class Token(Message):
    """TOKEN(Q, S, e): the token of batch e, the nodes that it still has to visit, and the semaphore."""

    tokens: ClassVar[int] = 1
    queue: tuple[int, ...]
    semaphore: int
    batch: int

    @property
    def units(self) -> int:  # type: ignore[override]
        """What the semaphore counts."""
        return self.semaphore


@dataclass(frozen=True, slots=True)
class Grant(Message):
    """RELEASE to a later node of the batch, which enters with this unit."""

    units: ClassVar[int] = 1
    tokens: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Return(Message):
    """RELEASE to the tail of batch e."""

    units: ClassVar[int] = 1
    tokens: ClassVar[int] = 0
    batch: int


@dataclass(frozen=True)
class MakkiParameters(MultipleEntries):
    """`window`: how long a tail collects requests before it sends the token, in time units.

    In the original it is 2 T, the time of a message and its answer.
    """

    window: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.window <= 1e9:
            raise ValueError("window from 0 to 1e+09 time units")


@dataclass(frozen=True, slots=True)
class Initial:
    """What a node starts with: the other nodes, and whether it holds the token with all units."""

    peers: tuple[int, ...]
    holds_token: bool


class Makki(Agent):
    """One node of the reconstruction."""

    needs = Needs.ANY_NODE
    is_reconstruction = True
    messages = (Request, NewTail, Token, Grant, Return)
    handlers: ClassVar = {
        Request: "on_request_message",
        NewTail: "on_new_tail",
        Token: "on_token",
        Grant: "on_grant",
        Return: "on_return_message",
    }
    parameters = MakkiParameters
    survives = ("cut",)
    summary = "one token with a queue and a semaphore, batches of requests (reconstruction of Makki et al. 1992)"

    def __init__(self, node: int, initial: Initial, parameters: MakkiParameters) -> None:
        super().__init__(node)
        self.peers = initial.peers
        self.k = parameters.k
        self.window_ticks = round(parameters.window * TICKS)
        self.tail, self.batch = 0, 0  # the tail of the latest batch that this node has heard of
        self.holds_token = initial.holds_token
        self.free = self.k if initial.holds_token else 0  # S where the token is; elsewhere units that came before it
        self.collected: list[int] = []  # the next batch, so far
        self.sent: dict[int, tuple[tuple[int, ...], int]] = {}  # by batch of this tail: the next, and the units it got
        self.granted = 0  # 1 for a unit granted or in use; 2 only where a node has restarted
        self.heir: tuple[int, Message] | None = None  # the node that gets the unit next, and how; known from the token

    @classmethod
    def initial(cls, graph: Graph, parameters: MakkiParameters) -> list[Initial]:
        """Node 0 is the tail of batch 0 and holds the token."""
        peers = super().initial(graph, parameters)
        return [Initial(peers[node], node == 0) for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: Initial, parameters: Any) -> Initial:
        """A node that restarts has no token."""
        return Initial(initial.peers, holds_token=False)

    @classmethod
    def start(cls, node: int, initial: Initial, parameters: MakkiParameters, rng: Random) -> Self:
        """The algorithm draws no random numbers."""
        return cls(node, initial, parameters)

    @property
    def units(self) -> int:
        """The free units, and the one granted or in use."""
        return self.free + self.granted

    @property
    def tokens(self) -> int:
        """1 where the token is."""
        return int(self.holds_token)

    def on_request(self, demand: Demand) -> None:
        """The node wants to enter its critical section."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        self.give(self.tail, Request(self.node, self.batch))

    def on_request_message(self, peer: int, message: Request) -> None:
        """REQUEST(j, e): collect it, or forward it to a later tail."""
        self.learn(self.node, message.batch)
        if self.tail != self.node:
            self.send(self.tail, Request(message.origin, self.batch))
            return
        self.collected.append(message.origin)
        if len(self.collected) == 1:
            self.open_window()

    def on_new_tail(self, peer: int, message: NewTail) -> None:
        """NEWTAIL(t, e)."""
        self.learn(message.tail, message.batch)

    def on_timer(self, name: str) -> None:
        """The window is over."""
        self.dispatch()

    def on_token(self, peer: int, message: Token) -> None:
        """TOKEN(Q, S, e): take a unit, pass the token on at once."""
        queue, semaphore, batch = message.queue, message.semaphore, message.batch
        self.learn(queue[-1] if queue else self.node, batch)
        self.heir = (queue[self.k - 1], Grant()) if len(queue) >= self.k else (self.tail, Return(batch))
        if semaphore and not self.granted:
            semaphore -= 1
            self.granted += 1
        self.enter_if_permitted()
        if queue:
            self.give(queue[0], Token(queue[1:], semaphore, batch))
            return
        self.holds_token = True
        self.free += semaphore
        self.open_window()

    def on_grant(self, peer: int, message: Grant) -> None:
        """RELEASE from an earlier node: it may come before the token."""
        self.granted += 1
        self.enter_if_permitted()

    def on_release(self) -> None:
        """The node leaves its critical section: RELEASE to its heir."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        assert self.heir is not None
        heir, self.heir = self.heir, None
        self.granted -= 1
        self.give(*heir)

    def on_return_message(self, peer: int, message: Return) -> None:
        """RELEASE to the tail of batch e: keep the unit for the next batch, or send it after that."""
        if message.batch not in self.sent:
            self.free += 1
            return
        queue, units = self.sent.pop(message.batch)
        if units + 1 < self.k:  # else this was the last unit that this tail gets
            self.sent[message.batch] = (queue, units + 1)
        if units < len(queue):
            self.give(queue[units], Grant())
        else:
            self.give(queue[-1], Return(message.batch + 1))

    def open_window(self) -> None:
        """Send the token after the window, if it is here and there are requests."""
        if self.holds_token and self.collected:
            if self.window_ticks:
                self.set_timer("window", self.window_ticks)
            else:
                self.dispatch()

    def dispatch(self) -> None:
        """Send the token along the batch that was collected."""
        queue, semaphore, batch = tuple(self.collected), self.free, self.batch + 1
        self.collected, self.free, self.holds_token = [], 0, False
        if semaphore < self.k:
            self.sent[self.batch] = (queue, semaphore)
        self.learn(queue[-1], batch)
        self.send_all([peer for peer in self.peers if peer not in queue], NewTail(self.tail, batch))
        self.give(queue[0], Token(queue[1:], semaphore, batch))

    def learn(self, tail: int, batch: int) -> None:
        """Note the tail of a later batch."""
        if batch > self.batch:
            self.tail, self.batch = tail, batch

    def give(self, node: int, message: Message) -> None:
        """Send a message; what the node gives itself takes none."""
        if node == self.node:
            self.on_receive(node, message)
        else:
            self.send(node, message)

    def enter_if_permitted(self) -> None:
        """Enter with a unit once the token has named the heir."""
        if self.status is WAITING and self.granted and self.heir is not None:
            self.status = CRITICAL
            self.enter()
