"""One repetition of a scenario, as the objects that the engine needs.

The engine (`testbed.runtime`, `testbed.network`, the models) does not know scenarios. Here a scenario becomes a graph,
a geometry, agents, a load and link changes, the same for every backend and for a replay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from agents.codec import Codec
from agents.contract import TICKS, Agent, Needs
from agents.groups import Group, GroupAgent, Member
from agents.message import Message
from analysis.events import Start
from analysis.listener import Listener
from testbed.backends.registry import find_backend
from testbed.durations import to_ticks
from testbed.errors import InputError
from testbed.event_queue import Scheduler
from testbed.link.endtoend import EndToEnd
from testbed.link.settings import LinkSettings
from testbed.mobility.area import Area
from testbed.mobility.trajectory import standing
from testbed.network import graph
from testbed.network.clusters import Clusters, LinksWithin, connected_clusters, equal_clusters
from testbed.network.geometry import Geometry
from testbed.network.interfaces import Links
from testbed.network.link_changes import PoissonChanges, RangeChanges
from testbed.network.place_register import PlaceRegister
from testbed.network.stays import Neighbourhood, Stay, stays
from testbed.network.travel import Churn, PlannedStays, Travel, Travellers
from testbed.pairs import link_of
from testbed.radio.air import Air
from testbed.radio.datagram_loss import DatagramLoss
from testbed.randomness import Streams
from testbed.runtime.application import Application
from testbed.runtime.group_driver import GroupDriver
from testbed.runtime.initial_state import InitialState
from testbed.runtime.place_messages import PLACE_MESSAGES
from testbed.runtime.place_station import PlaceStation
from testbed.runtime.registered_groups import RegisteredGroups
from testbed.runtime.stack import Put
from testbed.scenario.links import RadioChoice
from testbed.scenario.schema import Scenario
from testbed.scenario.topology import ExplicitTopology, GeometricTopology, RandomTopology


class Repetition:
    """What a backend starts from."""

    def __init__(self, scenario: Scenario, streams: Streams) -> None:
        self.scenario = scenario
        self.streams = streams
        self.geometry = make_geometry(scenario, streams) if is_geometric(scenario) else None
        """Where nodes are at any time, if they have places."""
        self.graph = _initial_graph(scenario, streams, self.geometry)
        """The network at time 0. It belongs to the caller, which may change it as links come and go."""
        self.clusters = _make_clusters(scenario, self.graph)
        """The clusters of the nodes, if there are any."""
        self.neighbourhoods = _neighbourhoods(scenario)
        """The places, if there are any."""
        self.groups = self._initial_groups()
        """Who is in which neighbourhood at time 0, for an algorithm that runs in them; over radio, no node is."""
        choice = scenario.algorithm
        self.initial_state = InitialState(
            choice.name,
            choice.agent,
            choice.parameters,
            scenario.nodes,
            self.graph,
            streams,
            has_links=not isinstance(scenario.links, RadioChoice),
            clusters=self.clusters,
            groups=self.groups,
        )

    @property
    def separated(self) -> Clusters | None:
        """The clusters, if no node sees a link to another cluster; a router may use all links."""
        return self.clusters if self.scenario.algorithm.agent.needs is Needs.LINKS else None

    def usable_graph(self) -> graph.Graph:
        """The links at time 0 that nodes can see."""
        return self.graph if self.separated is None else self.separated.within(self.graph)

    def agent(self, node: int) -> Agent:
        """The agent of a node in its first incarnation."""
        return self.initial_state.agent(node)

    def application(self, node: int, incarnation: int = 1) -> Application:
        """The application of a node; a later incarnation does not draw the same times again."""
        streams = Streams(self.streams.seed, self.streams.repetition, incarnation)
        return Application(node, self.scenario.workload.load(), streams)

    def link_changes(self, queue: Scheduler, links: Links) -> PoissonChanges | RangeChanges:
        """What changes the links besides faults, carried out on `links` as time passes."""
        topology = self.scenario.topology
        if self.separated is not None:
            links = LinksWithin(links, self.separated)
        if self.geometry is not None:
            return RangeChanges(queue, links, self.graph, self.geometry.crossings(), time_unit=self.scenario.time_unit)
        rate, reading = 0.0, "text"
        if isinstance(topology, RandomTopology):
            rate, reading = topology.link_change_rate, topology.reading
        return PoissonChanges(queue, links, self.graph, rate, reading, self.streams.of("link changes"))

    # -- neighbourhoods ----------------------------------------------------------------------------------------------

    def stays(self) -> list[Stay]:
        """When nodes are in the neighbourhoods of places."""
        assert self.geometry is not None, "places are where nodes move"
        trajectories = self.geometry.trajectories[: self.scenario.nodes]
        return stays(trajectories, self.neighbourhoods, until=self.geometry.seconds)

    def _initial_groups(self) -> list[Group] | None:
        scenario, members = self.scenario, defaultdict[int, list[int]](list)
        capacities = scenario.group_capacities
        if not capacities:
            return None
        if scenario.churn is not None:
            for node in range(scenario.nodes):
                members[node % scenario.churn.groups].append(node)
        elif not isinstance(scenario.links, RadioChoice):
            for stay in self.stays():
                if stay.arrives == 0:
                    members[stay.group].append(stay.node)
        return [
            Group(number, capacity, tuple(Member(node, visit) for visit, node in enumerate(members[number])))
            for number, capacity in enumerate(capacities)
        ]

    def place_registers(self) -> list[PlaceRegister]:
        """The registers of all places at time 0; where no node is, the token lies."""
        return [self.place_register(group) for group in self.groups or []]

    def place_register(self, group: Group) -> PlaceRegister:
        """The register of one place at time 0."""
        choice = self.scenario.algorithm
        assert issubclass(choice.agent, GroupAgent)
        deposit = None if group.members else choice.agent.first_deposit(group, choice.parameters)
        return PlaceRegister(group.capacity, group.members, deposit)

    def travel(self, queue: Scheduler, travellers: Travellers, node: int | None = None) -> Travel:
        """What makes nodes, or one node, arrive in neighbourhoods and leave them."""
        scenario, streams, churn = self.scenario, self.streams, self.scenario.churn
        assert scenario.notice is not None
        notice = max(1, to_ticks(scenario.notice))
        if churn is None:
            planned = [stay for stay in self.stays() if node in (None, stay.node)]
            ticks, is_ideal = TICKS / scenario.time_unit, not isinstance(scenario.links, RadioChoice)
            return PlannedStays(queue, travellers, planned, notice, ticks, starts_inside=is_ideal)
        return Churn(
            queue,
            travellers,
            churn.groups,
            churn.departures,
            notice,
            lambda node: churn.away.sampler(streams.of("away", node)),
            lambda node: streams.of("churn", node),
            scenario.nodes,
        )

    def registered_groups(
        self,
        node: int,
        incarnation: int,
        driver: GroupDriver,
        queue: Scheduler,
        send: Callable[[int, Message], None],
    ) -> RegisteredGroups:
        """A node's view of its neighbourhood over radio; `send` sends messages to the stations of places."""
        scenario = self.scenario
        assert scenario.notice is not None
        codec, notice = Codec(scenario.algorithm.agent.messages), to_ticks(scenario.notice)
        return RegisteredGroups(node, incarnation, driver, queue, send, codec, scenario.nodes, notice)

    def place_station(self, station: int, layer: EndToEnd, queue: Scheduler, transmit: Put) -> PlaceStation:
        """The station of a place; the stations of places are numbered after the nodes."""
        assert self.groups is not None
        group = self.groups[station - self.scenario.nodes]
        codec, every = Codec(self.scenario.algorithm.agent.messages), self.link_settings().hello
        return PlaceStation(layer, queue, transmit, group.number, self.place_register(group), codec, every)

    # -- links over radio --------------------------------------------------------------------------------------------

    @property
    def radio_links(self) -> RadioChoice:
        """The scenario's links, where they are over radio."""
        assert isinstance(self.scenario.links, RadioChoice), "the scenario's links are not over radio"
        return self.scenario.links

    def link_settings(self) -> LinkSettings:
        """The settings of every node's link layer."""
        return self.radio_links.settings(self.scenario.algorithm.agent.assumes_connected)

    def wire_name(self) -> str:
        """Tells the datagrams of this repetition from those of any other."""
        return f"{self.scenario.name}/{self.streams.seed}/{self.streams.repetition}"

    def wire_messages(self) -> tuple[type[Message], ...]:
        """What datagrams may carry: the algorithm's messages and, with places, what their stations say."""
        places = PLACE_MESSAGES if self.neighbourhoods else ()
        return (*self.scenario.algorithm.agent.messages, *places)

    def datagram_loss(self) -> DatagramLoss:
        """Decides which datagrams are lost or doubled, and how long they take."""
        links, geometry = self.radio_links, self.geometry
        return DatagramLoss(
            links.loss,
            links.duplicate,
            self.scenario.delays.hop.sampler(self.streams.of("delay")),
            self.streams.of("medium"),
            None if geometry is None else (geometry.trajectories, geometry.air),
        )

    # -- the log -----------------------------------------------------------------------------------------------------

    @property
    def patience(self) -> int:
        """How long a request may have been pending when requests stop, in ticks."""
        return to_ticks(self.scenario.patience)

    def log_start(self, listener: Listener, held: list[tuple[int, int]], links: list[list[int]]) -> None:
        """The first event of the repetition: the units and tokens that every node holds, and the links there are."""
        scenario, choice = self.scenario, self.scenario.algorithm
        agent, parameters = choice.agent, choice.parameters
        groups, places = self.groups or [], scenario.group_capacities
        where = {member.node: group.number for group in groups for member in group.members}
        grace = 2 * scenario.workload.cs_time.mean() if scenario.grace is None else scenario.grace
        start = Start(
            trace=scenario.trace,
            needs=agent.needs.value,
            over_radio=isinstance(scenario.links, RadioChoice),
            assumes_connected=agent.assumes_connected,
            promises_bound=agent.promises_bound(parameters),
            shares=agent.shares.value,
            capacity=sum(places) or agent.capacity(parameters) * (scenario.clusters or 1),
            warmup=to_ticks(scenario.warmup),
            grace=to_ticks(grace),
            units=[units for units, _ in held],
            tokens=[tokens for _, tokens in held],
            links=links,
            clusters=[] if self.clusters is None else list(self.clusters.of),
            places=places,
            groups=[where.get(node) for node in range(scenario.nodes)] if places else [],
            kept=[0 if group.members else group.capacity for group in groups],
            patience=self.patience,
            absent=sorted({node for _, node, _ in self.geometry.absences()} if self.geometry is not None else ()),
            real_time=find_backend(scenario.backend).real_time,
        )
        listener.start(0, None, *start)

    def links_of_nodes(self) -> list[list[int]]:
        """The links at time 0 that nodes can see, without those of places."""
        return [list(link) for link in self.usable_graph().links() if link[1] < self.scenario.nodes]


def _make_clusters(scenario: Scenario, network: graph.Graph) -> Clusters | None:
    """The clusters that a scenario asks for, checked; whether they can be connected depends on the network."""
    count, choice = scenario.clusters, scenario.algorithm
    if count is None:
        return None
    if choice.agent.needs is not Needs.LINKS:
        return equal_clusters(scenario.nodes, count)
    clusters = connected_clusters(network, count)
    if clusters is None:
        what = f"a network of {len({frozenset(network.component(node)) for node in range(network.nodes)})} components"
        raise InputError(f"{scenario.name}: clusters: found {count} and {what}; allowed: at least as many clusters")
    for members in clusters.members:
        try:
            choice.parameters.check(len(members))
        except ValueError as error:
            found = f"a cluster of {len(members)} node{'s' * (len(members) > 1)}"
            raise InputError(f"{scenario.name}: clusters: found {found}; allowed: {error}") from None
    return clusters


def _neighbourhoods(scenario: Scenario) -> list[Neighbourhood]:
    return [
        place.neighbourhood(capacity)
        for place, capacity in zip(scenario.neighbourhoods, scenario.group_capacities, strict=False)
    ]


def is_geometric(scenario: Scenario) -> bool:
    """Whether nodes have places."""
    return isinstance(scenario.topology, GeometricTopology)


def make_geometry(scenario: Scenario, streams: Streams, *, with_places: bool = True) -> Geometry:
    """Where the nodes of a scenario with positions are in one repetition and, after them, the stations of places."""
    assert isinstance(scenario.topology, GeometricTopology)
    assert scenario.radio is not None, "a geometric topology has a radio"
    assert scenario.mobility is not None, "a geometric topology has a mobility"
    area, starts, seconds = scenario.area or Area(0.0, 0.0), None, (scenario.duration or 0.0) * scenario.time_unit
    if scenario.placement is not None:
        starts = scenario.placement.positions(scenario.nodes, area, streams.of("placement"))
    trajectories = scenario.mobility.trajectories(starts, scenario.nodes, area, seconds, streams)
    if with_places:
        trajectories = [*trajectories, *(standing(place.centre) for place in _neighbourhoods(scenario))]
    try:
        air, hysteresis = Air(scenario.radio, streams), scenario.topology.hysteresis
        return Geometry(trajectories, air, seconds=seconds, hysteresis=hysteresis)
    except InputError as error:
        raise InputError(f"{scenario.name}: {error}") from None


def _initial_graph(scenario: Scenario, streams: Streams, geometry: Geometry | None) -> graph.Graph:
    topology, nodes = scenario.topology, scenario.nodes
    if geometry is not None:
        return graph.Graph(scenario.stations, geometry.crossings().initial_links())
    if isinstance(topology, RandomTopology):
        return graph.random_connected(nodes, topology.link_count(nodes), streams.of("topology"))
    if isinstance(topology, ExplicitTopology):
        return graph.Graph(nodes, (link_of(a, b) for a, b in topology.links))
    return graph.complete(nodes)
