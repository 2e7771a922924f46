"""Clusters: equal by numbers, or connected on a graph."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.network.clusters import Clusters, LinksWithin, connected_clusters, equal_clusters
from testbed.network.graph import Graph, complete, random_connected


def sizes(clusters: Clusters | None) -> list[int]:
    assert clusters is not None
    return sorted(map(len, clusters.members))


def line(nodes: int) -> Graph:
    return Graph(nodes, ((node, node + 1) for node in range(nodes - 1)))


def components(graph: Graph) -> int:
    return len({frozenset(graph.component(node)) for node in range(graph.nodes)})


def test_equal_clusters_differ_by_at_most_one():
    """For any number of nodes and clusters; the nodes of a cluster have consecutive numbers."""
    for nodes in range(1, 50):
        for count in range(1, nodes + 1):
            clusters = equal_clusters(nodes, count)
            assert len(clusters.members) == count
            assert sizes(clusters)[-1] - sizes(clusters)[0] <= 1
            assert [node for members in clusters.members for node in members] == list(range(nodes))
            assert all(clusters.of[node] == c for c, members in enumerate(clusters.members) for node in members)


@given(seed=st.integers(0, 2**32), nodes=st.integers(1, 14), density=st.sampled_from([0.05, 0.15, 0.3, 0.7]))
def test_clusters_on_any_graph_are_connected(seed, nodes, density):
    """Each is connected and every node is in one; there are none exactly if the graph has more components."""
    rng = Random(seed)
    graph = Graph(nodes, ((a, b) for a in range(nodes) for b in range(a + 1, nodes) if rng.random() < density))
    for count in range(1, nodes + 1):
        clusters = connected_clusters(graph, count)
        assert (clusters is None) == (components(graph) > count)
        if clusters is not None:
            assert len(clusters.members) == count
            assert sorted(node for members in clusters.members for node in members) == list(range(nodes))
            assert all(components(clusters.inside(cluster, graph)) == 1 for cluster in range(count))


@pytest.mark.parametrize("make", [lambda n: equal_clusters(n, 1), lambda n: connected_clusters(line(n), 1)])
def test_one_cluster_is_the_whole_network(make: Callable[[int], Clusters]):
    """Every node keeps its number and its links."""
    clusters = make(7)
    assert clusters.members == (tuple(range(7)),)
    assert clusters.within(line(7)).links() == clusters.inside(0, line(7)).links() == line(7).links()


@pytest.mark.parametrize("graph", [complete(7), line(7), Graph(7)])
def test_as_many_clusters_as_nodes(graph):
    """Each node is a cluster, whatever the links."""
    for clusters in (equal_clusters(7, 7), connected_clusters(graph, 7)):
        assert sizes(clusters) == [1] * 7
        assert not clusters.within(graph).links()


@pytest.mark.parametrize(
    ("graph", "count", "expected"),
    [
        (complete(20), 6, [3, 3, 3, 3, 4, 4]),
        (line(12), 3, [3, 4, 5]),
        (Graph(12, [*line(12).links(), (0, 11)]), 4, [2, 3, 3, 4]),
        (Graph(8, ((0, leaf) for leaf in range(1, 8))), 3, [1, 1, 6]),  # a star cannot be divided better
        (Graph(8, line(5).links()), 4, [1, 1, 1, 5]),  # each component needs a cluster
    ],
)
def test_clusters_on_links_are_of_about_the_same_size(graph, count, expected):
    """Greedy growth comes close to that, as far as the graph allows it."""
    assert sizes(connected_clusters(graph, count)) == expected


def test_greedy_growth_on_random_graphs_of_the_papers():
    """Thirty nodes with a fifth of all links: no cluster is half as large again as it should be."""
    for seed in range(20):
        clusters = connected_clusters(random_connected(30, 87, Random(seed)), 5)
        assert sizes(clusters)[0] >= 3
        assert sizes(clusters)[-1] <= 9


CLUSTERS = Clusters((0, 1, 0, 1, 1))


def test_links_inside():
    """By the scenario's numbers, and by those inside a cluster."""
    graph = Graph(5, [(0, 2), (1, 2), (1, 4), (3, 4), (0, 1)])
    assert CLUSTERS.within(graph).links() == [(0, 2), (1, 4), (3, 4)]
    assert CLUSTERS.inside(0, graph).links() == [(0, 1)]
    assert CLUSTERS.inside(1, graph).links() == [(0, 2), (1, 2)]
    assert CLUSTERS.inside(1, graph).nodes == 3


def test_only_changes_inside_clusters_are_passed_on():
    """A link between two clusters comes and goes unseen."""
    seen = []

    class Noted:
        """Notes what it is told."""

        def up(self, a: int, b: int) -> None:
            seen.append(("up", a, b))

        def down(self, a: int, b: int) -> None:
            seen.append(("down", a, b))

    links = LinksWithin(Noted(), CLUSTERS)
    for change in (links.up, links.down):
        for a, b in ((0, 1), (0, 2), (2, 3), (3, 4)):
            change(a, b)
    assert seen == [(kind, a, b) for kind in ("up", "down") for a, b in ((0, 2), (3, 4))]
