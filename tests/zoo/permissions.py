"""Algorithms that share permissions: three correct ones, and wrong ones made of them.

This file runs by itself as the `file` of a scenario's algorithm, so it imports nothing but `agents`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from agents.contract import CRITICAL, REMAINDER, TICKS, WAITING, Agent, Demand, MultipleEntries, Needs, Shares
from agents.maekawa import Locked, Maekawa, Release
from agents.maekawa import Request as QuorumRequest
from agents.message import Message
from agents.ricart_agrawala import Reply, Request, RicartAgrawala

# -- a coordinator ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """Asks node 0 for its permission."""


@dataclass(frozen=True, slots=True)
class Grant(Message):
    """Gives it."""


@dataclass(frozen=True, slots=True)
class Done(Message):
    """Gives it back."""


class Coordinator(Agent):
    """Correct: node 0 permits one node at a time, in the order in which they ask.

    A client may crash and come back: if the node that has the permission asks again, it has forgotten the permission.
    """

    needs = Needs.ANY_NODE
    shares = Shares.PERMISSIONS
    messages = (Ask, Grant, Done)
    handlers: ClassVar = {Ask: "on_ask", Grant: "on_grant", Done: "on_done"}
    summary = "node 0 permits one node at a time"

    def __init__(self, node: int, peers: tuple[int, ...]) -> None:
        super().__init__(node)
        self.awaited: set[int] = set()  # of a client: node 0 while it waits; of node 0: the nodes that are inside
        self.queue: list[int] = []  # at node 0

    def on_request(self, demand: Demand) -> None:
        """A node asks node 0, which may be itself."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        if self.node == 0:
            self.on_ask(0, Ask())
        else:
            self.awaited = {0}
            self.send(0, Ask())

    def on_release(self) -> None:
        """The permission goes back."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        if self.node == 0:
            self.permit()
        else:
            self.send(0, Done())

    def on_ask(self, peer: int, message: Ask) -> None:
        """At node 0: a node asks."""
        self.awaited.discard(peer)  # it has restarted if it had the permission
        if peer not in self.queue:
            self.queue.append(peer)
        self.permit()

    def on_grant(self, peer: int, message: Grant) -> None:
        """A client may enter."""
        self.awaited = set()
        self.use()

    def on_done(self, peer: int, message: Done) -> None:
        """At node 0: the permission is back."""
        self.awaited.discard(peer)
        self.permit()

    def permit(self) -> None:
        """At node 0: permit the first node that waits, if no node is inside."""
        if self.queue and not self.awaited and self.status is not CRITICAL:
            peer = self.queue.pop(0)
            if peer == self.node:
                self.use()
            else:
                self.awaited = {peer}
                self.send(peer, Grant())

    def use(self) -> None:
        """Enter."""
        self.status = CRITICAL
        self.enter()


class PermitsTwo(Coordinator):
    """Node 0 permits another node while one is inside."""

    def permit(self) -> None:
        """Two are not many."""
        if self.queue and len(self.awaited) < 2:
            peer = self.queue.pop(0)
            if peer == self.node:
                self.use()
            else:
                self.awaited.add(peer)
                self.send(peer, Grant())


class PermitsOneTooMany(PermitsTwo):
    """Node 0 permits k + 1 nodes at a time."""

    parameters = MultipleEntries

    def permit(self) -> None:
        """One more than there may be."""
        while self.queue and len(self.awaited) + (self.status is CRITICAL) < 4:
            peer = self.queue.pop(0)
            if peer == self.node:
                self.use()
            else:
                self.awaited.add(peer)
                self.send(peer, Grant())


class ForgesGrant(Coordinator):
    """Node 3 gives permission in the name of node 0: node 4 may then enter beside another node."""

    def on_request(self, demand: Demand) -> None:
        """Its own request, and a favour to node 4."""
        super().on_request(demand)
        if self.node == 3:
            self.send(4, Grant())

    def on_grant(self, peer: int, message: Grant) -> None:
        """The sender of a grant is not looked at."""
        if self.status is WAITING:
            super().on_grant(peer, message)


class GivesBackTwice(Coordinator):
    """Gives its permission back twice, and node 0 takes the second one for that of the next node."""

    def on_release(self) -> None:
        """Once would do."""
        super().on_release()
        if self.node != 0:
            self.send(0, Done())

    def on_done(self, peer: int, message: Done) -> None:
        """Whose permission it is does not matter."""
        self.awaited = set()
        self.permit()


class LosesWakeUp(Coordinator):
    """A permission that comes back wakes no node: the queue is looked at only when a node asks."""

    def on_done(self, peer: int, message: Done) -> None:
        """No node is permitted now."""
        self.awaited.discard(peer)


class BlamesTheCrashed(LosesWakeUp):
    """Every node says that it waits for node 5, which has crashed and is of no use to it."""

    def awaits(self) -> frozenset[int]:
        """Not my fault."""
        return frozenset({5} - {self.node})


class SparesLessThanNone(LosesWakeUp):
    """Says that it can do with fewer than no nodes: then it is blocked even by those that have not crashed."""

    spares = -1


class SparesText(LosesWakeUp):
    """Says that it can do without `many` nodes."""

    spares = "many"  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Token(Message):
    """A token, though permissions are shared."""

    units: ClassVar[int] = 1


class TokenAsPermission(Coordinator):
    """Says that it shares permissions, which are not conserved, and moves a token."""

    messages = (Ask, Token, Done)
    handlers: ClassVar = {Ask: "on_ask", Token: "on_grant", Done: "on_done"}

    def send(self, peer: int, message: Message) -> None:
        """A grant is a token."""
        super().send(peer, Token() if isinstance(message, Grant) else message)


class SharesMemory(Agent):
    """Asks no node, but a variable that all nodes of a process have in common.

    In the simulator that is a correct algorithm, in which no message is sent. Nodes that are processes of their own
    have each a variable of its own.
    """

    needs = Needs.ANY_NODE
    shares = Shares.PERMISSIONS
    inside: ClassVar[list[int]] = []

    def __init__(self, node: int, peers: tuple[int, ...]) -> None:
        super().__init__(node)
        self.inside.clear()  # of an earlier run in the same process

    def on_request(self, demand: Demand) -> None:
        """Look whether a node is inside."""
        self.status = WAITING
        self.on_timer("look")

    def on_timer(self, name: str) -> None:
        """Enter, or look again later."""
        if self.inside:
            self.set_timer("look", TICKS // 10)
        else:
            self.inside.append(self.node)
            self.status = CRITICAL
            self.enter()

    def on_release(self) -> None:
        """Leave."""
        self.status = REMAINDER
        self.inside.remove(self.node)


class HoldsPermissions(Coordinator):
    """Says that it shares permissions, and that a node holds one."""

    @property
    def units(self) -> int:
        """1 while it is inside."""
        return int(self.status is CRITICAL)


# -- Ricart and Agrawala ---------------------------------------------------------------------------------------------


class Textbook(RicartAgrawala):
    """Correct: Ricart and Agrawala's algorithm."""

    summary = "Ricart and Agrawala's algorithm"


class DefersAlways(RicartAgrawala):
    """A node that waits defers every reply, whichever request was first: two that wait for each other wait for ever."""

    def on_request_message(self, j: int, message: Request) -> None:
        """The comparison is missing."""
        self.highest_sequence_number = max(self.highest_sequence_number, message.sequence_number)
        if self.status is not REMAINDER:
            self.deferred.append(j)
        else:
            self.send(j, Reply())


class DefersAlwaysOnLinks(DefersAlways):
    """The same over links, which it assumes never to fail."""

    needs = Needs.LINKS


class DefersAlwaysAsTokens(DefersAlways):
    """The same, and says that it shares tokens, of which there are none."""

    shares = Shares.TOKENS

    @property
    def units(self) -> int:
        """None anywhere."""
        return 0


class DefersAlwaysNoBound(DefersAlways):
    """The same, and promises no bound."""

    @classmethod
    def promises_bound(cls, parameters: Any) -> bool:
        """Nothing is promised."""
        return False


class NeverDefers(RicartAgrawala):
    """A node that waits replies to all, and only one that is inside defers."""

    def on_request_message(self, j: int, message: Request) -> None:
        """Be polite."""
        if self.status is CRITICAL:
            self.deferred.append(j)
        else:
            self.send(j, Reply())


class EntersEarly(RicartAgrawala):
    """Enters when one reply is still outstanding."""

    def enter_if_permitted(self) -> None:
        """Nearly all is enough."""
        if self.status is WAITING and len(self.awaited) <= 1:
            self.status = CRITICAL
            self.enter()


class ForgetsDeferred(RicartAgrawala):
    """Does not send the replies that it deferred."""

    def on_release(self) -> None:
        """They asked long ago."""
        self.deferred = []
        super().on_release()


class OldestLast(RicartAgrawala):
    """Compares by the node only, so that the lowest number is always first."""

    def on_request_message(self, j: int, message: Request) -> None:
        """Rank before age."""
        if self.status is CRITICAL or (self.status is WAITING and j > self.node):
            self.deferred.append(j)
        else:
            self.send(j, Reply())


@dataclass(frozen=True, slots=True)
class NamedReply(Message):
    """A reply that says whose it is."""

    giver: int


class ForgesReplies(RicartAgrawala):
    """Node 1 replies for all others as well, and the receiver believes the name in the message."""

    messages = (Request, NamedReply)
    handlers: ClassVar = {Request: "on_request_message", NamedReply: "on_named_reply"}

    def send_all(self, peers: Any, message: Message) -> None:
        """Replies carry a name."""
        if isinstance(message, Reply):
            message = NamedReply(self.node)
        super().send_all(peers, message)

    def send(self, peer: int, message: Message) -> None:
        """Replies of node 1 come with those of all others."""
        if isinstance(message, Reply):
            for giver in (self.node, *self.peers) if self.node == 1 else (self.node,):
                super().send(peer, NamedReply(giver))
        else:
            super().send(peer, message)

    def on_named_reply(self, j: int, message: NamedReply) -> None:
        """From whom it came is not looked at."""
        self.on_reply(message.giver, Reply())


# -- Maekawa ---------------------------------------------------------------------------------------------------------


class Quorums(Maekawa):
    """Correct: Maekawa's algorithm."""

    summary = "Maekawa's algorithm"


class NeverInquires(Maekawa):
    """A member never asks for its grant back, so that nodes which have a part of each other's quorum wait for ever."""

    def on_request_message(self, j: int, message: QuorumRequest) -> None:
        """First come, first served."""
        self.clock = max(self.clock, message.clock)
        self.waiting.append((message.clock, j))
        if self.granted is None:
            self.grant_oldest()


class GrantsTwice(Maekawa):
    """A member grants every request at once."""

    def on_request_message(self, j: int, message: QuorumRequest) -> None:
        """Have it."""
        self.clock = max(self.clock, message.clock)
        self.granted = (message.clock, j)
        self.tell((j,), Locked())

    def on_release_message(self, j: int, message: Release) -> None:
        """No request waits."""


class SmallQuorums(Maekawa):
    """Quorums that do not meet: a node asks the members of its row only."""

    @classmethod
    def initial(cls, graph: Any, parameters: Any) -> list[tuple[int, ...]]:
        """Rows of two."""
        return [tuple(sorted({node, node ^ 1} & set(range(len(graph))))) for node in range(len(graph))]


ALGORITHMS: dict[str, type[Agent]] = {
    "coordinator": Coordinator,
    "textbook": Textbook,
    "quorums": Quorums,
    "permits-two": PermitsTwo,
    "permits-one-too-many": PermitsOneTooMany,
    "forges-grant": ForgesGrant,
    "gives-back-twice": GivesBackTwice,
    "permission-loses-wake-up": LosesWakeUp,
    "blames-the-crashed": BlamesTheCrashed,
    "spares-less-than-none": SparesLessThanNone,
    "spares-text": SparesText,
    "token-as-permission": TokenAsPermission,
    "shares-memory": SharesMemory,
    "holds-permissions": HoldsPermissions,
    "defers-always": DefersAlways,
    "defers-always-on-links": DefersAlwaysOnLinks,
    "defers-always-as-tokens": DefersAlwaysAsTokens,
    "defers-always-no-bound": DefersAlwaysNoBound,
    "never-defers": NeverDefers,
    "enters-early": EntersEarly,
    "forgets-deferred": ForgetsDeferred,
    "oldest-last": OldestLast,
    "forges-replies": ForgesReplies,
    "never-inquires": NeverInquires,
    "grants-twice": GrantsTwice,
    "small-quorums": SmallQuorums,
}
