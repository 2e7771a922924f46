"""What faults and partitions need of a backend, whether its network is simulated or real."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from analysis.listener import Listener
from testbed.event_queue import Scheduler
from testbed.network.components import Components
from testbed.network.graph import Graph
from testbed.pairs import Link


class MovingUnits(NamedTuple):
    """A message with units that is in transit, and when to look whether it has arrived."""

    source: int
    target: int
    arrives: int
    sender: int
    """The node that sent it. Of a message that goes over several links, `source` and `target` are the ends of one."""
    receiver: int
    """The node that it is for."""
    units: int = 1
    tokens: int = 1


class Connectivity(Protocol):
    """Which nodes can reach which."""

    components: Components


class Links(Protocol):
    """The links between nodes, or which nodes are in reach of each other."""

    def up(self, a: int, b: int) -> None:
        """A link between two nodes forms."""

    def down(self, a: int, b: int) -> None:
        """The link between two nodes falls."""


class Changes(Protocol):
    """What changes the links besides faults."""

    forbidden: list[Callable[[int, int], bool]]
    links: Links
    """What the changes are carried out on."""

    def may_form(self, a: int, b: int) -> bool:
        """Whether no fault forbids a link between two nodes."""

    def restorable(self, severed: list[Link], forbids: Callable[[int, int], bool]) -> list[Link]:
        """The links that come back when a fault no longer forbids them."""


class PartitionSource(Protocol):
    """What partitions need: which nodes can reach which, and where the units are."""

    @property
    def listener(self) -> Listener:
        """Receives the events."""

    @property
    def links(self) -> Connectivity:
        """The links that there are, or that link layers could find."""

    @property
    def now(self) -> int:
        """The time in ticks."""

    def is_present(self, node: int) -> bool:
        """Whether a node runs, has appeared, and has not left."""

    def holders(self) -> list[int]:
        """The nodes that hold tokens, in ascending order."""

    def held_by(self, node: int) -> tuple[int, int]:
        """How many units and how many tokens a node holds; none if it does not run."""

    def moving_units(self) -> list[MovingUnits]:
        """The units in transit."""

    def set_cut_off(self, nodes: frozenset[int]) -> None:
        """These nodes can reach no unit now."""


class FaultTarget(Scheduler, Protocol):
    """What faults need: nodes and links to break and to mend, and a clock."""

    graph: Graph

    @property
    def listener(self) -> Listener:
        """Receives the events."""

    @property
    def changes(self) -> Changes:
        """What changes the links besides faults."""

    def is_alive(self, node: int) -> bool:
        """Whether a node runs."""

    def holders(self) -> list[int]:
        """The nodes that hold tokens, in ascending order."""

    def moving_units(self) -> list[MovingUnits]:
        """The units in transit."""

    def crash(self, node: int) -> None:
        """Stop a node at once; it loses its state."""

    def restart(self, node: int) -> None:
        """Start a crashed node again, with an empty state."""

    def lose(self, node: int | None, message: str | None) -> None:
        """Lose the next message of a node (or, for None, the next that carries a token), of a type if one is named."""

    def vanish(self, node: int) -> None:
        """A node leaves its neighbourhood at once, without notice."""

    def update_partitions(self) -> None:
        """Nodes have crashed or restarted: find out which nodes can reach which."""
