"""The topologies a scenario can name: which links exist, and what changes them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field

from testbed.durations import MAX_UNITS
from testbed.section import KindAlone, Section

Node = Annotated[int, Field(ge=0)]
MAX_LINKS = 2_000_000
"""Of a network: a link takes about 900 bytes in every repetition that runs, in the network and in the agents."""


class RandomTopology(Section):
    """The papers' random connected graph, with Poisson link changes."""

    kind: Literal["random"]
    connectivity: Annotated[float, Field(gt=0, le=1)]
    """Share of all possible links that exist."""
    link_change_rate: Annotated[float, Field(ge=0, le=MAX_UNITS)] = 0.0
    """Link changes per time unit, of the whole network or of each pair of nodes: that depends on the reading."""
    reading: Literal["text", "per-pair", "thinning"] = "text"
    """How the papers' sentence on link changes is read; see `testbed.network.link_changes`."""
    max_lag: Annotated[float, Field(ge=0, le=MAX_UNITS)] | None = None
    """How long an ideal link is kept for messages in transit, in time units; None for as long as it takes."""

    def link_count(self, nodes: int) -> int:
        """How many links the graph has."""
        return round(self.connectivity * nodes * (nodes - 1) / 2)


class CompleteTopology(Section):
    """Every node is a neighbour of every other, always."""

    kind: Literal["complete"]

    def link_count(self, nodes: int) -> int:
        """How many links the graph has."""
        return nodes * (nodes - 1) // 2


class ExplicitTopology(Section):
    """The links by name."""

    kind: Literal["explicit"]
    links: list[Annotated[list[Node], Field(min_length=2, max_length=2)]]

    def link_count(self, nodes: int) -> int:
        """How many links the graph has."""
        return len(self.links)


class GeometricTopology(Section):
    """Nodes within range of each other are linked: nodes have places, and may move."""

    kind: Literal["geometric"]
    hysteresis: Annotated[float, Field(ge=0, le=10)] = 0.0
    """A link falls at the range times one plus this, and forms at the range."""
    max_lag: Annotated[float, Field(ge=0, le=MAX_UNITS)] = 1.0
    """How long an ideal link is kept for messages in transit, in time units, before they are given back."""


Topology = Annotated[
    Annotated[RandomTopology | CompleteTopology | ExplicitTopology | GeometricTopology, Discriminator("kind")],
    KindAlone,
]
