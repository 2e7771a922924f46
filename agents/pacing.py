"""Pacing: how often a node of a link-reversal algorithm may change its height because all its links lead one way.

The papers' nodes do so at once. In a component that has no token every node is a sink in turn and raises its height for
ever, as fast as messages travel: two nodes alone never fall silent. Where holders lower their heights (KRL), the same
happens in a component in which every node is a holder. With `raise_interval` a node that has raised its height, or
lowered it, rests for so long before it does the same again. A node that may not raise its height may be a sink, which
the papers' nodes never are between two events. It then asks no neighbour: its `next` is itself, and when its rest is
over, or a neighbour turns out to be lower after all, it asks anew. Without the parameter, as in the papers' model,
nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.contract import TICKS, Agent, Parameters

RAISE, LOWER = "raise", "lower"


@dataclass(frozen=True)
class PacedParameters(Parameters):
    """`raise_interval`: the least time between two raises of a node's height, in time units; 0 for none."""

    raise_interval: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if not 0 <= self.raise_interval <= 1e9:
            raise ValueError("raise_interval from 0 to 1e+09 time units")


UNPACED = PacedParameters()


class PacedAgent(Agent):
    """An agent that raises its height, and rests afterwards if it is told to."""

    def __init__(self, node: int, parameters: PacedParameters) -> None:
        super().__init__(node)
        self.rest_ticks = round(parameters.raise_interval * TICKS)
        self.resting: set[str] = set()  # of RAISE and LOWER, what it may not do yet

    def must_rest(self, change: str) -> bool:
        """Whether the last time is too recent to do it again; if not, this time begins a new rest."""
        if change in self.resting:
            return True
        if self.rest_ticks:
            self.resting.add(change)
            self.set_timer(change, self.rest_ticks)
        return False

    def on_timer(self, name: str) -> None:
        """A rest is over: catch up on what was put off, if it is still due."""
        self.resting.discard(name)
        if name == RAISE and not self.tokens and self.is_sink():
            self.raise_height()

    def is_sink(self) -> bool:
        """Whether every link is incoming."""
        raise NotImplementedError

    def raise_height(self) -> None:
        """Reverse links until one is outgoing."""
        raise NotImplementedError
