"""One repetition in virtual time: the host that the driver runs on, with all nodes in one process."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from agents.contract import TICKS, Needs, Shares
from agents.groups import GroupAgent
from agents.message import tokens_of
from analysis.batched import BatchedListener
from testbed.backends.repetition import Repetition
from testbed.backends.sim.ideal_groups import IdealGroups
from testbed.backends.sim.ideal_links import HopDelay, IdealLinks
from testbed.backends.sim.ideal_router import IdealRouter, RoutedMessage
from testbed.backends.sim.pace import Pace
from testbed.backends.sim.radio_groups import GroupRadioLinks, RadioGroups
from testbed.backends.sim.radio_links import RadioLinks, SharedWire
from testbed.durations import to_ticks
from testbed.event_queue import EventQueue, Halt
from testbed.network.faults import Faults
from testbed.network.graph import Graph
from testbed.network.interfaces import MovingUnits
from testbed.network.partitions import Partitions
from testbed.network.travel import Travel
from testbed.randomness import Streams
from testbed.runtime.breach import awaited, held
from testbed.runtime.channel import Post
from testbed.runtime.driver import Driver
from testbed.runtime.group_driver import GroupDriver
from testbed.runtime.shared_memory import SharedMemory
from testbed.scenario.links import RadioChoice
from testbed.scenario.schema import Scenario
from testbed.scenario.topology import GeometricTopology, RandomTopology

NODES_ASKED = 500
"""So many nodes are asked between two reports what they hold; in a larger network less often, for speed."""


class Simulation(EventQueue):
    """One repetition: the driver's host, and what faults and partitions work on."""

    radio_links: type[RadioLinks] = RadioLinks
    group_radio_links: type[GroupRadioLinks] = GroupRadioLinks
    fault_kind: type[Faults] = Faults
    """What it is made of, where another backend has something else instead."""

    def __init__(self, scenario: Scenario, streams: Streams, listener: BatchedListener) -> None:
        super().__init__()
        self.scenario = scenario
        self.listener = listener
        self._streams = streams
        self._is_radio = isinstance(scenario.links, RadioChoice)
        self._has_groups = scenario.algorithm.agent.needs is Needs.GROUPS
        self._memory = SharedMemory(scenario.algorithm.agent)
        self._repetition = Repetition(scenario, streams)
        self.geometry, self.graph = self._repetition.geometry, self._repetition.graph
        self.groups: IdealGroups | RadioGroups | None = None
        self.travel: Travel | None = None
        self.driver = self._make_driver()
        usable = self._repetition.usable_graph()
        self.transport: IdealRouter | IdealLinks | RadioLinks
        self.links: IdealLinks | RadioLinks
        if self._is_radio:
            self.links = self.transport = self._make_radio_links(usable)
        elif scenario.algorithm.agent.needs is not Needs.LINKS:
            self.transport = IdealRouter(
                self,
                self.driver,
                usable,
                self._hop(),
                scenario.delays.costs(),
                self._max_lag(),
                may_part=self._may_part(),
            )
            self.links = self.transport.links
        else:
            self.links = self.transport = IdealLinks(
                self,
                self.driver,
                self.driver.channels,
                usable,
                self._hop(),
                scenario.delays.costs(),
                self._max_lag(),
                may_part=self._may_part(),
            )
        self.move = self.transport.move
        if isinstance(self.driver, GroupDriver) and not self._is_radio:
            self._make_ideal_groups(self.driver)
        if isinstance(self.driver, GroupDriver) and self.travel is not None:
            self.driver.on_stop.append(self.travel.stop)
            self.driver.on_moved = self.update_partitions
        self.changes = self._repetition.link_changes(self, self.links)
        self._plan_absences()
        # In a neighbourhood a token that is lost may come back, so that no node counts as cut off from it.
        has_units = scenario.algorithm.agent.shares is Shares.TOKENS and not self._has_groups
        self.partitions = Partitions(self, has_units=has_units, section_of=self._section_of())
        self._is_update_planned = False
        self.links.on_partition_change = self.driver.on_units_lost = self.update_partitions
        self.faults = self.fault_kind([section.fault() for section in scenario.faults], self)
        self.driver.on_stop.append(self.changes.stop)
        self.driver.on_stop.append(lambda: self.listener.close(self.now, None, self._repetition.patience))
        self.driver.on_stop.append(lambda: self.at(self.now + to_ticks(scenario.drain), self._give_up))

    def _make_driver(self) -> Driver:
        repetition, nodes = self._repetition, range(self.scenario.nodes)
        agents = {node: repetition.agent(node) for node in nodes}
        applications = {node: repetition.application(node) for node in nodes}
        kind = GroupDriver if self._has_groups else Driver
        return kind(agents, applications, self, self.listener, entries=self.scenario.entries)

    def _make_ideal_groups(self, driver: GroupDriver) -> None:
        """Neighbourhoods that every node knows of at once, and what makes nodes travel between them."""
        self.groups = driver.groups = IdealGroups(self, driver, self._repetition.place_registers())
        self.travel = self._repetition.travel(self, self.groups)

    def _section_of(self) -> Callable[[int], int | None]:
        """The cluster or neighbourhood of a node, where there are such."""
        clusters = self._repetition.clusters
        if clusters is not None:
            return clusters.of.__getitem__
        return self._group_of if self._has_groups else lambda node: 0

    def _group_of(self, node: int) -> int | None:
        agent = self.driver.agents.get(node)
        return agent.group if isinstance(agent, GroupAgent) else None

    def _make_radio_links(self, usable: Graph) -> RadioLinks:
        repetition, driver = self._repetition, self.driver
        args = (
            usable,
            repetition.datagram_loss(),
            repetition.link_settings(),
            SharedWire(repetition.wire_name(), repetition.wire_messages()),
            self._streams,
            self.scenario.algorithm.agent.needs,
            self.scenario.delays.costs(),
            self.scenario.time_unit / TICKS,
        )
        if not isinstance(driver, GroupDriver):
            return self.radio_links(self, driver, *args)
        self.groups = driver.groups = RadioGroups(self, driver, repetition)
        self.travel = repetition.travel(self, self.groups)
        return self.group_radio_links(self, driver, *args, groups=self.groups)

    def _hop(self) -> HopDelay:
        """How long a message is in transit over one link."""
        hop = self.scenario.delays.hop
        return HopDelay(hop.sampler(self._streams.of("delay")), hop.fixed_ticks())

    def _max_lag(self) -> int | None:
        topology = self.scenario.topology
        lag = topology.max_lag if isinstance(topology, GeometricTopology | RandomTopology) else None
        return None if lag is None else to_ticks(lag)

    def _may_part(self) -> bool:
        """Whether the network can be partitioned: the papers' link changes never do that, even if a link falls late.

        They may part a cluster that sees only the links inside.
        """
        is_kept_whole = isinstance(self.scenario.topology, RandomTopology) and self._repetition.separated is None
        return bool(self.scenario.faults) or not is_kept_whole

    def _plan_absences(self) -> None:
        """While a node has not appeared or has left, it makes no requests and is in no component."""
        for seconds, node, is_present in self.geometry.absences() if self.geometry is not None else ():
            if seconds == 0:
                self.driver.absent.add(node)
            else:
                self.at(round(seconds / self.scenario.time_unit * TICKS), self._set_present, node, is_present)

    def _set_present(self, node: int, is_present: bool) -> None:
        (self.driver.absent.discard if is_present else self.driver.absent.add)(node)
        self.update_partitions()

    # -- for faults and partitions -----------------------------------------------------------------------------------

    def is_alive(self, node: int) -> bool:
        """Whether a node runs."""
        return self.driver.is_alive(node)

    def is_present(self, node: int) -> bool:
        """Whether a node runs, has appeared, and has not left."""
        return self.driver.is_alive(node) and node not in self.driver.absent

    def holders(self) -> list[int]:
        """The nodes that hold tokens, in ascending order."""
        return self.driver.holders()

    def moving_units(self) -> list[MovingUnits]:
        """The units in transit; where it is not known when they arrive, with a time shortly after now."""
        soon, is_known = self.now + TICKS // 100, isinstance(self.transport, IdealLinks)
        return [
            MovingUnits(post[0].source, post[0].target, t if is_known else soon, *_ends(post), *amount)
            for t, post in self.transport.in_transit()
            if any(amount := (post[1].units, tokens_of(post[1])))
        ]

    def held_by(self, node: int) -> tuple[int, int]:
        """How many units and how many tokens a node holds; none if it does not run."""
        agent = self.driver.agents.get(node)
        return (0, 0) if agent is None else held(agent, node, t=self.now)

    def set_cut_off(self, nodes: frozenset[int]) -> None:
        """These nodes can reach no unit now."""
        self.driver.set_cut_off(nodes)

    def crash(self, node: int) -> None:
        """Stop a node at once; it loses its state."""
        self._compare()
        self.driver.crash(node)
        if self.groups is not None:
            self.groups.crash(node)
        for post in self.transport.tear(node):
            self.driver.lost(post, "crash")
        self.links.drop_node(node)

    def restart(self, node: int) -> None:
        """Start a crashed node again, with an empty state."""
        self.driver.restart(node, self._repetition.initial_state.restarted(node))
        self._compare()
        self.links.restart(node)
        if self.travel is not None:
            self.travel.return_of(node)

    def vanish(self, node: int) -> None:
        """A node leaves its neighbourhood at once, without notice."""
        assert self.groups is not None, "only nodes in neighbourhoods vanish"
        self.groups.vanish(node)

    def lose(self, node: int | None, message: str | None) -> None:
        """Lose the next message of a node (or, for None, the next that carries a token), of a type if one is named."""
        self.driver.lose_next(node, message)

    def update_partitions(self) -> None:
        """Nodes or links have come or gone: find out which nodes can reach which, and a unit.

        This is done after all other events of this instant: between them, a message may be neither in transit nor
        received.
        """
        if not self._is_update_planned:
            self._is_update_planned = True
            self.at(self.now, self._update_partitions)

    def _update_partitions(self) -> None:
        self._is_update_planned = False
        self.partitions.update()

    # -- the run -----------------------------------------------------------------------------------------------------

    def _stop_for_good(self) -> None:
        """The duration is over: no more requests, and neither faults nor link changes come later.

        Over radio links, a token that was sent into another component may still come back.
        """
        self.driver.stop(for_good=not self._is_radio)

    def halt(self) -> None:
        """End the run after the events of this instant."""
        self.at(self.now, self._halt_if_over)

    def _halt_if_over(self) -> None:
        if self.driver.is_over():
            served = "every request served" if not self.driver.waiting() else "no pending request can be served"
            self._halt(served)

    def _expect_entry(self, entries: int) -> None:
        """End a run that lasts for a number of entries if there can be no more of them."""
        if self.driver.entries == entries and self.driver.waiting():
            self._halt("no entry for as long as drain allows")
        if not self.driver.may_ask() and all(to_ticks(fault.at) < self.now for fault in self.scenario.faults):
            self._halt("no node is left that could enter")
        wait = max(to_ticks(self.scenario.drain), TICKS // 1000)  # even without drain, some time must pass
        self.at(self.now + wait, self._expect_entry, self.driver.entries)

    def _give_up(self) -> None:
        self._halt("drain expired")

    def _halt(self, why: str) -> None:
        raise Halt(why)

    def run_all(self, report: Callable[[float], None], pace: float | None = None) -> None:
        """The whole repetition, as fast as it can, or with so many time units in a second."""
        scenario, held = self.scenario, [self.held_by(node) for node in range(self.scenario.nodes)]
        self._repetition.log_start(self.listener, held, self._repetition.links_of_nodes())
        if scenario.warmup:
            self.at(to_ticks(scenario.warmup), self.driver.counts.forget)
            if isinstance(self.links, RadioLinks):
                self.at(to_ticks(scenario.warmup), self.links.forget_frames)
        self.partitions.update()
        if self._is_radio:  # the load starts when links have had time to form
            self.at(to_ticks(scenario.warmup), self.driver.begin)
        else:
            self.driver.begin()
        self.changes.begin()
        if self.travel is not None:
            self.travel.begin()
        self.faults.begin()
        if scenario.duration is not None:
            self.at(to_ticks(scenario.duration), self._stop_for_good)
        else:
            self._expect_entry(-1)

        reports = count(1)

        def report_progress() -> None:
            self.listener.settle()
            if not next(reports) % (1 + scenario.nodes // NODES_ASKED):
                self._compare()
            report(self._progress())

        if pace is not None:
            Pace(self, pace, report_progress).begin()
        self._log_end(self.run(report_progress))

    def _compare(self) -> list[tuple[int, int]]:
        """Ask every node what it holds, and let the checks compare that with what it holds by its messages."""
        held = [self.held_by(node) for node in range(self.scenario.nodes)]
        self.listener.compare(self.now, dict(enumerate(held)))
        self._memory.check(self.now)
        return held

    def _progress(self) -> float:
        if self.scenario.duration is not None:
            return min(1.0, self.now / TICKS / self.scenario.duration)
        return self.driver.entries / (self.scenario.entries or 1)

    def _log_end(self, why: str) -> None:
        """Log what is still pending, and what every node holds."""
        if self.now < to_ticks(self.scenario.warmup):  # the warmup never ended, so nothing counts
            self.driver.counts.forget()
            if isinstance(self.links, RadioLinks):
                self.links.forget_frames()
        waiting = self.driver.waiting()
        if waiting and self.scenario.algorithm.agent.shares is Shares.PERMISSIONS:
            for node, agent in sorted(self.driver.agents.items()):
                peers, spares = awaited(agent, node, range(self.scenario.nodes), t=self.now)
                if peers:
                    self.listener.awaits(self.now, node, peers, spares)
        for application in waiting:
            reach = self.partitions.reach(application.node)
            self.listener.pending(self.now, application.node, application.since, True, *reach)
        held = self._compare()
        self.driver.counts.report(self.listener)
        if isinstance(self.links, RadioLinks):
            for kind in sorted(self.links.frames):
                self.listener.frames(self.now, None, kind, self.links.frames[kind], self.links.bytes[kind])
        self.listener.stop(self.now, None, why, [units for units, _ in held], [tokens for _, tokens in held])


def _ends(post: Post) -> tuple[int, int]:
    """The nodes that a message in transit is from and for, over one link or several."""
    message = post[1]
    channel = message.channel if isinstance(message, RoutedMessage) else post[0]
    return channel.source, channel.target
