"""The link-reversal toolkit: heights, and the partial reversal of Gafni and Bertsekas (1981).

A height is a triple (h1, h2, node). Heights are compared lexicographically, so they are totally ordered and the links,
each directed from its higher end to its lower end, never form a cycle. The functions here are pure; the algorithms
that share them differ in when they call them.
"""

from collections import deque
from collections.abc import Iterable, Mapping

from agents.contract import Graph

Height = tuple[int, int, int]


def lowest(heights: Mapping[int, Height]) -> int:
    """The node with the lowest height; heights carry their node last, so there are no ties."""
    return min(heights.values())[2]


def is_lowest(mine: Height, heights: Mapping[int, Height]) -> bool:
    """Whether all links are incoming. A node without neighbours has no links and is not a sink."""
    return bool(heights) and mine < min(heights.values())


def is_highest(mine: Height, heights: Mapping[int, Height]) -> bool:
    """Whether all links are outgoing; not so for a node that has none."""
    return bool(heights) and mine > max(heights.values())


def lower_than(height: Height, node: int) -> Height:
    """The height that `node` takes when it receives the token from a node of the given height."""
    return (height[0], height[1] - 1, node)


def raised(mine: Height, heights: Mapping[int, Height]) -> Height:
    """Partial reversal: rise just above the lowest neighbours, and stay below those already that high.

    Lines 1-3 of RaiseHeight in the RL paper: h1 is one more than the least h1 around, and h2 is one less than the
    least h2 among the neighbours that share the new h1, if there are any.
    """
    level = 1 + min(height[0] for height in heights.values())
    peers = [height[1] for height in heights.values() if height[0] == level]
    return (level, min(peers) - 1 if peers else mine[1], mine[2])


def lowered(mine: Height, heights: Mapping[int, Height]) -> Height:
    """The reverse of `raised`: sink just below the highest neighbours, and stay above those already that low.

    Lines 1-3 of LowerHeight in the KRL paper.
    """
    level = max(height[0] for height in heights.values()) - 1
    peers = [height[1] for height in heights.values() if height[0] == level]
    return (level, max(peers) + 1 if peers else mine[1], mine[2])


def distances(graph: Graph, roots: Iterable[int]) -> dict[int, int]:
    """Hops from the nearest root, for every node that can be reached."""
    hops = dict.fromkeys(roots, 0)
    frontier = deque(hops)
    while frontier:
        node = frontier.popleft()
        for peer in graph[node]:
            if peer not in hops:
                hops[peer] = hops[node] + 1
                frontier.append(peer)
    return hops


def by_distance(graph: Graph, root: int) -> list[Height]:
    """Heights that direct every link of a connected graph towards `root`: (0, hops to the root, node)."""
    hops = distances(graph, (root,))
    return [(0, hops.get(node, len(graph)), node) for node in range(len(graph))]
