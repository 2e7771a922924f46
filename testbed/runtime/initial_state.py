"""The initial state of one repetition: the agents as they start in the network at time 0.

Every backend takes it from here, and so does a replay: the same scenario and repetition have the same agents
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agents.contract import Agent, Parameters
from testbed.network.graph import Graph, permuted
from testbed.randomness import Streams
from testbed.runtime.driver import AgentError


class InitialState:
    """What every node's agent starts with."""

    def __init__(
        self,
        name: str,
        algorithm: type[Agent],
        parameters: Parameters,
        graph: Graph,
        streams: Streams,
        *,
        has_links: bool,
    ) -> None:
        """`has_links`: whether nodes know their neighbours at time 0; otherwise their link layers have to find them."""
        self._name = name
        self._algorithm = algorithm
        self._parameters = parameters
        self._streams = streams
        with self._starting():
            network = permuted(graph, streams.of("permutation")) if algorithm.starts_permuted(parameters) else graph
            self.starts: list[Any] = algorithm.initial(network.adjacency(), parameters)
            if not has_links:
                self.starts = [algorithm.without_links(start) for start in self.starts]

    def agent(self, node: int) -> Agent:
        """The agent of a node in its first incarnation."""
        with self._starting():
            return self._start(node, self.starts[node])

    def restarted(self, node: int) -> Agent:
        """The agent of a node that restarts after a crash."""
        with self._starting():
            return self._start(node, self._algorithm.blank(node, self.starts[node], self._parameters))

    def _start(self, node: int, start: Any) -> Agent:
        return self._algorithm.start(node, start, self._parameters, self._streams.of("agent", node))

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """Report an exception that an algorithm raises while it starts as a failure of the algorithm."""
        try:
            yield
        except Exception as error:
            raise AgentError(f"{self._name} failed to start: {type(error).__name__}: {error}") from error
