"""Algorithms with several units: two correct ones, and wrong ones made of them.

This file runs by itself as the `file` of a scenario's algorithm, so it imports nothing but `agents`.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

from agents.contract import CRITICAL, REMAINDER, TICKS, WAITING, Agent, Demand, Graph, MultipleEntries, Needs
from agents.message import Message

# -- units that node 0 lends -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """Asks node 0 for so many units."""

    wanted: int


@dataclass(frozen=True, slots=True)
class Loan(Message):
    """So many units, on their way to the node that uses them, or back."""

    amount: int

    @property
    def units(self) -> int:  # type: ignore[override]
        """All of them."""
        return self.amount


class LentUnits(Agent):
    """Correct: node 0 lends k units, to each node as many as it asks for, in the order in which the nodes ask."""

    needs = Needs.ANY_NODE
    messages = (Ask, Loan)
    handlers: ClassVar = {Ask: "on_ask", Loan: "on_loan"}
    parameters = MultipleEntries
    summary = "node 0 lends k units"

    def __init__(self, node: int, held: int) -> None:
        super().__init__(node)
        self.held = held
        self.wanted = 0
        self.in_use = 0
        self.queue: list[tuple[int, int]] = []  # at node 0: the nodes that have asked, and for how many

    @classmethod
    def initial(cls, graph: Graph, parameters: MultipleEntries) -> list[int]:
        """Node 0 has all units."""
        return [0 if node else parameters.k for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: int, parameters: MultipleEntries) -> int:
        """A node that restarts has none."""
        return 0

    @classmethod
    def largest_demand(cls, parameters: MultipleEntries) -> int:
        """All of them."""
        return parameters.k

    @property
    def units(self) -> int:
        """Those that are here, used or not."""
        return self.held

    def on_request(self, demand: Demand) -> None:
        """A node asks node 0, which may be itself."""
        self.require(REMAINDER, "request")
        self.status, self.wanted = WAITING, demand.units
        if self.node == 0:
            self.on_ask(0, Ask(demand.units))
        else:
            self.send(0, Ask(demand.units))

    def on_release(self) -> None:
        """The units go back."""
        self.require(CRITICAL, "release")
        self.status, self.in_use = REMAINDER, 0
        if self.node == 0:
            self.lend()
        else:
            self.give(0, self.held)

    def on_ask(self, peer: int, message: Ask) -> None:
        """At node 0: a node asks."""
        self.queue.append((peer, message.wanted))
        self.lend()

    def on_loan(self, peer: int, message: Loan) -> None:
        """Units arrive: at node 0 they are back, any other node uses them."""
        self.held += message.amount
        if self.node == 0:
            self.lend()
        else:
            self.use()

    def lend(self) -> None:
        """At node 0: serve those that wait, in their order, as long as there are units enough."""
        while self.queue and self.queue[0][1] <= self.held - self.in_use:
            self.serve(*self.queue.pop(0))

    def serve(self, peer: int, amount: int) -> None:
        """At node 0: a node gets what it asked for."""
        if peer == self.node:
            self.use()
        else:
            self.give(peer, amount)

    def use(self) -> None:
        """Enter."""
        self.status, self.in_use = CRITICAL, self.wanted
        self.enter()

    def give(self, peer: int, amount: int) -> None:
        """Send units away."""
        self.held -= amount
        self.send(peer, Loan(amount))


class OneTooMany(LentUnits):
    """Node 0 lends one unit more than it has, in one of its own, and counts it as a debt."""

    def lend(self) -> None:
        """There is one more than there is."""
        while self.queue and self.queue[0][1] <= self.held - self.in_use + 1:
            self.serve(*self.queue.pop(0))

    @property
    def units(self) -> int:
        """A debt is not mentioned."""
        return max(0, self.held)


class TakesMore(LentUnits):
    """Node 0 sends one unit whatever a node asks for, and the node enters with its whole demand."""

    def serve(self, peer: int, amount: int) -> None:
        """One is enough."""
        super().serve(peer, 1)

    def lend(self) -> None:
        """Every request is served while a unit is left."""
        while self.queue and self.held - self.in_use >= 1:
            self.serve(*self.queue.pop(0))


class KeepsOneBack(LentUnits):
    """Gives back one unit less than it got, and forgets that one."""

    def on_release(self) -> None:
        """Only the rest goes back."""
        if self.node != 0 and self.held > 1:
            self.held -= 1
        super().on_release()


class TipsOne(LentUnits):
    """Gives back one unit more than it got."""

    def on_release(self) -> None:
        """From nowhere."""
        if self.node != 0:
            self.held += 1
        super().on_release()


class SendsMoreThanHeld(LentUnits):
    """Node 3 sends more units back than it has, and then says that it holds fewer than none."""

    def give(self, peer: int, amount: int) -> None:
        """One on credit."""
        super().give(peer, amount + (self.node == 3))


class SmallFirst(LentUnits):
    """Serves the smallest demand first, so that a large one waits as long as others ask."""

    def lend(self) -> None:
        """The smallest that fits."""
        self.queue.sort(key=lambda one: one[1])
        super().lend()


class NeverServesLarge(LentUnits):
    """Never serves a demand for all units."""

    def on_ask(self, peer: int, message: Ask) -> None:
        """Too much to ask."""
        if message.wanted < 3:
            super().on_ask(peer, message)


@dataclass(frozen=True, slots=True)
class QuietLoan(Message):
    """Units in a message that says it carries none."""

    amount: int


class Smuggles(LentUnits):
    """Sends units in messages that say they carry none."""

    messages = (Ask, QuietLoan)
    handlers: ClassVar = {Ask: "on_ask", QuietLoan: "on_loan"}

    def give(self, peer: int, amount: int) -> None:
        """Not declared."""
        self.held -= amount
        self.send(peer, QuietLoan(amount))


# -- one token that goes round with the free units -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pass(Message):
    """The token, with the units that are free."""

    tokens: ClassVar[int] = 1
    free: int

    @property
    def units(self) -> int:  # type: ignore[override]
        """The free ones."""
        return self.free


@dataclass(frozen=True)
class Seat:
    """What a node starts with: the node after it, and the free units, if it has the token."""

    after: int
    free: int | None


class UnitRing(Agent):
    """Correct: one token goes round all nodes with the free units; who waits takes what it wants if that is there."""

    needs = Needs.ANY_NODE
    never_rests = True
    messages = (Pass,)
    handlers: ClassVar = {Pass: "on_pass"}
    parameters = MultipleEntries
    summary = "a token goes round with the free units"

    def __init__(self, node: int, seat: Seat) -> None:
        super().__init__(node)
        self.after, self.free = seat.after, seat.free
        self.wanted = self.kept = 0  # what it waits for; what it uses or has used

    @classmethod
    def initial(cls, graph: Graph, parameters: MultipleEntries) -> list[Seat]:
        """Node 0 has the token and all units."""
        return [Seat((node + 1) % len(graph), None if node else parameters.k) for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: Seat, parameters: MultipleEntries) -> Seat:
        """A node that restarts has none."""
        return Seat(initial.after, None)

    @classmethod
    def start(cls, node: int, initial: Seat, parameters: MultipleEntries, rng: Random) -> Self:
        """The token sets out at once."""
        agent = cls(node, initial)
        if agent.free is not None:
            agent.set_timer("pass", TICKS // 10)
        return agent

    @classmethod
    def largest_demand(cls, parameters: MultipleEntries) -> int:
        """All of them."""
        return parameters.k

    @property
    def units(self) -> int:
        """The free ones if the token is here, and its own."""
        return (self.free or 0) + self.kept

    @property
    def tokens(self) -> int:
        """1 where the token is."""
        return int(self.free is not None)

    def on_request(self, demand: Demand) -> None:
        """Wait for the token."""
        self.require(REMAINDER, "request")
        self.status, self.wanted = WAITING, demand.units
        self.look()

    def on_release(self) -> None:
        """The units wait for the token."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        self.look()

    def on_pass(self, peer: int, message: Pass) -> None:
        """The token arrives, and stays for a moment."""
        self.free = message.free
        self.look()
        self.set_timer("pass", TICKS // 10)

    def on_timer(self, name: str) -> None:
        """The token goes on."""
        assert self.free is not None
        self.send(self.after, Pass(self.free))
        self.free = None

    def look(self) -> None:
        """With the token here: give back what is not used, take what is wanted."""
        if self.free is None:
            return
        if self.status is not CRITICAL:
            self.free, self.kept = self.free + self.kept, 0
        if self.status is WAITING and self.free >= self.wanted:
            self.free, self.kept, self.status = self.free - self.wanted, self.wanted, CRITICAL
            self.enter()


class TwoTokensRightUnits(UnitRing):
    """Node 3 keeps a token without units when it passes the token on: the units are right, the tokens are not."""

    def on_timer(self, name: str) -> None:
        """An empty one stays."""
        super().on_timer(name)
        if self.node == 3:
            self.free = 0


class MoreUnitsOneToken(UnitRing):
    """Node 3 passes one free unit more on than there is: the tokens are right, the units are not."""

    def on_timer(self, name: str) -> None:
        """One more."""
        if self.node == 3 and self.free is not None:
            self.free += 1
        super().on_timer(name)


class FewerUnitsOneToken(UnitRing):
    """Node 3 takes a free unit out of the token and forgets it, as long as there is one."""

    def on_timer(self, name: str) -> None:
        """One less."""
        if self.node == 3 and self.free:
            self.free -= 1
        super().on_timer(name)


class CountsTwice(UnitRing):
    """Counts the units that it has taken from the token as still free, so that the token carries them on."""

    def look(self) -> None:
        """Taking does not make fewer."""
        free = self.free
        super().look()
        if self.status is CRITICAL and free is not None:
            self.free = free


ALGORITHMS: dict[str, type[Any]] = {
    "lent-units": LentUnits,
    "unit-ring": UnitRing,
    "one-too-many": OneTooMany,
    "takes-more": TakesMore,
    "keeps-one-back": KeepsOneBack,
    "tips-one": TipsOne,
    "sends-more-than-held": SendsMoreThanHeld,
    "small-first": SmallFirst,
    "never-serves-large": NeverServesLarge,
    "smuggles": Smuggles,
    "two-tokens-right-units": TwoTokensRightUnits,
    "more-units-one-token": MoreUnitsOneToken,
    "fewer-units-one-token": FewerUnitsOneToken,
    "counts-twice": CountsTwice,
}
