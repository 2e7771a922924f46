"""One repetition in virtual time, with ns-3 between the nodes and as the clock.

Everything above datagrams is that of `sim` with radio links. Two queues hold what is to happen: ours, in ticks, and
that of ns-3, in nanoseconds. ns-3 runs up to the time of our next event, rounded up to its nanoseconds, or until a
station hears something; so neither queue is ever ahead of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from heapq import heappop
from itertools import combinations

from agents.contract import TICKS
from analysis.batched import BatchedListener
from testbed.backends.ns3 import library, network
from testbed.backends.ns3.air import Ns3Air
from testbed.backends.sim.radio_groups import GroupRadioLinks
from testbed.backends.sim.radio_links import RadioLinks
from testbed.backends.sim.simulation import Simulation
from testbed.event_queue import EVENTS_BETWEEN_REPORTS, FIRST_REPORT, Halt
from testbed.link.actions import Transmit
from testbed.link.endtoend import Direct, EndToEnd
from testbed.network.faults import Cut, Faults
from testbed.network.graph import Graph
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario

_NS_PER_SECOND = 10**9
_HORIZON_NS = 2**62
"""ns-3 counts no further than twice that, 292 years. Our events beyond it are those that end a run which has no end."""


class OnAir(RadioLinks):
    """Link layers whose datagrams ns-3 carries."""

    _queue: Ns3Simulation

    def _transmit(self, node: int, transmit: Transmit) -> None:
        to, data, kind = transmit
        self.frames[kind] += 1
        self.bytes[kind] += len(data)
        self._queue.air.send(node, to, data)

    def hear(self, node: int, data: bytes) -> None:
        """A node's radio has received a datagram: it may be from a process that has crashed since."""
        sender, incarnation, _, _ = self._wire.read(data)
        self._arrive(sender, node, (incarnation, self._incarnations[node]), data)

    def _router(self, node: int) -> EndToEnd:
        """A router of our own, or ns-3's."""
        if self._queue.scenario.routing == "builtin":
            return super()._router(node)
        incarnation = self._incarnations[node]
        return Direct(node, incarnation, self._wire, self._settings, self._rng(node), self._queue.now)

    def forget_frames(self) -> None:
        """The warmup is over: what was sent before does not count, neither here nor in ns-3."""
        super().forget_frames()
        self._queue.air.forget_routing()

    def add_routing_frames(self) -> None:
        """Add what routing by ns-3 has sent to the counts."""
        for kind, (frames, size) in self._queue.air.routing_counts().items():
            self.frames[kind] += frames
            self.bytes[kind] += size

    def up(self, a: int, b: int) -> None:
        """Two nodes are in reach of each other."""
        super().up(a, b)
        self._queue.link_changed(a, b, is_up=True)

    def down(self, a: int, b: int) -> None:
        """Two nodes are out of reach of each other."""
        super().down(a, b)
        self._queue.link_changed(a, b, is_up=False)


class GroupsOnAir(OnAir, GroupRadioLinks):
    """The same for neighbourhoods, whose places have stations too."""


class ChannelFaults(Faults):
    """Faults that act in the channel: where no link may form, no signal passes."""

    _target: Ns3Simulation

    def _sever(self, cut: Cut) -> Cut:
        severed = super()._sever(cut)
        self._target.separate(cut.forbids)
        return severed

    def _mend(self, cut: Cut) -> None:
        super()._mend(cut)
        self._target.separate(cut.forbids)


class Ns3Simulation(Simulation):
    """One repetition: the driver's host, as in `sim`."""

    radio_links = OnAir
    group_radio_links = GroupsOnAir
    fault_kind = ChannelFaults
    air: Ns3Air
    links: OnAir

    def __init__(
        self, scenario: Scenario, streams: Streams, listener: BatchedListener, attached: network.Network | None = None
    ) -> None:
        """On a network of its own, or on one that a script of the user has built."""
        self._attached = attached
        seconds_per_tick = Fraction(repr(scenario.time_unit)) / TICKS  # the decimal number that the user wrote
        self._ns_per_tick = (seconds_per_tick * _NS_PER_SECOND).as_integer_ratio()
        super().__init__(scenario, streams, listener)
        for node in self.driver.absent:
            self.air.set_radio(node, is_on=False)

    def _make_radio_links(self, usable: Graph) -> RadioLinks:
        if self._attached is None:
            ns = library.reset(self._streams.seed, self._streams.repetition)
            self.air = Ns3Air(ns, network.build(ns, self._repetition), self._repetition)
        else:
            self.air = Ns3Air(library.load(), self._attached, self._repetition, is_attached=True)
        if self.geometry is None:
            for a, b in usable.links():
                self.air.set_passable(a, b, True)
        return super()._make_radio_links(usable)

    # -- what happens to nodes and links -----------------------------------------------------------------------------

    def link_changed(self, a: int, b: int, *, is_up: bool) -> None:
        """A link has come or gone; where nodes have places, ns-3 knows by itself who is in range."""
        if self.geometry is None:
            self.air.set_passable(a, b, is_up)

    def separate(self, concerns: Callable[[int, int], bool]) -> None:
        """Where nodes have places, let signals pass between the pairs that are concerned unless a fault forbids it."""
        if self.geometry is not None:
            for a, b in combinations(range(self.scenario.stations), 2):
                if concerns(a, b):
                    self.air.set_passable(a, b, self.changes.may_form(a, b))

    def crash(self, node: int) -> None:
        """Stop a node and its radio at once; what waits in the radio's queue is gone."""
        super().crash(node)
        self._set_radio(node)

    def restart(self, node: int) -> None:
        """Start a crashed node again, and its radio before it."""
        self.air.set_radio(node, is_on=node not in self.driver.absent)
        super().restart(node)

    def _set_present(self, node: int, is_present: bool) -> None:
        super()._set_present(node, is_present)
        self._set_radio(node)

    def _set_radio(self, node: int) -> None:
        self.air.set_radio(node, is_on=self.is_present(node))

    def _log_end(self, why: str) -> None:
        self.links.add_routing_frames()
        super()._log_end(why)

    # -- time --------------------------------------------------------------------------------------------------------

    def run(self, report: Callable[[], None]) -> str:
        """Carry out our events and those of ns-3 until one raises `Halt`; returns why it ended."""
        heap, run_until, hear = self.heap, self.air.run_until, self.links.hear
        num, den = self._ns_per_tick
        try:
            events = FIRST_REPORT
            while heap:
                for _ in range(events):
                    if not heap:
                        break
                    t = heap[0][0]
                    station = run_until(min(_HORIZON_NS, -(-t * num // den)))
                    if station < 0:
                        self.now, _ticket, happen, args = heappop(heap)
                        happen(*args)
                    else:
                        self.now = max(self.now, min(t, self.air.now_ns() * den // num))
                        hear(station, self.air.datagram())
                report()
                events = min(EVENTS_BETWEEN_REPORTS, events + events // 2)
        except Halt as halt:
            return str(halt)
        return "nothing left to happen"
