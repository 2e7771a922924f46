"""Algorithms that break the contract: a correct one, and copies of it in which one node does one forbidden thing.

This file runs by itself as the `file` of a scenario's algorithm, so it imports nothing but `agents`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from random import Random
from typing import Any, ClassVar

from agents.contract import CRITICAL, REMAINDER, TICKS, WAITING, Agent, Demand, Graph, Needs, Shares
from agents.message import Message
from agents.outputs import SEND

BREAKER = 2
"""The node that does what is forbidden, where one node is enough."""


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """Asks node 0 for the token, for the `number`th time."""

    number: int


@dataclass(frozen=True, slots=True)
class Token(Message):
    """The token, on its way to the node that uses it, or back to node 0."""

    units: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Odd(Message):
    """Carries what its field says."""

    amount: int

    @property
    def units(self) -> Any:  # type: ignore[override]
        """Whatever it is."""
        return self.amount


@dataclass(frozen=True, slots=True)
class Wordy(Message):
    """Carries no number of units."""

    @property
    def units(self) -> Any:  # type: ignore[override]
        """In words."""
        return "one"


@dataclass(frozen=True, slots=True)
class Secret(Message):
    """Is declared nowhere."""


class Lender(Agent):
    """Correct: node 0 lends the token in the order in which the nodes ask."""

    needs = Needs.ANY_NODE
    messages = (Ask, Token, Odd, Wordy)
    handlers: ClassVar = {Ask: "on_ask", Token: "on_token", Odd: "on_odd", Wordy: "on_odd"}
    summary = "node 0 lends a token"

    def __init__(self, node: int, has_token: bool) -> None:
        super().__init__(node)
        self.has_token = has_token
        self.asked = 0
        self.queue: list[int] = []

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Any]:
        """Node 0 has the token."""
        return [node == 0 for node in range(len(graph))]

    @property
    def units(self) -> Any:
        """1 where the token is."""
        return int(self.has_token)

    def on_request(self, demand: Demand) -> None:
        """A node asks node 0, which may be itself."""
        self.status = WAITING
        self.asked += 1
        if self.node == 0:
            self.on_ask(0, Ask(self.asked))
        else:
            self.send(0, Ask(self.asked))

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

    def on_odd(self, peer: int, message: Message) -> None:
        """It is of no use."""

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


def breaking(forbidden: Callable[[Any], object]) -> type[Agent]:
    """The algorithm, with a node that does something forbidden after each of its requests."""

    class Breaking(Lender):
        """Does something forbidden."""

        def on_request(self, demand: Demand) -> None:
            super().on_request(demand)
            if self.node == BREAKER:
                forbidden(self)

    return Breaking


# -- what a node asks for --------------------------------------------------------------------------------------------


class Unknown(IntEnum):
    """An operation that there is not."""

    DANCE = 99


OUTPUTS: dict[str, Callable[[Any], object]] = {
    "timer-of-text": lambda agent: agent.set_timer("t", "soon"),
    "timer-of-a-fraction": lambda agent: agent.set_timer("t", 0.5),
    "timer-into-the-past": lambda agent: agent.set_timer("t", -1),
    "timer-of-true": lambda agent: agent.set_timer("t", True),
    "timer-beyond-time": lambda agent: agent.set_timer("t", 10**40),
    "timer-without-name": lambda agent: agent.set_timer(7, TICKS),
    "timer-named-by-a-list": lambda agent: agent.set_timer(["t"], TICKS),
    "cancels-a-number": lambda agent: agent.cancel_timer(7),
    "sends-to-text": lambda agent: agent.send("0", Ask(1)),
    "sends-to-minus-one": lambda agent: agent.send(-1, Ask(1)),
    "sends-to-a-fraction": lambda agent: agent.send(1.0, Ask(1)),
    "sends-to-true": lambda agent: agent.send(True, Ask(1)),
    "sends-to-none": lambda agent: agent.send(None, Ask(1)),
    "sends-to-number-77": lambda agent: agent.send(77, Ask(1)),
    "sends-to-its-own-number": lambda agent: agent.send(BREAKER, Ask(1)),
    "sends-to-a-number-of-all": lambda agent: agent.outbox.append((SEND, 0, Ask(1))),
    "sends-undeclared": lambda agent: agent.send(0, Secret()),
    "sends-no-message": lambda agent: agent.send(0, "please"),
    "sends-none": lambda agent: agent.send(0, None),
    "sends-a-class": lambda agent: agent.send(0, Ask),
    "field-of-a-list": lambda agent: agent.send(0, Ask([1])),
    "field-of-text": lambda agent: agent.send(0, Ask("first")),
    "field-of-a-fraction": lambda agent: agent.send(0, Ask(1.5)),
    "field-of-nothing": lambda agent: agent.send(0, Ask(None)),
    "field-beyond-the-wire": lambda agent: agent.send(0, Ask(1 << 200)),
    "message-of-fewer-than-none": lambda agent: agent.send(0, Odd(-1)),
    "message-of-half-a-unit": lambda agent: agent.send(0, Odd(0.5)),
    "message-of-words": lambda agent: agent.send(0, Wordy()),
    "outbox-of-none": lambda agent: agent.outbox.append(None),
    "outbox-of-two": lambda agent: agent.outbox.append((SEND, (0,))),
    "outbox-of-an-unknown": lambda agent: agent.outbox.append((Unknown.DANCE, None, None)),
    "outbox-of-numbers": lambda agent: agent.outbox.append((0, (0,), Ask(1))),
    "outbox-is-none": lambda agent: setattr(agent, "outbox", None),
    "outbox-is-a-tuple": lambda agent: setattr(agent, "outbox", tuple(agent.outbox)),
    "enters-in-words": lambda agent: agent.outbox.append("enter"),
    "asks-to-leave": lambda agent: agent.outbox.append((type(SEND).READY_TO_LEAVE, 0, None)),
}


# -- what a node says of itself --------------------------------------------------------------------------------------

SAYINGS: dict[str, Callable[[Any], object]] = {
    "units-of-text": lambda agent: "one",
    "units-of-none": lambda agent: None,
    "units-below-none": lambda agent: -1,
    "units-and-a-half": lambda agent: 1.5,
    "units-raise": lambda agent: agent.purse["units"],
}


def saying(answer: Callable[[Any], object]) -> type[Agent]:
    """The algorithm, with a node that says something else of its units from its first request on."""

    class Saying(Lender):
        """Says something odd."""

        @property
        def units(self) -> Any:
            """Odd once it has asked."""
            return answer(self) if self.node == BREAKER and self.asked else int(self.has_token)

    return Saying


# -- exceptions ------------------------------------------------------------------------------------------------------


def raises(handler: str) -> type[Agent]:
    """The algorithm, with a handler that raises an exception at one node."""

    def fail(self: Lender, *inputs: Any) -> None:
        if self.node == BREAKER:
            raise ZeroDivisionError("division by nothing")
        getattr(Lender, handler)(self, *inputs)

    return type("Raising", (Lender,), {handler: fail})


class RaisesOnTimer(Lender):
    """Raises an exception when a timer has run out."""

    def on_request(self, demand: Demand) -> None:
        """Set the timer."""
        super().on_request(demand)
        if self.node == BREAKER:
            self.set_timer("bomb", TICKS // 100)

    def on_timer(self, name: str) -> None:
        """Too late."""
        raise ZeroDivisionError("division by nothing")


class RaisesOnLinkUp(Lender):
    """Raises an exception when a link forms; over links, because other algorithms hear of none."""

    needs = Needs.LINKS

    def on_link_up(self, peer: int) -> None:
        """No neighbour is expected."""
        raise ZeroDivisionError("division by nothing")


class RaisesInAwaits(Lender):
    """Raises an exception when it is asked whom it waits for: at the end, because node 0 serves no node."""

    shares = Shares.PERMISSIONS
    messages = (Ask,)
    handlers: ClassVar = {Ask: "on_odd"}

    @property
    def units(self) -> int:
        """Permissions are held by no node."""
        return 0

    def on_request(self, demand: Demand) -> None:
        """Ask once."""
        self.status = WAITING
        self.send(0 if self.node else 1, Ask(1))

    def awaits(self) -> frozenset[int]:
        """Who knows?"""
        raise ZeroDivisionError("division by nothing")


class AwaitsText(RaisesInAwaits):
    """Says that it waits for a node with a name."""

    def awaits(self) -> Any:
        """Not a number."""
        return {"godot"}


class AwaitsNowhere(RaisesInAwaits):
    """Says that it waits for a node that does not exist."""

    def awaits(self) -> frozenset[int]:
        """Node 77 is not there."""
        return frozenset({77})


class RaisesExit(Lender):
    """Ends the process, as far as it can."""

    def on_request(self, demand: Demand) -> None:
        """Leave."""
        if self.node == BREAKER:
            raise SystemExit(0)
        super().on_request(demand)


# -- starting --------------------------------------------------------------------------------------------------------


class RaisesInInitial(Lender):
    """Raises an exception before there is any node."""

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Any]:
        """Not today."""
        raise ZeroDivisionError("division by nothing")


class RaisesInStart(Lender):
    """Raises an exception when a node starts."""

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Any:
        """Not this node."""
        if node == BREAKER:
            raise ZeroDivisionError("division by nothing")
        return cls(node, initial)


class InitialTooFew(Lender):
    """Forgets the last node."""

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Any]:
        """One less."""
        return super().initial(graph, parameters)[:-1]


class InitialOfNothing(Lender):
    """Returns nothing."""

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> Any:
        """The list is made, and not returned."""
        super().initial(graph, parameters)


class StartsNothing(Lender):
    """Makes no agent."""

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Any:
        """The agent is made, and not returned."""
        cls(node, initial)


class StartsAnother(Lender):
    """Makes the agent of another node."""

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Any:
        """Off by one."""
        return cls(node + 1, initial)


class StartsText(Lender):
    """Makes a text."""

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Any:
        """Not an agent."""
        return f"node {node}"


class SkipsInit(Lender):
    """Does not call the constructor of its base: it has neither a number nor an outbox."""

    def __init__(self, node: int, has_token: bool) -> None:
        self.has_token = has_token
        self.queue = []


class WithoutUnits(Agent):
    """Shares tokens, and does not say how many a node holds."""

    needs = Needs.ANY_NODE
    messages = (Ask,)

    def __init__(self, node: int, peers: tuple[int, ...]) -> None:
        super().__init__(node)

    def on_request(self, demand: Demand) -> None:
        """Enter."""
        self.enter()

    def on_release(self) -> None:
        """Leave."""


class CapacityOfText(Lender):
    """Has `one` unit."""

    @classmethod
    def capacity(cls, parameters: Any) -> Any:
        """Not a number."""
        return "one"


def raises_as_class(question: str) -> type[Agent]:
    """The algorithm, with a class method that raises an exception: the testbed asks it before there are nodes."""

    def fail(cls: type[Agent], *facts: Any) -> None:
        raise ZeroDivisionError("division by nothing")

    return type("Raising", (Lender,), {question: classmethod(fail)})


QUESTIONS = ("capacity", "largest_demand", "promises_bound", "uses_priorities", "starts_permuted", "without_links")


class LargestDemandOfText(Lender):
    """Gives a node `all` units."""

    @classmethod
    def largest_demand(cls, parameters: Any) -> Any:
        """Not a number."""
        return "all"


class CapacityOfNone(Lender):
    """Has no unit at all."""

    @classmethod
    def capacity(cls, parameters: Any) -> int:
        """None."""
        return 0


# -- endless ---------------------------------------------------------------------------------------------------------


class LoopsInHandler(Lender):
    """Never comes back from a handler."""

    def on_request(self, demand: Demand) -> None:
        """Round and round."""
        super().on_request(demand)
        while self.node == BREAKER:
            pass


class LoopsAndCatches(Lender):
    """Never comes back from a handler, and catches every exception that would make it."""

    def on_request(self, demand: Demand) -> None:
        """Nothing stops it."""
        super().on_request(demand)
        while self.node == BREAKER:
            with suppress(Exception):
                sum(range(1000))


class LoopsAndCatchesAll(Lender):
    """The same with everything that can be raised."""

    def on_request(self, demand: Demand) -> None:
        """Nothing at all stops it."""
        super().on_request(demand)
        while self.node == BREAKER:
            with suppress(BaseException):
                sum(range(1000))


class LoopsInStart(Lender):
    """Never starts."""

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Any:
        """Round and round."""
        while node == BREAKER:
            pass
        return cls(node, initial)


class FillsOutbox(Lender):
    """Sends ever more in one handler."""

    def on_request(self, demand: Demand) -> None:
        """Ask, ask, ask."""
        super().on_request(demand)
        while self.node == BREAKER:
            self.asked += 1
            self.send(0, Ask(self.asked))
            if len(self.outbox) > 1000:
                self.outbox.clear()


# -- what an agent keeps ---------------------------------------------------------------------------------------------


class KeepsThread(Lender):
    """Keeps a lock, which cannot be copied, and enters twice by a mistake of its own."""

    def __init__(self, node: int, has_token: bool) -> None:
        super().__init__(node, has_token)
        self.lock = threading.Lock()

    def use(self) -> None:
        """Once too often."""
        super().use()
        if self.node == BREAKER:
            self.enter()


class KeepsGenerator(KeepsThread):
    """The same with a generator."""

    def __init__(self, node: int, has_token: bool) -> None:
        super().__init__(node, has_token)
        self.lock = (number for number in range(3))  # type: ignore[assignment]


ALGORITHMS: dict[str, type[Agent]] = {
    "lender": Lender,
    **{name: breaking(forbidden) for name, forbidden in OUTPUTS.items()},
    **{name: saying(answer) for name, answer in SAYINGS.items()},
    "raises-on-request": raises("on_request"),
    "raises-on-release": raises("on_release"),
    "raises-on-receive": raises("on_token"),
    "raises-on-timer": RaisesOnTimer,
    "raises-on-link-up": RaisesOnLinkUp,
    "raises-in-awaits": RaisesInAwaits,
    "awaits-text": AwaitsText,
    "awaits-nowhere": AwaitsNowhere,
    "raises-exit": RaisesExit,
    "raises-in-initial": RaisesInInitial,
    "raises-in-start": RaisesInStart,
    "initial-too-few": InitialTooFew,
    "initial-of-nothing": InitialOfNothing,
    "starts-nothing": StartsNothing,
    "starts-another": StartsAnother,
    "starts-text": StartsText,
    "skips-init": SkipsInit,
    "without-units": WithoutUnits,
    **{f"raises-in-{question.replace('_', '-')}": raises_as_class(question) for question in QUESTIONS},
    "largest-demand-of-text": LargestDemandOfText,
    "capacity-of-text": CapacityOfText,
    "capacity-of-none": CapacityOfNone,
    "loops-in-handler": LoopsInHandler,
    "loops-and-catches": LoopsAndCatches,
    "loops-and-catches-all": LoopsAndCatchesAll,
    "loops-in-start": LoopsInStart,
    "fills-outbox": FillsOutbox,
    "keeps-a-lock": KeepsThread,
    "keeps-a-generator": KeepsGenerator,
}
