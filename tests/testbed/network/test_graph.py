"""Graphs: the random connected one, bridges, and drawing links."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.network.graph import Graph, complete, random_connected, random_tree
from testbed.pairs import link_of


def is_connected(graph: Graph) -> bool:
    return len(graph.component(0)) == graph.nodes


@given(st.integers(2, 25), st.integers(0, 2**32), st.floats(0, 1))
def test_random_graphs_are_connected_and_of_the_size_asked_for(nodes, seed, share):
    """Section 6 of the RL paper: a random connected graph with the desired number of links."""
    links = round(nodes - 1 + share * (nodes * (nodes - 1) / 2 - (nodes - 1)))
    graph = random_connected(nodes, links, Random(seed))
    assert len(graph) == links == len(set(graph.links()))
    assert is_connected(graph)


@pytest.mark.parametrize("nodes", [2, 5, 30, 50])
def test_dense_random_graphs_are_drawn_link_by_link(nodes):
    """Knowing the pairs without a link changes nothing of what is drawn, only how long it takes."""
    links, rng, other = nodes * (nodes - 1) // 2, Random(7), Random(7)
    graph, expected = random_connected(nodes, links, rng), Graph(nodes, random_tree(nodes, other))
    while len(expected) < links:
        expected.add(*expected.draw_absent(other, lambda a, b: True))
    assert graph._links == expected._links
    assert rng.random() == other.random()


def test_every_tree_is_as_likely():
    """There are 16 labelled trees of four nodes; each comes up in about a sixteenth of the draws."""
    rng = Random(1)
    counts: dict[tuple, int] = {}
    for _ in range(8_000):
        tree = tuple(sorted(random_tree(4, rng)))
        counts[tree] = counts.get(tree, 0) + 1
    assert len(counts) == 16
    assert all(400 < count < 600 for count in counts.values())


@given(st.integers(2, 12), st.integers(0, 2**32), st.floats(0, 0.4))
def test_bridges_are_those_whose_loss_disconnects(nodes, seed, share):
    """Against the definition: take the link out and see whether its ends still meet."""
    rng = Random(seed)
    graph = random_connected(nodes, min(round(nodes - 1 + share * nodes), nodes * (nodes - 1) // 2), rng)
    for a, b in graph.links():
        found = graph.is_bridge(a, b)
        graph.remove(a, b)
        assert found == (b not in graph.component(a))
        graph.add(a, b)


def test_drawing_what_is_not_there():
    """A tree has no link to spare, a complete graph none to add."""
    rng = Random(2)
    assert Graph(5, random_tree(5, rng)).draw_removable(rng) is None
    assert Graph(3).draw_removable(rng) is None
    assert complete(5).draw_absent(rng, lambda a, b: True) is None
    assert Graph(1).draw_absent(rng, lambda a, b: True) is None
    assert Graph(4).draw_absent(rng, lambda a, b: (a, b) == (1, 3)) == (1, 3)


def test_draws_are_uniform():
    """Every removable link, and every absent one, has the same chance."""
    rng = Random(3)
    ring = Graph(6, [link_of(i, (i + 1) % 6) for i in range(6)])
    removed = [ring.draw_removable(rng) for _ in range(6_000)]
    assert {removed.count(link) for link in ring.links()} <= set(range(880, 1120))
    absent = [ring.draw_absent(rng, lambda a, b: True) for _ in range(9_000)]
    assert len(set(absent)) == 9
    assert all(850 < absent.count(link) < 1150 for link in set(absent))


@pytest.mark.parametrize("seed", range(3))
def test_removal_keeps_the_books(seed):
    """The list to draw from and the adjacency to walk agree after any changes."""
    rng = Random(seed)
    graph = random_connected(12, 30, rng)
    for _ in range(200):
        old = graph.draw_removable(rng)
        new = graph.draw_absent(rng, lambda a, b: True)
        graph.remove(*old)
        graph.add(*new)
        assert len(graph) == 30
        assert sorted({link_of(a, b) for a in range(12) for b in graph.peers[a]}) == graph.links()
        assert is_connected(graph)
