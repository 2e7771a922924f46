"""How a repetition begins: where the nodes are, who is in reach of whom, and the state of every agent.

Every world begins the same way, so that the same scenario and seed start from the same graph, heights and tokens in the
simulator, in a station process and when a log is replayed.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from agents.contract import Agent
from testbed import graph
from testbed.driver import AgentError
from testbed.geometry import Geometry
from testbed.linkchoice import RadioChoice
from testbed.scenario import Scenario
from testbed.streams import Streams
from testbed.topology import ExplicitTopology, GeometricTopology, RandomTopology


class Beginning:
    """The beginning of one repetition."""

    def __init__(self, scenario: Scenario, streams: Streams) -> None:
        self.scenario = scenario
        self.streams = streams
        self.geometry = Geometry(scenario, streams) if isinstance(scenario.topology, GeometricTopology) else None
        self.graph = initial_graph(scenario, streams, self.geometry)
        """The network at time 0. The world changes it; `starts` is taken from it before."""

    @cached_property
    def starts(self) -> list[Any]:
        """What every node starts with; no neighbours, where links have yet to be found."""
        choice = self.scenario.algorithm
        try:
            starts = choice.agent.initial(self._start_graph().adjacency(), choice.parameters)
            if isinstance(self.scenario.links, RadioChoice):
                starts = [choice.agent.without_links(start) for start in starts]
        except Exception as error:
            raise _failed_to_start(choice.name, error) from error
        return starts

    def _start_graph(self) -> graph.Graph:
        choice = self.scenario.algorithm
        if choice.agent.starts_permuted(choice.parameters):
            return graph.permuted(self.graph, self.streams.of("permutation"))
        return self.graph

    def agent(self, node: int) -> Agent:
        """The agent of a node, as it starts."""
        return self._make(node, self.starts[node])

    def reborn(self, node: int) -> Agent:
        """The agent of a node that comes back from a crash, empty."""
        choice = self.scenario.algorithm
        return self._make(node, choice.agent.blank(node, choice.parameters))

    def _make(self, node: int, start: Any) -> Agent:
        choice = self.scenario.algorithm
        try:
            return choice.agent.start(node, start, choice.parameters, self.streams.of("agent", node))
        except Exception as error:
            raise _failed_to_start(choice.name, error) from error


def _failed_to_start(name: str, error: Exception) -> AgentError:
    return AgentError(f"{name} failed to start: {type(error).__name__}: {error}")


def initial_graph(scenario: Scenario, streams: Streams, geometry: Geometry | None = None) -> graph.Graph:
    """The network at time 0."""
    topology, nodes = scenario.topology, scenario.nodes
    if geometry is not None:
        return graph.Graph(nodes, geometry.crossings().initial_links())
    if isinstance(topology, RandomTopology):
        return graph.random_connected(nodes, topology.links(nodes), streams.of("topology"))
    if isinstance(topology, ExplicitTopology):
        return graph.Graph(nodes, (graph.link_of(a, b) for a, b in topology.links))
    return graph.complete(nodes)
