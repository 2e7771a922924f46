"""The initial state of one repetition: the agents as they start in the network at time 0.

Every backend takes it from here, and so does a replay: the same scenario and repetition have the same agents
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agents.contract import Agent, Parameters
from agents.groups import Group, GroupAgent
from testbed.network.clusters import Clusters
from testbed.network.graph import Graph, permuted
from testbed.randomness import Streams
from testbed.runtime.breach import RAISED, AgentError, shown
from testbed.runtime.cluster_member import member_class


class InitialState:
    """What every node's agent starts with."""

    def __init__(
        self,
        name: str,
        algorithm: type[Agent],
        parameters: Parameters,
        nodes: int,
        graph: Graph,
        streams: Streams,
        *,
        has_links: bool,
        clusters: Clusters | None = None,
        groups: Sequence[Group] | None = None,
    ) -> None:
        """`has_links`: whether nodes know their neighbours at time 0; otherwise their link layers have to find them.

        `groups`: who is in which neighbourhood, for an algorithm that runs in them.
        """
        self._name = name
        self._nodes = nodes
        self._algorithm = algorithm
        self._parameters = parameters
        self._streams = streams
        self._clusters = clusters
        self._groups = groups
        with self._starting():
            capacity = algorithm.capacity(parameters)
            if type(capacity) is not int or capacity < 1:
                raise AgentError(f"capacity is {shown(capacity)}, not a whole number from 1", event="start")
            network = permuted(graph, streams.of("permutation")) if algorithm.starts_permuted(parameters) else graph
            self.starts: list[Any] = _one_for_each(self._initial(network), nodes)
            if not has_links:
                self.starts = [algorithm.without_links(start) for start in self.starts]

    def _initial(self, network: Graph) -> list[Any]:
        """What every node starts with; every cluster starts as a network of its own."""
        if self._groups is not None:
            assert issubclass(self._algorithm, GroupAgent)
            return self._algorithm.initial_in(self._groups, self._nodes, self._parameters)
        if self._clusters is None:
            return self._algorithm.initial(network.adjacency(), self._parameters)
        starts: dict[int, Any] = {}
        for cluster, members in enumerate(self._clusters.members):
            inside = self._clusters.inside(cluster, network)
            starts.update(zip(members, self._algorithm.initial(inside.adjacency(), self._parameters), strict=True))
        return [starts[node] for node in range(network.nodes)]

    def agent(self, node: int) -> Agent:
        """The agent of a node in its first incarnation."""
        with self._starting(node):
            return self._start(node, self.starts[node])

    def restarted(self, node: int) -> Agent:
        """The agent of a node that restarts after a crash."""
        with self._starting(node):
            blank = self._algorithm.blank(self._number(node), self.starts[node], self._parameters)
            return self._start(node, blank)

    def _start(self, node: int, start: Any) -> Agent:
        rng = self._streams.of("agent", node)
        agent = self._algorithm.start(self._number(node), start, self._parameters, rng)
        if not isinstance(agent, Agent) or agent.node != self._number(node):
            raise AgentError(f"start returned {shown(agent)}, not an agent of this node", node=node, event="start")
        if self._clusters is None:
            return agent
        kind = member_class(self._algorithm)  # type: ignore[arg-type]
        return kind(agent, self._fellows(node))

    def _fellows(self, node: int) -> tuple[int, ...]:
        """The nodes of a node's cluster."""
        assert self._clusters is not None
        return self._clusters.members[self._clusters.of[node]]

    def _number(self, node: int) -> int:
        """The number by which the agents of a node's cluster know it."""
        return node if self._clusters is None else self._fellows(node).index(node)

    @contextmanager
    def _starting(self, node: int | None = None) -> Iterator[None]:
        """Report an exception that an algorithm raises while it starts as a failure of the algorithm."""
        try:
            yield
        except AgentError:
            raise
        except RAISED as error:
            why = f"{self._name} failed to start: {type(error).__name__}: {shown(str(error))}"
            raise AgentError(why, node=node, event="start") from error


def _one_for_each(starts: Any, nodes: int) -> list[Any]:
    if not isinstance(starts, list) or len(starts) != nodes:
        found = f"a list of {len(starts)}" if isinstance(starts, list) else shown(starts)
        raise AgentError(f"initial returned {found}, not a list of {nodes}, one entry for each node", event="start")
    return starts
