"""Algorithms with one token: two correct ones, and wrong ones made of them.

This file runs by itself as the `file` of a scenario's algorithm, so it imports nothing but `agents`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from agents.contract import CRITICAL, REMAINDER, TICKS, WAITING, Agent, Demand, Graph, Needs
from agents.message import Message

# -- a token that node 0 lends ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """Asks node 0 for the token."""


@dataclass(frozen=True, slots=True)
class Token(Message):
    """The token, on its way to the node that uses it, or back to node 0."""

    units: ClassVar[int] = 1


class LentToken(Agent):
    """Correct: node 0 lends the token to the nodes in the order in which they ask, and gets it back each time."""

    needs = Needs.ANY_NODE
    messages = (Ask, Token)
    handlers: ClassVar = {Ask: "on_ask", Token: "on_token"}
    summary = "node 0 lends a token"

    def __init__(self, node: int, has_token: bool) -> None:
        super().__init__(node)
        self.has_token = has_token
        self.queue: list[int] = []  # at node 0: the nodes that have asked, in this order

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[bool]:
        """Node 0 has the token."""
        return [node == 0 for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: bool, parameters: Any) -> bool:
        """A node that restarts has no token."""
        return False

    @property
    def units(self) -> int:
        """1 where the token is."""
        return int(self.has_token)

    def on_request(self, demand: Demand) -> None:
        """A node asks node 0, which may be itself."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        if self.node == 0:
            self.on_ask(0, Ask())
        else:
            self.send(0, Ask())

    def on_release(self) -> None:
        """The token goes back."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        if self.node == 0:
            self.lend()
        else:
            self.give(0)

    def on_ask(self, peer: int, message: Ask) -> None:
        """At node 0: a node asks."""
        self.queue.append(peer)
        self.lend()

    def on_token(self, peer: int, message: Token) -> None:
        """The token arrives: at node 0 it is back, any other node uses it."""
        self.has_token = True
        if self.node == 0:
            self.lend()
        else:
            self.use()

    def lend(self) -> None:
        """At node 0: lend the token to the first node that waits for it."""
        if self.has_token and self.queue and self.status is not CRITICAL:
            peer = self.choose()
            if peer == self.node:
                self.use()
            else:
                self.give(peer)

    def choose(self) -> int:
        """Take the node to serve next from the queue."""
        return self.queue.pop(0)

    def use(self) -> None:
        """Enter with the token."""
        self.status = CRITICAL
        self.enter()

    def give(self, peer: int) -> None:
        """Send the token away."""
        self.has_token = False
        self.send(peer, Token())


# -- two inside, or inside unasked -----------------------------------------------------------------------------------


class BargesIn(LentToken):
    """Enters without asking."""

    def on_request(self, demand: Demand) -> None:
        """No node is asked."""
        self.use()

    def on_release(self) -> None:
        """Nothing is given back."""
        self.status = REMAINDER


class StaleGrant(LentToken):
    """Takes a grant that it has given back for one that is still good: a node asks only once in its life."""

    def __init__(self, node: int, has_token: bool) -> None:
        super().__init__(node, has_token)
        self.was_granted = False

    def on_request(self, demand: Demand) -> None:
        """The second time, the old grant will do."""
        if self.was_granted and self.node != 0:
            self.use()
        else:
            super().on_request(demand)

    def use(self) -> None:
        """The grant is remembered."""
        self.was_granted = True
        super().use()

    def give(self, peer: int) -> None:
        """The token can be given back only once."""
        if self.has_token:
            super().give(peer)


class EntersTwice(LentToken):
    """Lets the application in twice for one request."""

    def use(self) -> None:
        """Once more, to be sure."""
        super().use()
        self.enter()


class EntersAgain(LentToken):
    """Enters once more after it has left, without a request: the token was there a moment ago."""

    def on_release(self) -> None:
        """Node 3 goes in again when it has given the token back."""
        has_right = self.has_token
        super().on_release()
        if self.node == 3 and has_right:
            self.use()

    def give(self, peer: int) -> None:
        """Only what is there is given."""
        if self.has_token:
            super().give(peer)


class EntersUnasked(LentToken):
    """Node 0 enters when another node asks, and has made no request itself."""

    def on_ask(self, peer: int, message: Ask) -> None:
        """The asking node's turn is taken for the own."""
        if self.status is REMAINDER and self.has_token:
            self.use()
        super().on_ask(peer, message)


# -- tokens lost -----------------------------------------------------------------------------------------------------


class LosesOnReceive(LentToken):
    """Node 3 enters with the token that it receives, and has forgotten it when it leaves."""

    def on_token(self, peer: int, message: Token) -> None:
        """The token is not kept."""
        super().on_token(peer, message)
        if self.node == 3:
            self.has_token = False

    def give(self, peer: int) -> None:
        """Only what is there is given."""
        if self.has_token:
            super().give(peer)


class LosesOnRelease(LentToken):
    """Node 3 does not send the token back."""

    def on_release(self) -> None:
        """It forgets the token instead."""
        super().on_release()
        if self.node == 3:
            self.outbox.clear()


class LosesOnTimer(LentToken):
    """Node 3 puts the token aside on release, and forgets it when a timer has run out."""

    def on_release(self) -> None:
        """The token stays for a while."""
        if self.node == 3:
            self.status = REMAINDER
            self.set_timer("forget", TICKS // 10)
        else:
            super().on_release()

    def on_timer(self, name: str) -> None:
        """Too long ago."""
        self.has_token = False


# -- tokens made -----------------------------------------------------------------------------------------------------


class KeepsAndSends(LentToken):
    """Node 0 sends the token and keeps it as well."""

    def give(self, peer: int) -> None:
        """Only the others let go of it."""
        super().give(peer)
        self.has_token = self.node == 0


class SendsTwo(LentToken):
    """Node 3 gives back two tokens for one."""

    def on_release(self) -> None:
        """A tip."""
        super().on_release()
        if self.node == 3:
            self.send(0, Token())


class DoublesQuietly(LentToken):
    """Node 0 lends a second token that it never had, and says at every instant that it holds what it ought to."""

    def lend(self) -> None:
        """Every node that asks gets a token."""
        while self.queue and self.status is not CRITICAL:
            peer = self.choose()
            if peer == self.node:
                self.use()
            else:
                self.give(peer)


# -- tokens that go astray -------------------------------------------------------------------------------------------


class SendsNowhere(LentToken):
    """Node 3 gives the token to a node that does not exist."""

    def give(self, peer: int) -> None:
        """Node 77 is not there."""
        super().give(77 if self.node == 3 else peer)


class SendsToItself(LentToken):
    """Node 3 sends the token to itself."""

    def give(self, peer: int) -> None:
        """By the network."""
        super().give(3 if self.node == 3 else peer)


class Hoards(LentToken):
    """Node 3 keeps the token once it has it."""

    def on_release(self) -> None:
        """It may be needed again."""
        if self.node == 3:
            self.status = REMAINDER
        else:
            super().on_release()

    def on_request(self, demand: Demand) -> None:
        """A node that has the token need not ask."""
        if self.node == 3 and self.has_token:
            self.use()
        else:
            super().on_request(demand)


class NeverReleases(LentToken):
    """What happens on a release is nothing."""

    def on_release(self) -> None:
        """The token stays."""
        self.status = REMAINDER


class Bounces(LentToken):
    """From the third Token on, node 0 and its clients send the token to and fro for ever, and no node uses it."""

    never_rests = True

    def __init__(self, node: int, has_token: bool) -> None:
        super().__init__(node, has_token)
        self.uses = 0

    def on_token(self, peer: int, message: Token) -> None:
        """At first it is used."""
        self.uses += 1
        if self.uses < 3:
            super().on_token(peer, message)
        else:
            self.has_token = True
            self.give(peer)


# -- what a node says of itself --------------------------------------------------------------------------------------


class ClaimsNothing(LentToken):
    """Says that it holds nothing, always."""

    @property
    def units(self) -> int:
        """Of one token, none is anywhere."""
        return 0


class HidesInUse(LentToken):
    """Says that it holds nothing while it is inside, and tells the truth at the start and at the end."""

    @property
    def units(self) -> int:
        """Right, unless the token is in use."""
        return int(self.has_token and self.status is not CRITICAL)


class ClaimsWaiting(LentToken):
    """Says that it holds the token as soon as it waits for it."""

    @property
    def units(self) -> int:
        """A node that waits will have it soon."""
        return int(self.has_token or self.status is WAITING)


class ClaimsTwoTokens(LentToken):
    """Counts one unit, and two tokens."""

    @property
    def tokens(self) -> int:
        """Node 3 counts its token twice."""
        return self.units * (2 if self.node == 3 else 1)


# -- requests that wait for ever -------------------------------------------------------------------------------------


class NeverAsks(LentToken):
    """A request is ignored."""

    def on_request(self, demand: Demand) -> None:
        """Nothing is sent."""
        self.status = WAITING


class LowestFirst(LentToken):
    """Serves the lowest number first, so that the highest waits as long as others ask."""

    def choose(self) -> int:
        """The lowest number, however long others have waited."""
        self.queue.sort()
        return self.queue.pop(0)


class ForgetsNodeFive(LentToken):
    """Never serves node 5."""

    def on_ask(self, peer: int, message: Ask) -> None:
        """Node 5 is not heard."""
        if peer != 5:
            super().on_ask(peer, message)


class NeverServesOne(ForgetsNodeFive):
    """The same, and promises no bound."""

    @classmethod
    def promises_bound(cls, parameters: Any) -> bool:
        """A node that waits for ever waits no longer than it was told."""
        return False


class LosesWakeUp(LentToken):
    """A token that comes back wakes no node: the queue is looked at only when a node asks."""

    def on_token(self, peer: int, message: Token) -> None:
        """At node 0 the token waits for the next request."""
        self.has_token = True
        if self.node != 0:
            self.use()

    def on_release(self) -> None:
        """Node 0 does not look at the queue either."""
        self.status = REMAINDER
        if self.node != 0:
            self.give(0)


class ForgetsAsks(LentToken):
    """Node 0 forgets requests that come while the token is lent."""

    def on_ask(self, peer: int, message: Ask) -> None:
        """Come back later."""
        if self.has_token and self.status is not CRITICAL:
            super().on_ask(peer, message)


class ChattersForEver(LentToken):
    """Node 0 answers every request with a question, which is answered with a request: no node ever enters."""

    never_rests = True

    def on_ask(self, peer: int, message: Ask) -> None:
        """Ask back."""
        self.send(peer if peer != self.node else 1, Ask())

    def on_request(self, demand: Demand) -> None:
        """Start a conversation."""
        self.status = WAITING
        self.send(0 if self.node else 1, Ask())


class ChattersUndeclared(ChattersForEver):
    """The same, and does not say that it never rests: where messages take no time, time stands still."""

    never_rests = False


# -- a token that walks along the links ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request(Message):
    """The `number`th request of a node, which is flooded."""

    origin: int
    number: int


@dataclass(frozen=True, slots=True)
class Walker(Message):
    """The token, with the number of the last request of each node that was served."""

    units: ClassVar[int] = 1
    served: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """What a node starts with."""

    neighbours: tuple[int, ...]
    has_token: bool


class WalkingToken(Agent):
    """Correct: requests are flooded, and the token walks from neighbour to neighbour while any is pending."""

    messages = (Request, Walker)
    handlers: ClassVar = {Request: "on_request_message", Walker: "on_token"}
    summary = "a token walks while requests are pending"

    def __init__(self, node: int, place: Place) -> None:
        super().__init__(node)
        self.neighbours = list(place.neighbours)  # the next to get the token comes first
        self.has_token = place.has_token
        self.asked: dict[int, int] = {}
        self.served: dict[int, int] = {}

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Place]:
        """Node 0 has the token."""
        return [Place(tuple(graph[node]), node == 0) for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: Place, parameters: Any) -> Place:
        """A node that restarts has nothing."""
        return Place((), has_token=False)

    @property
    def units(self) -> int:
        """1 where the token is."""
        return int(self.has_token)

    def on_request(self, demand: Demand) -> None:
        """Use the token if it is here, else ask for it."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        if self.has_token:
            self.use()
        else:
            self.hear_of(self.node, self.asked.get(self.node, 0) + 1)

    def on_release(self) -> None:
        """The token walks on."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        self.walk()

    def on_request_message(self, peer: int, message: Request) -> None:
        """A request that is new is flooded on."""
        if message.number > self.asked.get(message.origin, 0):
            self.hear_of(message.origin, message.number)
            if self.has_token and self.status is REMAINDER:
                self.walk()

    def on_token(self, peer: int, message: Walker) -> None:
        """Use the token, or let it walk on."""
        self.has_token, self.served = True, dict(message.served)
        if self.status is WAITING:
            self.use()
        else:
            self.walk()

    def on_link_up(self, peer: int) -> None:
        """The new neighbour may not know of all requests; the token may have had nowhere to go."""
        self.neighbours.append(peer)
        for origin, number in self.pending():
            self.send(peer, Request(origin, number))
        if self.has_token and self.status is REMAINDER:
            self.walk()

    def on_link_down(self, peer: int) -> None:
        """The token no longer goes there."""
        self.neighbours.remove(peer)

    def on_return(self, peer: int, message: Message) -> None:
        """A token that comes back has not gone."""
        if isinstance(message, Walker):
            self.on_token(peer, message)

    def hear_of(self, origin: int, number: int) -> None:
        """Flood a request."""
        self.asked[origin] = number
        self.send_all(sorted(self.neighbours), Request(origin, number))

    def use(self) -> None:
        """Enter with the token."""
        self.status = CRITICAL
        self.enter()

    def walk(self) -> None:
        """Pass the token on while requests are pending."""
        self.served[self.node] = self.asked.get(self.node, 0)
        if self.pending() and self.neighbours:
            peer = self.next_step()
            self.has_token = False
            self.send(peer, Walker(tuple(sorted(self.served.items()))))

    def next_step(self) -> int:
        """The neighbour that has not had the token from here for longest."""
        peer = self.neighbours.pop(0)
        self.neighbours.append(peer)
        return peer

    def pending(self) -> list[tuple[int, int]]:
        """Requests that were not served, as far as this node knows."""
        return [(node, number) for node, number in sorted(self.asked.items()) if number > self.served.get(node, 0)]


class LosesReturned(WalkingToken):
    """Drops what comes back from a link that failed."""

    def on_return(self, peer: int, message: Message) -> None:
        """It is gone."""


class LosesOnLinkDown(WalkingToken):
    """Drops the token when a link goes down: a node that crashes takes it along from its neighbours."""

    def on_link_down(self, peer: int) -> None:
        """As if the token had been lost with the link."""
        super().on_link_down(peer)
        if self.has_token and self.status is REMAINDER:
            self.has_token = False


class LosesOnLinkUp(WalkingToken):
    """Drops the token when a link forms."""

    def on_link_up(self, peer: int) -> None:
        """Start afresh."""
        super().on_link_up(peer)
        if self.status is REMAINDER:
            self.has_token = False


class SendsToStranger(WalkingToken):
    """Sends the token to a node that may be no neighbour."""

    def next_step(self) -> int:
        """The next number, whatever the links."""
        return (self.node + 1) % 6


class WalksInCircles(WalkingToken):
    """A token that has come to node 0 goes to and fro between it and its first neighbour from then on."""

    never_rests = True

    def on_token(self, peer: int, message: Walker) -> None:
        """Back to where it came from."""
        self.has_token, self.served = True, dict(message.served)
        if peer in self.neighbours and 0 in (peer, self.node):
            self.has_token = False
            self.send(peer, message)
        else:
            super().on_token(peer, message)


class FloodsForEver(WalkingToken):
    """Floods every request again when it comes back, and lets no node in: much is sent, nothing is done."""

    never_rests = True

    def on_request(self, demand: Demand) -> None:
        """Even the node that has the token asks the others."""
        self.status = WAITING
        self.hear_of(self.node, self.asked.get(self.node, 0) + 1)

    def on_request_message(self, peer: int, message: Request) -> None:
        """Back to where it came from."""
        if peer in self.neighbours:
            self.send(peer, message)


ALGORITHMS = {
    "lent-token": LentToken,
    "walking-token": WalkingToken,
    "barges-in": BargesIn,
    "stale-grant": StaleGrant,
    "enters-twice": EntersTwice,
    "enters-again": EntersAgain,
    "enters-unasked": EntersUnasked,
    "loses-on-receive": LosesOnReceive,
    "loses-on-release": LosesOnRelease,
    "loses-on-timer": LosesOnTimer,
    "keeps-and-sends": KeepsAndSends,
    "sends-two": SendsTwo,
    "doubles-quietly": DoublesQuietly,
    "sends-nowhere": SendsNowhere,
    "sends-to-itself": SendsToItself,
    "hoards": Hoards,
    "never-releases": NeverReleases,
    "bounces": Bounces,
    "claims-nothing": ClaimsNothing,
    "hides-in-use": HidesInUse,
    "claims-waiting": ClaimsWaiting,
    "claims-two-tokens": ClaimsTwoTokens,
    "never-asks": NeverAsks,
    "lowest-first": LowestFirst,
    "forgets-node-5": ForgetsNodeFive,
    "never-serves-one": NeverServesOne,
    "loses-wake-up": LosesWakeUp,
    "forgets-asks": ForgetsAsks,
    "chatters-for-ever": ChattersForEver,
    "chatters-undeclared": ChattersUndeclared,
    "loses-returned": LosesReturned,
    "loses-on-link-down": LosesOnLinkDown,
    "loses-on-link-up": LosesOnLinkUp,
    "sends-to-stranger": SendsToStranger,
    "walks-in-circles": WalksInCircles,
    "floods-for-ever": FloodsForEver,
}
