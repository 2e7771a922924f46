"""`sim`: the papers' abstract model in virtual time. No root, nothing to install, the same events for the same seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from agents.contract import Needs
from analysis.audit import Live
from analysis.events import TICKS, VERSION
from testbed.runtime.initial_state import Beginning
from testbed.network.changes import make_changes
from testbed.runtime.driver import Driver
from testbed.durations import to_ticks
from testbed.event_queue import EventQueue, Halt
from testbed.network.faults import Faults
from testbed.network.interfaces import MovingUnits
from testbed.scenario.links import RadioChoice
from testbed.backends.sim.ideal_links import IdealLinks
from testbed.network.partitions import Partitions
from testbed.backends.sim.radio_links import Medium, RadioLinks, SharedWire
from testbed.backends.sim.ideal_router import IdealRouter
from testbed.scenario.schema import Scenario
from testbed.runtime.stack import Costs
from testbed.randomness import Streams
from testbed.scenario.topology import GeometricTopology, RandomTopology
from testbed.runtime.application import Application

SUMMARY = "embedded simulator of the papers' model, virtual time"
REAL_TIME = False


def missing() -> str | None:
    """What this machine lacks: nothing."""
    return None


class Simulation(EventQueue):
    """One repetition: the world that the driver's agents live in."""

    def __init__(self, scenario: Scenario, streams: Streams, listener: Live) -> None:
        super().__init__()
        self.scenario = scenario
        self.listener = listener
        self._streams = streams
        self._is_radio = isinstance(scenario.links, RadioChoice)
        self._beginning = Beginning(scenario, streams)
        self.geometry, self.graph = self._beginning.geometry, self._beginning.graph
        self.driver = self._make_driver()
        self.transport: IdealRouter | IdealLinks | RadioLinks
        self.links: IdealLinks | RadioLinks
        if isinstance(scenario.links, RadioChoice):
            self.links = self.transport = self._make_radio_links(scenario.links)
        elif scenario.algorithm.agent.needs is Needs.ANY_NODE:
            lag, may_part = self._max_lag(), self._may_part()
            self.transport = IdealRouter(
                self, self.driver, self.graph, scenario.delays, streams, lag, may_part=may_part
            )
            self.links = self.transport.links
        else:
            channels, lag, may_part = self.driver.channels, self._max_lag(), self._may_part()
            self.transport = IdealLinks(
                self, self.driver, channels, self.graph, scenario.delays, streams, lag, may_part=may_part
            )
            self.links = self.transport
        self.move = self.transport.move
        self.changes = make_changes(self, self.links, self._beginning)
        self._follow_absences()
        self.partitions = Partitions(self)
        self._is_to_look = False
        self.links.on_parts = self.driver.on_units_lost = self.look_at_parts
        self.faults = Faults(scenario.faults, self)
        self.driver.on_stop.append(self.changes.stop)
        self.driver.on_stop.append(lambda: self.at(self.now + to_ticks(scenario.drain), self._give_up))

    def _make_driver(self) -> Driver:
        scenario, beginning = self.scenario, self._beginning
        agents = {node: beginning.agent(node) for node in range(scenario.nodes)}
        applications = {node: Application(node, scenario.workload, self._streams) for node in range(scenario.nodes)}
        return Driver(
            agents,
            applications,
            self,
            self.listener,
            entries=scenario.entries,
        )

    def _make_radio_links(self, choice: RadioChoice) -> RadioLinks:
        scenario, agent, streams = self.scenario, self.scenario.algorithm.agent, self._streams
        return RadioLinks(
            self,
            self.driver,
            self.graph,
            Medium(choice, scenario.delays.hop, streams, self.geometry),
            choice.settings(agent.assumes_connected),
            SharedWire(f"{scenario.name}/{streams.seed}/{streams.repetition}", agent.messages),
            streams,
            agent.needs,
            Costs.of(scenario.delays),
            seconds_per_tick=scenario.time_unit / TICKS,
        )

    def _max_lag(self) -> int | None:
        topology = self.scenario.topology
        return to_ticks(topology.max_lag) if isinstance(topology, GeometricTopology) else None

    def _may_part(self) -> bool:
        """The papers' link changes disconnect nobody, and a link that falls late leaves a connected plan behind."""
        return bool(self.scenario.faults) or not isinstance(self.scenario.topology, RandomTopology)

    def _follow_absences(self) -> None:
        """Nodes that come late or leave early neither ask nor count as parts while they are away."""
        for node, trajectory in enumerate(self.geometry.trajectories if self.geometry is not None else ()):
            if not trajectory.is_there(0.0):
                self.driver.absent.add(node)
            for seconds, happen in ((trajectory.appears, set.discard), (trajectory.leaves, set.add)):
                if 0 < seconds < math.inf:
                    ticks = round(seconds / self.scenario.time_unit * TICKS)
                    self.at(ticks, self._be_absent, happen, node)

    def _be_absent(self, happen: Callable[[set[int], int], None], node: int) -> None:
        happen(self.driver.absent, node)
        self.look_at_parts()

    # -- the ground that faults and partitions stand on --------------------------------------------------------------

    def is_alive(self, node: int) -> bool:
        """Whether a node runs."""
        return self.driver.is_alive(node)

    def is_there(self, node: int) -> bool:
        """Whether a node runs and has come, and not yet left."""
        return self.driver.is_alive(node) and node not in self.driver.absent

    def holders(self) -> list[int]:
        """The nodes that hold units, in ascending order."""
        return self.driver.holders()

    def moving_units(self) -> list[MovingUnits]:
        """The units that are on their way; where nobody knows when they arrive, look again in a moment."""
        soon, is_known = self.now + TICKS // 100, isinstance(self.transport, IdealLinks)
        return [
            MovingUnits(post[0].source, post[0].target, t if is_known else soon)
            for t, post in self.transport.in_transit()
            if post[1].units
        ]

    def set_cut_off(self, nodes: frozenset[int]) -> None:
        """These nodes can reach no unit now."""
        self.driver.set_cut_off(nodes)

    def crash(self, node: int) -> None:
        """Stop a node at once; it forgets everything."""
        self.driver.crash(node)
        for post in self.transport.tear(node):
            self.driver.lost(post, "crash")
        self.links.drop_node(node)

    def restart(self, node: int) -> None:
        """Bring a node back that has crashed, empty."""
        self.driver.restart(node, self._beginning.reborn(node))
        self.links.restart(node)

    def lose(self, node: int | None, message: str | None) -> None:
        """Lose the next message of a node (or, for None, the next that carries units), of a type if one is named."""
        self.driver.doom(node, message)

    def look_at_parts(self) -> None:
        """Nodes or links have come or gone: see who can reach whom, and a unit.

        Not before all that happens now has happened: in between, a message may be neither on its way nor there.
        """
        if not self._is_to_look:
            self._is_to_look = True
            self.at(self.now, self._look_at_parts)

    def _look_at_parts(self) -> None:
        self._is_to_look = False
        self.partitions.update()

    # -- the run -----------------------------------------------------------------------------------------------------

    def _stop_for_good(self) -> None:
        """The duration is over: no more requests, and neither faults nor link changes come later.

        Over radio links a token that was sent into another part may yet come back.
        """
        self.driver.stop(for_good=not self._is_radio)

    def halt(self) -> None:
        """End the run after what happens now."""
        self.at(self.now, self._halt_if_over)

    def _halt_if_over(self) -> None:
        if self.driver.is_over():
            served = "every request served" if not self.driver.waiting() else "nobody is left who could be served"
            self._halt(served)

    def _expect_entry(self, entries: int) -> None:
        """A run that is to last for so many entries would never end if there were no more of them."""
        if self.driver.entries == entries and self.driver.waiting():
            self._halt("no entry for as long as drain allows")
        if not self.driver.agents and all(to_ticks(fault.at) < self.now for fault in self.scenario.faults):
            self._halt("nobody is left who could enter")
        wait = max(to_ticks(self.scenario.drain), TICKS // 1000)  # without any drain, time must pass all the same
        self.at(self.now + wait, self._expect_entry, self.driver.entries)

    def _give_up(self) -> None:
        self._halt("drain expired")

    def _halt(self, why: str) -> None:
        raise Halt(why)

    def run_all(self, report: Callable[[float], None]) -> None:
        """The whole repetition."""
        scenario, agents = self.scenario, self.driver.agents
        choice = scenario.algorithm
        self.listener.start(
            0, None, VERSION, scenario.trace, self._beginning.needs, choice.agent.capacity(choice.parameters),
            to_ticks(scenario.warmup), [agents[node].units for node in range(scenario.nodes)],
            [list(link) for link in self.graph.links()],
        )  # fmt: skip
        if scenario.warmup:
            self.at(to_ticks(scenario.warmup), self.driver.forget_counts)
            if isinstance(self.links, RadioLinks):
                self.at(to_ticks(scenario.warmup), self.links.forget_frames)
        self.partitions.update()
        if self._is_radio:  # the load starts when links have had time to form
            self.at(to_ticks(scenario.warmup), self.driver.begin)
        else:
            self.driver.begin()
        self.changes.begin()
        self.faults.begin()
        if scenario.duration is not None:
            self.at(to_ticks(scenario.duration), self._stop_for_good)
        else:
            self._expect_entry(-1)

        def breathe() -> None:
            self.listener.settle()
            report(self._progress())

        why = self.run(breathe)
        self._account(why)

    def _progress(self) -> float:
        if self.scenario.duration is not None:
            return min(1.0, self.now / TICKS / self.scenario.duration)
        return self.driver.entries / (self.scenario.entries or 1)

    def _account(self, why: str) -> None:
        """Say what is still open, and what every node holds."""
        if self.now < to_ticks(self.scenario.warmup):  # it never ended, so nothing counts
            self.driver.forget_counts()
            if isinstance(self.links, RadioLinks):
                self.links.forget_frames()
        for application in self.driver.waiting():
            component = self.links.components.of(application.node)
            units = sum(self.driver.agents[node].units for node in component if self.driver.is_alive(node))
            moving = (post for _, post in self.transport.in_transit() if post[1].units)
            units += sum(post[1].units for post in moving if {post[0].source, post[0].target} <= component)
            self.listener.pending(self.now, application.node, application.since, True, len(component), units)
        held = [
            self.driver.agents[node].units if self.driver.is_alive(node) else 0 for node in range(self.scenario.nodes)
        ]
        self.driver.tell_counts()
        if isinstance(self.links, RadioLinks):
            for kind in sorted(self.links.frames):
                self.listener.frames(self.now, None, kind, self.links.frames[kind], self.links.bytes[kind])
        self.listener.stop(self.now, None, why, held)


def run_repetition(
    scenario: Scenario, repetition: int, listener: Live, report: Callable[[float], None], folder: Path | None = None
) -> None:
    """Run one repetition of a scenario, telling the listener everything."""
    Simulation(scenario, Streams(scenario.seed, repetition), listener).run_all(report)
