"""What the h-out of-k algorithms by link reversal share: one token with the free units, and the units' way back to it.

J.-R. Jiang's two algorithms (`agents.hk`, `agents.hk_fifo`) differ in their queues. The links and heights are those of
RL (`agents.rl`), except that a node that receives the token tells all its neighbours; the numbers of deviations in
comments are those of `agents.hk`.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

from agents.contract import Graph
from agents.heights import Height, by_distance, lower_than, lowest
from agents.message import Message
from agents.pacing import RAISE
from agents.partition_detection import DetectingAgent, DetectingParameters


@dataclass(frozen=True, slots=True)
class Token(Message):
    """TOKEN(t): the privilege to take units, and the units that are free."""

    tokens: ClassVar[int] = 1
    height: Height
    free: int

    @property
    def units(self) -> int:  # type: ignore[override]
        """The free units."""
        return self.free


@dataclass(frozen=True, slots=True)
class Release(Message):
    """RELEASE(r): units on their way to the token."""

    tokens: ClassVar[int] = 0
    height: Height
    released: int

    @property
    def units(self) -> int:  # type: ignore[override]
        """The released units."""
        return self.released


@dataclass(frozen=True, slots=True)
class Link(Message):
    """LINK: the sender's height."""

    height: Height


@dataclass(frozen=True)
class UnitParameters(DetectingParameters):
    """`k`: how many units there are. A demand is for 1 to k of them, so k may exceed the number of nodes."""

    k: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < 1:
            raise ValueError("k at least 1")


@dataclass(frozen=True, slots=True)
class Initial:
    """What a node starts with: its own height, its neighbours' heights, and the token with its free units, if any."""

    height: Height
    neighbours: tuple[Height, ...]
    holds_token: bool
    free: int


Priority = tuple[int, int]
"""The priority and the negated requester, so that the greater pair goes first; the second is 0 with ties by arrival."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An entry of Q: the neighbour that asks for the token, or the node itself, and the priority of its request."""

    neighbour: int
    priority: Priority


class UnitsByLinkReversal(DetectingAgent):
    """Heights, links, the token and its units; a subclass asks for the token and decides which node gets it."""

    def __init__(self, node: int, initial: Initial, parameters: UnitParameters) -> None:
        super().__init__(node, parameters)
        self.k = parameters.k
        self.my_height = initial.height  # height_i
        self.height = {height[2]: height for height in initial.neighbours}  # htVector; its keys are N, ascending
        self.token_holder = initial.holds_token
        self.free = initial.free  # t, while the node holds the token
        self.demanded = 0  # h
        self.in_use = 0  # h, while the node is in its CS
        self.released = 0  # units of RELEASEs that wait for a lower neighbour
        self.next = node if self.token_holder or not self.height else lowest(self.height)
        self.queue: list[Claim] = []  # Q, the most urgent first
        self.awaiting_link: dict[int, Height] = {}  # the j with receivedLINK[j] false, and the height to come
        self.forming: dict[int, Height] = {}  # the j with forming[j] true, and formHeight[j]

    @classmethod
    def capacity(cls, parameters: UnitParameters) -> int:
        """k."""
        return parameters.k

    @classmethod
    def largest_demand(cls, parameters: UnitParameters) -> int:
        """All of them."""
        return parameters.k

    @classmethod
    def initial(cls, graph: Graph, parameters: UnitParameters) -> list[Initial]:
        """Node 0 has the token, with all units, and height (0, 0, 0); the others' heights lead to it."""
        heights = by_distance(graph, root=0)
        return [
            Initial(heights[i], tuple(heights[j] for j in graph[i]), i == 0, 0 if i else parameters.k)
            for i in range(len(graph))
        ]

    @classmethod
    def blank(cls, node: int, initial: Any, parameters: Any) -> Initial:
        """A node that restarts knows no neighbour; it raises its height as soon as it finds itself a sink."""
        return Initial((0, 0, node), (), False, 0)

    @classmethod
    def start(cls, node: int, initial: Initial, parameters: Any, rng: Random) -> Self:
        """The algorithm draws no random numbers."""
        return cls(node, initial, parameters)

    @property
    def units(self) -> int:
        """Free units with the token, units in use, and units on their way to the token."""
        return self.free + self.in_use + self.released

    @property
    def tokens(self) -> int:
        """1 for the token holder."""
        return int(self.token_holder)

    # -- events, in the paper's order ----------------------------------------------------------------------------------

    def on_release_message(self, j: int, message: Release) -> None:
        """Receiving a release message."""
        self.require_neighbour(j, message)
        self.take_back(message.released)

    def on_link(self, j: int, message: Link) -> None:
        """Receiving a link information message."""
        self.require_neighbour(j, message)
        if j in self.forming:
            if self.forming.pop(j) != self.my_height:
                self.send(j, Link(self.my_height))
            self.height = dict(sorted({**self.height, j: message.height}.items()))
            self.note_news()
        if j not in self.awaiting_link:
            self.height[j] = message.height
        elif self.awaiting_link[j] == message.height:
            del self.awaiting_link[j]
        if self.my_height > self.height[j]:
            self.dequeue(j)
        if self.token_holder:
            self.give_token_to_front()  # deviation 1
        elif self.is_sink():
            self.raise_height()
        elif self.queue and not self.leads_on():
            self.forward_request()
        self.forward_release()

    def on_link_down(self, peer: int) -> None:
        """Link failing."""
        self.height.pop(peer, None)
        self.forming.pop(peer, None)
        self.awaiting_link.pop(peer, None)
        self.dequeue(peer)
        self.note_failure()
        if self.token_holder:
            self.give_token_to_front()  # deviation 1
        elif self.is_sink():
            self.raise_height()
        elif self.queue and self.next not in self.height:
            self.forward_request()

    def on_link_up(self, peer: int) -> None:
        """Link forming."""
        self.send(peer, Link(self.my_height))
        self.forming[peer] = self.my_height

    def on_return(self, peer: int, message: Message) -> None:
        """A message that could not be delivered comes back, after its link has failed; the paper has no such event.

        The token is held again, as if the lowest neighbour had just sent it; a RELEASE is sent again (deviation 3).
        """
        if isinstance(message, Token):
            if self.height and not self.is_sink():
                self.come_below(min(self.height.values()))
            self.hold_token(message)
            self.give_token_to_front()
        elif isinstance(message, Release):
            self.take_back(message.released)

    # -- procedures ----------------------------------------------------------------------------------------------------

    def raise_height(self) -> None:
        """Procedure raiseHeight()."""
        if self.silent is not None or self.must_rest(RAISE):  # partition detection, pacing
            self.next = self.node
            return
        higher = self.raised_height()
        if higher is None:  # silent from now on
            return
        self.my_height = higher
        self.send_all(self.height, Link(self.my_height))
        self.queue = [one for one in self.queue if self.height.get(one.neighbour, self.my_height) >= self.my_height]
        if self.queue:
            self.forward_request()
        self.forward_release()

    def give_token_to_front(self) -> None:
        """Procedure giveTokenToFrontOfQ(): called by a holder at every event."""
        raise NotImplementedError

    def forward_request(self) -> None:
        """Procedure forwardRequest()."""
        raise NotImplementedError

    def forward_release(self) -> None:
        """Procedure forwardRelease(r), with r the units that wait here; `next` stays as it is (deviation 3)."""
        if self.released and self.height and not self.is_sink():
            self.send(lowest(self.height), Release(self.my_height, self.released))
            self.released = 0

    def take_back(self, units: int) -> None:
        """Units are free again: they go to the token, be it here or elsewhere."""
        if self.token_holder:
            self.free += units
            self.give_token_to_front()
        else:
            self.released += units
            self.forward_release()

    def come_below(self, h: Height) -> None:
        """Come just below h, and tell all neighbours."""
        self.my_height = lower_than(h, self.node)
        self.send_all(self.height, Link(self.my_height))

    def hold_token(self, token: Token) -> None:
        """The token is here, and so are the units that waited for a way to it."""
        self.token_holder = True
        self.next = self.node
        self.free, self.released = token.free + self.released, 0
        self.note_news()

    def enqueue(self, j: int, priority: Priority) -> None:
        """Queue j behind those as urgent; if it is there already, its priority can only rise (deviation 4)."""
        if all(one.neighbour != j or one.priority < priority for one in self.queue):
            self.dequeue(j)
            self.queue.insert(sum(one.priority >= priority for one in self.queue), Claim(j, priority))

    def dequeue(self, j: int) -> None:
        """Take j out of Q, if it is there."""
        self.queue = [one for one in self.queue if one.neighbour != j]

    def resume(self) -> None:
        """Go on after silence, with the units that wait here too."""
        super().resume()
        if not self.token_holder:
            self.forward_release()

    # -- conditions ----------------------------------------------------------------------------------------------------

    def require_neighbour(self, j: int, message: Message) -> None:
        """Refuse a message of a node that is neither in N nor forming a link (deviation 7)."""
        if j not in self.height and j not in self.forming:
            raise self.refuse(j, message)

    def is_sink(self) -> bool:
        """Whether every link is incoming; not so for a node without links (deviation 7)."""
        return bool(self.height) and self.my_height < min(self.height.values())

    def leads_on(self) -> bool:
        """Whether the link to `next` is there and outgoing."""
        return self.height.get(self.next, self.my_height) < self.my_height
