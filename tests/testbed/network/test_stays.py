"""When nodes are in the neighbourhoods of places: cases computed by hand."""

from __future__ import annotations

from math import inf

import pytest

from testbed.mobility.trajectory import Position, Trajectory, Waypoint, standing
from testbed.network.stays import Neighbourhood, Stay, stays

HERE, THERE = Neighbourhood(Position(0.0, 0.0), 10.0, 2), Neighbourhood(Position(100.0, 0.0), 20.0, 1)
UNTIL = 1000.0


def path(*waypoints: tuple[float, ...], **presence: float) -> Trajectory:
    """A trajectory through (t, x, y[, z])."""
    return Trajectory(tuple(Waypoint(*waypoint) for waypoint in waypoints), **presence)


def found(*trajectories: Trajectory, places: tuple[Neighbourhood, ...] = (HERE, THERE), until: float = UNTIL):
    """The stays, to the nanosecond."""
    return [
        Stay(
            stay.node, stay.group, round(stay.arrives, 9), stay.leaves if stay.leaves == inf else round(stay.leaves, 9)
        )
        for stay in stays(trajectories, places, until=until)
    ]


def test_passing_both_places() -> None:
    """From -50 m to 200 m at 1 m/s: from 40 s to 60 s at the first, from 130 s to 170 s at the second."""
    assert found(path((0, -50, 0), (250, 200, 0))) == [Stay(0, 0, 40.0, 60.0), Stay(0, 1, 130.0, 170.0)]


def test_the_range_is_that_of_the_place() -> None:
    """Six metres aside, the range of 10 m begins eight metres before."""
    assert found(path((0, -50, 6), (250, 200, 6)), places=(HERE,)) == [Stay(0, 0, 42.0, 58.0)]


def test_height_counts() -> None:
    """Places may be above the ground."""
    above = Neighbourhood(Position(0.0, 0.0, 6.0), 10.0, 1)
    assert found(path((0, -50, 0), (100, 50, 0)), places=(above,)) == [Stay(0, 0, 42.0, 58.0)]


def test_a_node_that_is_there_at_the_start() -> None:
    """It arrives at 0, and leaves when it has gone far enough."""
    assert found(path((0, 0, 0), (50, 50, 0))) == [Stay(0, 0, 0.0, 10.0)]


def test_a_node_that_is_there_at_the_end() -> None:
    """It never leaves: because it stands, or because nothing is asked of what comes later."""
    assert found(standing(Position(95.0, 0.0))) == [Stay(0, 1, 0.0, inf)]
    assert found(path((0, -50, 0), (100, 50, 0)), until=50.0) == [Stay(0, 0, 40.0, inf)]


def test_a_node_that_is_never_there() -> None:
    """It passes between them."""
    assert found(path((0, 50, -100), (200, 50, 100))) == []
    assert found(standing(Position(0.0, 0.0)), places=()) == []


def test_a_node_comes_back() -> None:
    """Every stay is one of its own."""
    there_and_back = path((0, 0, 0), (50, 50, 0), (100, 0, 0))
    assert found(there_and_back) == [Stay(0, 0, 0.0, 10.0), Stay(0, 0, 90.0, inf)]


def test_stays_come_in_the_order_of_arrivals() -> None:
    """Those of the same time in the order of the nodes."""
    slow, quick = path((0, -60, 0), (120, 60, 0)), path((0, -60, 0), (60, 60, 0))
    later = standing(Position(5.0, 0.0))
    assert [(stay.node, stay.arrives) for stay in found(slow, quick, later, slow, places=(HERE,))] == [
        (2, 0.0),
        (1, 25.0),
        (0, 50.0),
        (3, 50.0),
    ]


@pytest.mark.parametrize("where", [Position(50.0, 50.0), Position(1.0, 1.0)])
def test_nodes_at_one_point_are_no_place(where: Position) -> None:
    """Neither at the start, nor when one comes to where the other is."""
    stand = standing(where)
    meets = path((0, 50, 60), (10, *where[:2]), (20, 50, 60))
    for node, trajectories in ((0, (stand, stand)), (1, (stand, meets))):
        assert {stay.group for stay in found(*trajectories)} <= {0}
        alone = [stay._replace(node=node) for stay in found(trajectories[node])]
        assert [stay for stay in found(*trajectories) if stay.node == node] == alone


def test_a_node_that_appears_and_leaves() -> None:
    """It is nowhere while it is absent."""
    assert found(path((0, 0, 0), appears=20.0, leaves=30.0)) == [Stay(0, 0, 20.0, 30.0)]


def test_touching_places() -> None:
    """At the instant at which a node leaves one it is in the other."""
    beside = Neighbourhood(Position(20.0, 0.0), 10.0, 1)
    left, arrived = found(path((0, -50, 0), (100, 50, 0)), places=(HERE, beside))
    assert (left, arrived) == (Stay(0, 0, 40.0, 60.0), Stay(0, 1, 60.0, 80.0))
