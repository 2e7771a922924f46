"""What faults and link changes work on where stations are processes.

The medium is told at once. Listeners and the ledger are told when the logs have been read up to that time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any, Protocol

from analysis.listener import Listener
from testbed.backends.repetition import Repetition
from testbed.backends.stations.merging import LogMerger
from testbed.durations import to_ticks
from testbed.event_queue import Scheduler
from testbed.network.faults import Faults
from testbed.network.interfaces import MovingUnits

ARRIVAL_CHECK_S = 0.1
"""How long to wait before checking again whether a unit in transit has arrived."""


class StationControl(Scheduler, Protocol):
    """What the orchestrator does for faults."""

    def is_alive(self, node: int) -> bool:
        """Whether a station has not been crashed by a fault."""

    def crash(self, node: int) -> None:
        """Kill a station."""

    def restart(self, node: int) -> None:
        """Start a station again."""

    def vanish(self, node: int) -> None:
        """Let a node leave its neighbourhood at once."""

    def tell_medium(self, order: dict[str, Any]) -> None:
        """Give the medium an order."""


class StationFaults:
    """The scenario's faults and link changes, carried out on processes and the medium."""

    def __init__(self, control: StationControl, repetition: Repetition, merger: LogMerger) -> None:
        self._control = control
        self._repetition = repetition
        self._merger = merger
        self.graph = repetition.graph
        self.listener = _FaultListener(merger)
        self.changes = repetition.link_changes(control, self)
        self._forbidding: list[Callable[[int, int], bool]] = []
        self._faults = Faults([section.fault() for section in repetition.scenario.faults], self)

    def begin(self) -> None:
        """Plan faults, link changes, and nodes that appear late or leave early."""
        self.changes.begin()
        self._faults.begin()
        geometry = self._repetition.geometry
        for seconds, node, is_present in geometry.absences() if geometry is not None else ():
            if geometry is not None and 0 < seconds < geometry.seconds:
                self.at(to_ticks(seconds / self._repetition.scenario.time_unit), self._set_present, node, is_present)

    def tell_forbidden(self) -> None:
        """Tell the medium which pairs faults forbid, if that has changed."""
        if self.changes.forbidden != self._forbidding:
            self._forbidding = list(self.changes.forbidden)
            stations = range(self._repetition.scenario.stations)
            pairs = [pair for pair in combinations(stations, 2) if not self.changes.may_form(*pair)]
            self._control.tell_medium({"do": "forbid", "pairs": pairs})

    # -- a target of faults ------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """The time in ticks."""
        return self._control.now

    def at(self, t: int, happen: Callable[..., None], *args: Any) -> None:
        """Call `happen(*args)` at time t."""
        self._control.at(t, happen, *args)

    def is_alive(self, node: int) -> bool:
        """Whether a node runs."""
        return self._control.is_alive(node)

    def holders(self) -> list[int]:
        """The nodes that hold units, as far as the logs have been read."""
        return [node for node in self._merger.ledger.holders() if self.is_alive(node)]

    def moving_units(self) -> list[MovingUnits]:
        """The units in transit; the logs will show soon whether they have arrived."""
        soon = self.now + to_ticks(ARRIVAL_CHECK_S / self._repetition.scenario.time_unit)
        return [moving._replace(arrives=soon) for moving in self._merger.ledger.moving_units()]

    def crash(self, node: int) -> None:
        """Kill a station; the crash is logged when it has exited and its log has been read."""
        self._control.crash(node)

    def restart(self, node: int) -> None:
        """Start a station again."""
        self._control.restart(node)

    def lose(self, node: int | None, message: str | None) -> None:
        """Not possible: scenarios with radio links cannot have this fault."""
        raise AssertionError("messages over radio links are sent again")

    def vanish(self, node: int) -> None:
        """A node leaves its neighbourhood at once, without notice."""
        self._control.vanish(node)

    def update_partitions(self) -> None:
        """Nodes have crashed, restarted, appeared or left: find the components that there are now."""
        self._merger.post(self.now, self._merger.ledger.partitions.update)

    def _set_present(self, node: int, is_present: bool) -> None:
        absent = self._merger.ledger.absent
        self._merger.post(self.now, partial(absent.discard if is_present else absent.add, node))
        self.update_partitions()

    # -- the links that are changed ----------------------------------------------------------------------------------

    def up(self, a: int, b: int) -> None:
        """Two nodes are in reach of each other."""
        self._change(self._merger.ledger.links.up, a, b)

    def down(self, a: int, b: int) -> None:
        """Two nodes are out of reach of each other."""
        self._change(self._merger.ledger.links.down, a, b)

    def _change(self, change: Callable[[int, int], None], a: int, b: int) -> None:
        self._merger.post(self.now, partial(change, a, b))
        if self._repetition.geometry is None:  # otherwise the medium knows where the nodes are
            self._control.tell_medium({"do": "allow", "pairs": [list(link) for link in self.graph.links()]})


class _FaultListener(Listener):
    """Puts faults on the timeline."""

    def __init__(self, merger: LogMerger) -> None:
        self._merger = merger

    def fault(self, t: int, node: int | None, fault: str, detail: Any) -> None:
        self._merger.post_fault(t, node, fault, detail)
