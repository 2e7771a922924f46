"""The network at time 0 and the agents in it, which every backend shares."""

from __future__ import annotations

from typing import Any

import pytest

from agents.contract import Graph
from agents.registry import ALGORITHMS
from agents.rl import ReverseLink
from testbed.backends.repetition import Repetition
from testbed.randomness import Streams
from testbed.runtime.breach import AgentError
from testbed.scenario.loader import loads
from testbed.scenario.schema import Scenario
from tests.testbed.simulate import groups_for
from tests.testbed.tiny import tiny

RANDOM = "{kind: random, connectivity: 0.5}"


def scenario(more: str = "", **changes: str) -> Scenario:
    return loads(tiny(more, nodes="6", topology=RANDOM, **changes))


def states(repetition: Repetition) -> list[tuple[Any, ...]]:
    return [repetition.agent(node).state() for node in range(6)]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_same_repetition_same_agents(name: str) -> None:
    """However often they are made; another repetition has another network."""
    one = scenario("".join(f"{key}: {value}\n" for key, value in groups_for(name).items()), algorithm=name)
    first, second, other = (Repetition(one, Streams(1, number)) for number in (0, 0, 1))
    assert states(first) == states(first) == states(second)
    assert first.graph.links() == second.graph.links() != other.graph.links()


def test_links_of_the_first_incarnation() -> None:
    """Agents know their neighbours at time 0, but none where links have yet to be found, nor after a crash."""
    ideal = Repetition(scenario(), Streams(1, 0))
    radio = Repetition(scenario("links: radio\n"), Streams(1, 0))
    assert ideal.graph.links() == radio.graph.links()
    for node in range(6):
        known, unknown, restarted = ideal.agent(node), radio.agent(node), ideal.initial_state.restarted(node)
        assert isinstance(known, ReverseLink)
        assert isinstance(unknown, ReverseLink)
        assert isinstance(restarted, ReverseLink)
        assert set(known.height) == ideal.graph.peers[node]
        assert unknown.height == restarted.height == {}
        assert known.my_height == unknown.my_height
        assert (known.units, unknown.units, restarted.units) == (node == 0, node == 0, 0)


def test_structure_of_before_the_nodes_moved() -> None:
    """An algorithm that asks for it starts on a permuted copy of the graph."""
    permuted, plain = (
        Repetition(scenario(algorithm=f"{{name: raymond-tree, permuted: {value}}}"), Streams(1, 0))
        for value in ("true", "false")
    )
    assert permuted.graph.links() == plain.graph.links()
    assert permuted.initial_state.starts != plain.initial_state.starts
    for node in range(1, 6):
        assert plain.initial_state.starts[node] in plain.graph.peers[node]


class Unstartable(ReverseLink):
    """Fails to start."""

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Any]:
        raise LookupError("no idea")


def test_an_algorithm_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it raises is reported as its own failure."""
    monkeypatch.setitem(ALGORITHMS, "unstartable", Unstartable)
    with pytest.raises(AgentError, match="unstartable failed to start: LookupError: no idea"):
        Repetition(scenario(algorithm="unstartable"), Streams(1, 0))
