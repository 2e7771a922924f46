"""Algorithms that are wrong once a node has crashed or come back: one correct one, and wrong ones made of it.

This file runs by itself as the `file` of a scenario's algorithm, so it imports nothing but `agents`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from agents.contract import CRITICAL, REMAINDER, WAITING, Agent, Demand, Graph, Needs, Shares
from agents.message import Message

# -- permissions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """Asks node 0 for its permission; the number tells requests of one node apart, also those of earlier lives."""

    number: int


@dataclass(frozen=True, slots=True)
class Grant(Message):
    """Gives it for that request."""

    number: int


@dataclass(frozen=True, slots=True)
class Done(Message):
    """Gives it back."""

    number: int


@dataclass(frozen=True, slots=True)
class Life:
    """What a node starts with: whether it has been here before."""

    is_second: bool


class Survivor(Agent):
    """Correct: node 0 permits one node at a time; a client may crash and come back once, node 0 may not."""

    needs = Needs.ANY_NODE
    shares = Shares.PERMISSIONS
    messages = (Ask, Grant, Done)
    handlers: ClassVar = {Ask: "on_ask", Grant: "on_grant", Done: "on_done"}
    summary = "node 0 permits one node at a time"

    def __init__(self, node: int, life: Life) -> None:
        super().__init__(node)
        self.life = life
        self.number = 1_000_000 if life.is_second else 0  # of its latest request
        self.awaited: set[int] = set()  # of a client: node 0 while it waits; of node 0: the node that is inside
        self.granted = 0  # at node 0: for which of its requests that node is inside
        self.queue: dict[int, int] = {}  # at node 0: the nodes that wait, in their order, and their requests

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Life]:
        """The first life."""
        return [Life(is_second=False) for _ in graph]

    @classmethod
    def blank(cls, node: int, initial: Life, parameters: Any) -> Life:
        """Another one."""
        return Life(is_second=True)

    def on_request(self, demand: Demand) -> None:
        """A node asks node 0, which may be itself."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        self.number += 1
        if self.node == 0:
            self.on_ask(0, Ask(self.number))
        else:
            self.awaited = {0}
            self.send(0, Ask(self.number))

    def on_release(self) -> None:
        """The permission goes back."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        if self.node == 0:
            self.permit()
        else:
            self.send(0, Done(self.number))

    def on_ask(self, peer: int, message: Ask) -> None:
        """At node 0: a node asks; if it had the permission or waited, it has forgotten that in a crash."""
        self.awaited.discard(peer)
        self.queue[peer] = message.number
        self.permit()

    def on_grant(self, peer: int, message: Grant) -> None:
        """A client enters, unless the request is that of an earlier life: then node 0 will hear of the new one."""
        if message.number != self.number:
            self.send(0, Done(message.number))
        elif self.status is WAITING:
            self.awaited = set()
            self.use()

    def on_done(self, peer: int, message: Done) -> None:
        """At node 0: the permission is back."""
        if peer in self.awaited and message.number == self.granted:
            self.awaited.discard(peer)
            self.permit()

    def permit(self) -> None:
        """At node 0: permit the first node that waits, if no node is inside."""
        if self.queue and not self.awaited and self.status is not CRITICAL:
            peer = next(iter(self.queue))
            self.granted = self.queue.pop(peer)
            if peer == self.node:
                self.use()
            else:
                self.awaited = {peer}
                self.send(peer, Grant(self.granted))

    def use(self) -> None:
        """Enter."""
        self.status = CRITICAL
        self.enter()


class EntersAfterRestart(Survivor):
    """A node that comes back goes on where it was: inside, without asking."""

    def on_request(self, demand: Demand) -> None:
        """It had a permission once."""
        if self.life.is_second:
            self.use()
        else:
            super().on_request(demand)

    def on_release(self) -> None:
        """Nothing to give back."""
        if self.life.is_second:
            self.status = REMAINDER
        else:
            super().on_release()


class GivesBackAnothers(Survivor):
    """A node that comes back gives its permission back, and node 0 takes it for that of the node that is inside."""

    def on_request(self, demand: Demand) -> None:
        """To be on the safe side."""
        if self.life.is_second:
            self.send(0, Done(self.number))
        super().on_request(demand)

    def on_done(self, peer: int, message: Done) -> None:
        """Whose it is does not matter."""
        self.awaited = set()
        self.permit()


class IgnoresTheRestarted(Survivor):
    """Node 0 serves no node twice that asks twice without giving back: one that has crashed inside waits for ever."""

    def on_ask(self, peer: int, message: Ask) -> None:
        """It has had its turn."""
        if peer not in self.awaited and peer not in self.queue:
            self.queue[peer] = message.number
            self.permit()


class DeafAfterRestart(Survivor):
    """A node that comes back takes no grant: it waits for ever, and its permission is lost."""

    def on_grant(self, peer: int, message: Grant) -> None:
        """Not in this life."""
        if not self.life.is_second:
            super().on_grant(peer, message)


class RaisesAfterRestart(Survivor):
    """A node that comes back makes no sense of its own memory."""

    def on_request(self, demand: Demand) -> None:
        """A mistake that only a restart shows."""
        if self.life.is_second:
            self.queue.pop(self.node)
        super().on_request(demand)


# -- a token ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Token(Message):
    """The token, on its way to the node that uses it, or back to node 0."""

    units: ClassVar[int] = 1


class LentOnce(Agent):
    """Node 0 lends a token; what happens to it in a crash is what the classes below differ in."""

    needs = Needs.ANY_NODE
    messages = (Ask, Token)
    handlers: ClassVar = {Ask: "on_ask", Token: "on_token"}

    def __init__(self, node: int, has_token: bool) -> None:
        super().__init__(node)
        self.has_token = has_token
        self.queue: list[int] = []

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[bool]:
        """Node 0 has the token."""
        return [node == 0 for node in range(len(graph))]

    @property
    def units(self) -> int:
        """1 where the token is."""
        return int(self.has_token)

    def on_request(self, demand: Demand) -> None:
        """A node asks node 0, which may be itself."""
        self.status = WAITING
        if self.node == 0:
            self.on_ask(0, Ask(0))
        else:
            self.send(0, Ask(0))

    def on_release(self) -> None:
        """The token goes back."""
        self.status = REMAINDER
        if self.node == 0:
            self.lend()
        else:
            self.has_token = False
            self.send(0, Token())

    def on_ask(self, peer: int, message: Ask) -> None:
        """At node 0: a node asks."""
        self.queue.append(peer)
        self.lend()

    def on_token(self, peer: int, message: Token) -> None:
        """At node 0 the token is back, any other node uses it."""
        self.has_token = True
        if self.node == 0:
            self.lend()
        else:
            self.use()

    def lend(self) -> None:
        """At node 0: lend the token to the first node that waits for it."""
        if self.has_token and self.queue and self.status is not CRITICAL:
            peer = self.queue.pop(0)
            if peer == self.node:
                self.use()
            else:
                self.has_token = False
                self.send(peer, Token())

    def use(self) -> None:
        """Enter."""
        self.status = CRITICAL
        self.enter()


class TokenAgain(LentOnce):
    """Node 0 comes back with what it started with, the token, which is at another node."""


class TokenForEveryone(LentOnce):
    """Every node that comes back has a token."""

    @classmethod
    def blank(cls, node: int, initial: bool, parameters: Any) -> bool:
        """A gift."""
        return True


class LosesAfterCrash(LentOnce):
    """After a crash of node 5, which has nothing to do with it, node 3 forgets the token that it uses."""

    @classmethod
    def blank(cls, node: int, initial: bool, parameters: Any) -> bool:
        """A node that comes back has no token."""
        return False

    def __init__(self, node: int, has_token: bool) -> None:
        super().__init__(node, has_token)
        self.uses = 0

    def on_release(self) -> None:
        """From the second time on, the token is forgotten."""
        self.uses += 1
        super().on_release()
        if self.node == 3 and self.uses > 1:
            self.outbox.clear()


class BlankRaises(LentOnce):
    """What a node comes back with cannot be made."""

    @classmethod
    def blank(cls, node: int, initial: bool, parameters: Any) -> bool:
        """There is no such thing."""
        raise KeyError(node)


ALGORITHMS: dict[str, type[Agent]] = {
    "survivor": Survivor,
    "enters-after-restart": EntersAfterRestart,
    "gives-back-anothers": GivesBackAnothers,
    "ignores-the-restarted": IgnoresTheRestarted,
    "deaf-after-restart": DeafAfterRestart,
    "raises-after-restart": RaisesAfterRestart,
    "token-again": TokenAgain,
    "token-for-everyone": TokenForEveryone,
    "loses-after-crash": LosesAfterCrash,
    "blank-raises": BlankRaises,
}
