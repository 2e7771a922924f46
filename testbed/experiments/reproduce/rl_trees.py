"""RR's tree: further readings of "we randomly permuted the graph", and how long the routes between its nodes are.

The RL paper forms a breadth-first tree of a random connected graph and then "randomly permuted the graph while
maintaining the desired connectivity". `raymond-tree` reads this as nodes that are relabelled at random. Its static
cells differ from the paper's, so other readings are tried here. None has become a parameter of the algorithm: under
high load the shape of the tree makes no difference, and no reading gives all static cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from agents.contract import Agent, Graph
from agents.raymond_tree import RaymondTree, TreeParameters
from testbed.backends.repetition import Repetition
from testbed.experiments.reproduce.cells import Cell
from testbed.experiments.reproduce.rl_cells import CONNECTIVITIES, HIGH, LENGTHS, LOW, QUICK_LENGTHS, RR, TEXT, cell
from testbed.network import graph as graphs
from testbed.randomness import Streams
from testbed.scenario.algorithm import AlgorithmChoice
from testbed.scenario.schema import Scenario


def breadth_first(graph: Graph, rng: Random) -> list[int]:
    """The parents in the breadth-first tree from node 0."""
    return RaymondTree.initial(graph, TreeParameters())


def of_another_graph(graph: Graph, rng: Random) -> list[int]:
    """The parents in the breadth-first tree of another random graph with as many links."""
    links = sum(map(len, graph.values())) // 2
    return breadth_first(graph=graphs.random_connected(len(graph), links, rng).adjacency(), rng=rng)


def any_tree(graph: Graph, rng: Random) -> list[int]:
    """The parents in a tree of all nodes, each tree equally likely, whatever the links are."""
    return breadth_first(graphs.Graph(len(graph), graphs.random_tree(len(graph), rng)).adjacency(), rng)


def any_spanning_tree(graph: Graph, rng: Random) -> list[int]:
    """The parents in a spanning tree of the graph, each equally likely: random walks without their loops (Wilson)."""
    parents = {0: 0}
    for start in graph:
        node, steps = start, {}
        while node not in parents:  # a later step from a node replaces the earlier one, which cuts the loop out
            steps[node] = node = rng.choice(graph[node])
        node = start
        while node not in parents:
            parents[node] = node = steps[node]
    return [parents[node] for node in range(len(graph))]


def depth_first(graph: Graph, rng: Random) -> list[int]:
    """The parents in a depth-first tree from node 0, neighbours in random order."""
    parents, trail = {0: 0}, [0]
    while trail:
        fresh = [peer for peer in graph[trail[-1]] if peer not in parents]
        if fresh:
            peer = rng.choice(fresh)
            parents[peer] = trail[-1]
            trail.append(peer)
        else:
            trail.pop()
    return [parents[node] for node in range(len(graph))]


@dataclass(frozen=True)
class TreeReading:
    """A way to form RR's tree."""

    words: str
    parents: Callable[[Graph, Random], list[int]]
    permuted: bool = True


TREES = {
    "relabelled": TreeReading("breadth-first tree, then the nodes are relabelled (`raymond-tree`)", breadth_first),
    "not permuted": TreeReading("breadth-first tree of the graph itself", breadth_first, permuted=False),
    "another graph": TreeReading("breadth-first tree of another random graph with as many links", of_another_graph),
    "any tree": TreeReading("a tree of all nodes, each equally likely", any_tree),
    "spanning tree": TreeReading("a spanning tree of the relabelled graph, each equally likely", any_spanning_tree),
    "depth-first": TreeReading("depth-first tree of the relabelled graph", depth_first),
}


def _agent(reading: TreeReading) -> type[Agent]:
    class Tree(RaymondTree):
        """RR under one reading."""

        @classmethod
        def initial(cls, graph: Graph, parameters: object) -> list[int]:
            """`initial` is given no generator; one that is seeded with the links is the same in every process."""
            return reading.parents(graph, Random(repr(sorted(graph.items()))))

    return Tree


_AGENTS = {name: _agent(reading) for name, reading in TREES.items()}


@dataclass(frozen=True)
class TreeChoice(AlgorithmChoice):
    """RR, with a tree by one of the readings."""

    tree: str = "relabelled"

    @property
    def agent(self) -> type[Agent]:
        """The class to make agents of."""
        return _AGENTS[self.tree]


@dataclass(frozen=True)
class TreeCell(Cell):
    """A static cell of RR, with a tree by one of the readings."""

    tree: str = "relabelled"

    def scenario(self) -> Scenario:
        """The cell as a scenario."""
        choice = TreeChoice(RR, TreeParameters(permuted=TREES[self.tree].permuted), self.tree)
        return super().scenario().model_copy(update={"algorithm": choice})

    def __str__(self) -> str:
        """Its name in messages."""
        return f"{super().__str__()}, tree: {self.tree}"


def tree_cells(quick: bool) -> list[TreeCell]:
    """The static cells of RR in the tables, under every reading of its tree."""
    lengths = QUICK_LENGTHS if quick else LENGTHS
    return [
        TreeCell(RR, connectivity, rate, *lengths[rate], repeat=3 if quick else 20, tree=tree)
        for tree in TREES
        for rate in (HIGH, LOW)
        for connectivity in CONNECTIVITIES
    ]


def route_lengths(connectivity: float, repeat: int) -> list[float]:
    """The links between two neighbours in RR's tree, on average, in the initial graph of every repetition."""
    scenario = replace(cell(RR, TEXT, "zero", connectivity, HIGH, 1.0), repeat=repeat).scenario()
    lengths = []
    for number in range(repeat):
        repetition = Repetition(scenario, Streams(scenario.seed, number))
        graph = repetition.graph.adjacency()
        pairs = [(node, parent) for node, parent in enumerate(repetition.initial_state.starts) if node != parent]
        lengths.append(sum(_distance(graph, *pair) for pair in pairs) / len(pairs))
    return lengths


def _distance(graph: Graph, source: int, target: int) -> int:
    """How many links the shortest path has."""
    reached, distance = {source}, 0
    while target not in reached:
        reached |= {peer for node in reached for peer in graph[node]}
        distance += 1
    return distance
