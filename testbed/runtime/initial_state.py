"""The beginning of one repetition: the network at time 0, and the agents as they are born into it.

Every world takes it from here, and so does a replay: the same scenario and repetition have the same agents everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agents.contract import Agent, Needs
from testbed.network import graph
from testbed.runtime.driver import AgentError
from testbed.network.geometry import Geometry
from testbed.scenario.links import RadioChoice
from testbed.scenario.schema import Scenario
from testbed.randomness import Streams
from testbed.scenario.topology import ExplicitTopology, GeometricTopology, RandomTopology


class Beginning:
    """What there is before anything happens."""

    def __init__(self, scenario: Scenario, streams: Streams) -> None:
        self.scenario = scenario
        self.streams = streams
        self.geometry = Geometry(scenario, streams) if isinstance(scenario.topology, GeometricTopology) else None
        """Where nodes are and will be, if they have places."""
        self.graph = _initial_graph(scenario, streams, self.geometry)
        """The network at time 0. It belongs to whoever made the beginning, and may be changed as links come and go."""
        self.starts = self._starts()
        """What every node's agent starts with."""

    @property
    def needs(self) -> str:
        """What the algorithm asks of the layer below it, and what that is: for the start of the log."""
        agent = self.scenario.algorithm.agent
        if agent.needs is not Needs.LINKS or not isinstance(self.scenario.links, RadioChoice):
            return agent.needs.value
        return "links, radio, connected" if agent.assumes_connected else "links, radio"

    def agent(self, node: int) -> Agent:
        """The agent of a node in its first life."""
        with self._starting():
            return self._born(node, self.starts[node])

    def reborn(self, node: int) -> Agent:
        """The agent of a node that comes back from a crash."""
        choice = self.scenario.algorithm
        with self._starting():
            return self._born(node, choice.agent.blank(node, choice.parameters))

    def _starts(self) -> list[Any]:
        agent, parameters = self.scenario.algorithm.agent, self.scenario.algorithm.parameters
        with self._starting():
            network = self.graph
            if agent.starts_permuted(parameters):
                network = graph.permuted(network, self.streams.of("permutation"))
            starts = agent.initial(network.adjacency(), parameters)
            if isinstance(self.scenario.links, RadioChoice):  # links have yet to be found
                starts = [agent.without_links(start) for start in starts]
            return starts

    def _born(self, node: int, start: Any) -> Agent:
        choice = self.scenario.algorithm
        return choice.agent.start(node, start, choice.parameters, self.streams.of("agent", node))

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """Whatever an algorithm raises while it starts is its own fault."""
        try:
            yield
        except Exception as error:
            name = self.scenario.algorithm.name
            raise AgentError(f"{name} failed to start: {type(error).__name__}: {error}") from error


def _initial_graph(scenario: Scenario, streams: Streams, geometry: Geometry | None) -> graph.Graph:
    topology, nodes = scenario.topology, scenario.nodes
    if geometry is not None:
        return graph.Graph(nodes, geometry.crossings().initial_links())
    if isinstance(topology, RandomTopology):
        return graph.random_connected(nodes, topology.links(nodes), streams.of("topology"))
    if isinstance(topology, ExplicitTopology):
        return graph.Graph(nodes, (graph.link_of(a, b) for a, b in topology.links))
    return graph.complete(nodes)
