"""An algorithm for tests of the engine: one token goes round all nodes with the free ones of k units.

The token sets out with the first request of node 0. A node keeps it for a quarter of a time unit. If the node waits and
the units with the token suffice, it takes them. Units that it has used go back to the token when that comes by. So
tokens and units are two things here, the token often carries no unit, and demands may be for several units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agents.contract import CRITICAL, REMAINDER, TICKS, WAITING, Agent, Demand, Graph, MultipleEntries, Needs
from agents.message import Message

KEPT = TICKS // 4


@dataclass(frozen=True, slots=True)
class Pass(Message):
    """The token, with the units that are free."""

    tokens: ClassVar[int] = 1
    free: int

    @property
    def units(self) -> int:  # type: ignore[override]
        """The free units."""
        return self.free


@dataclass(frozen=True)
class RingStart:
    """What a node starts with: the node after it in the ring, and the free units, if it has the token."""

    after: int
    free: int | None


class TokenRing(Agent):
    """One node of the ring."""

    needs = Needs.ANY_NODE
    never_rests = True
    messages = (Pass,)
    handlers: ClassVar = {Pass: "on_pass"}
    parameters = MultipleEntries

    def __init__(self, node: int, start: RingStart) -> None:
        super().__init__(node)
        self.after = start.after
        self.free = start.free  # with the token; None without it
        self.demanded = self.used = self.returned = 0

    @classmethod
    def largest_demand(cls, parameters: MultipleEntries) -> int:
        """All units."""
        return parameters.k

    @classmethod
    def initial(cls, graph: Graph, parameters: MultipleEntries) -> list[RingStart]:
        """Node 0 has the token and all units."""
        return [RingStart((node + 1) % len(graph), None if node else parameters.k) for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: RingStart, parameters: MultipleEntries) -> RingStart:
        """A restarted node has no token."""
        return RingStart(initial.after, None)

    def on_request(self, demand: Demand) -> None:
        """RequestCS: it waits for the token."""
        self.status, self.demanded = WAITING, demand.units
        if self.free is not None:
            self.set_timer("pass", KEPT)
        self.enter_if_possible()

    def on_release(self) -> None:
        """ReleaseCS: the units wait for the token, unless it is here."""
        self.status = REMAINDER
        self.returned, self.used = self.used, 0
        self.collect()

    def on_pass(self, peer: int, message: Pass) -> None:
        """The token arrives."""
        self.free = message.free
        self.set_timer("pass", KEPT)
        self.collect()
        self.enter_if_possible()

    def on_timer(self, name: str) -> None:
        """The token goes on."""
        assert self.free is not None
        self.send(self.after, Pass(self.free))
        self.free = None

    def collect(self) -> None:
        """Units that were used go back to the token."""
        if self.free is not None:
            self.free, self.returned = self.free + self.returned, 0

    def enter_if_possible(self) -> None:
        """It takes what it asked for, if that is free."""
        if self.status is WAITING and self.free is not None and self.free >= self.demanded:
            self.free, self.used = self.free - self.demanded, self.demanded
            self.status = CRITICAL
            self.enter()

    @property
    def units(self) -> int:
        return (self.free or 0) + self.used + self.returned

    @property
    def tokens(self) -> int:
        return int(self.free is not None)
