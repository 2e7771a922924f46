"""What faults and partitions need of a world, whether it is simulated or real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from analysis.listener import Listener
from testbed.network.components import Components
from testbed.network.graph import Graph, Link


class MovingUnits(NamedTuple):
    """A message with units that is on its way, and when to look whether it has arrived."""

    source: int
    target: int
    arrives: int


class Parts(Protocol):
    """The parts that the network has fallen into."""

    components: Components


class Links(Protocol):
    """Who is linked with whom, or in reach of whom."""

    def up(self, a: int, b: int) -> None:
        """Two nodes come together."""

    def down(self, a: int, b: int) -> None:
        """Two nodes part."""


class Changes(Protocol):
    """What changes the links besides faults."""

    forbidden: list[Callable[[int, int], bool]]

    def may_form(self, a: int, b: int) -> bool:
        """Whether no fault stands between two nodes."""

    def restorable(self, severed: list[Link], forbids: Callable[[int, int], bool]) -> list[Link]:
        """The links that come back when a fault no longer forbids them."""


class Parted(Protocol):
    """What partitions need: who can reach whom, and where the units are."""

    @property
    def listener(self) -> Listener:
        """Who is told what happens."""

    @property
    def links(self) -> Parts:
        """The links that there are, or could be found."""

    @property
    def now(self) -> int:
        """The time in ticks."""

    def is_there(self, node: int) -> bool:
        """Whether a node runs and has come, and not yet left."""

    def holders(self) -> list[int]:
        """The nodes that hold units, in ascending order."""

    def moving_units(self) -> list[MovingUnits]:
        """The units that are on their way."""

    def set_cut_off(self, nodes: frozenset[int]) -> None:
        """These nodes can reach no unit now."""


class Ground(Protocol):
    """What faults need: something to break, and to put together again."""

    graph: Graph

    @property
    def listener(self) -> Listener:
        """Who is told what happens."""

    @property
    def links(self) -> Links:
        """The links that there are, or could be found."""

    @property
    def changes(self) -> Changes:
        """What changes them."""

    @property
    def now(self) -> int:
        """The time in ticks."""

    def at(self, t: int, happen: Callable[..., None], *args: Any) -> None:
        """Call `happen(*args)` at time t."""

    def is_alive(self, node: int) -> bool:
        """Whether a node runs."""

    def holders(self) -> list[int]:
        """The nodes that hold units, in ascending order."""

    def moving_units(self) -> list[MovingUnits]:
        """The units that are on their way."""

    def crash(self, node: int) -> None:
        """Stop a node at once; it forgets everything."""

    def restart(self, node: int) -> None:
        """Bring a node back that has crashed, empty."""

    def lose(self, node: int | None, message: str | None) -> None:
        """Lose the next message of a node (or, for None, the next that carries units), of a type if one is named."""

    def look_at_parts(self) -> None:
        """Nodes have come or gone: see who can reach whom."""
