"""Where placements put nodes, and what they refuse."""

from __future__ import annotations

import math
import re
from itertools import combinations
from random import Random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from testbed.mobility.area import Area
from testbed.mobility.registry import PLACEMENTS, Placement
from testbed.mobility.trajectory import Position
from tests.testbed.mobility.observe import assert_mean, assert_uniform

SQUARE = Area(1000.0, 1000.0)


def placed(nodes: int, area: Area = SQUARE, seed: int = 1, **keys: Any) -> list[Position]:
    placement: Any = TypeAdapter(Placement).validate_python(keys)
    return placement.positions(nodes, area, Random(seed))


def flat(positions: list[Position]) -> list[tuple[float, float]]:
    return [(position.x, position.y) for position in positions]


def test_a_grid_fills_the_area() -> None:
    """Each node in the middle of its own cell, row by row; the last row may be short."""
    assert flat(placed(4, kind="grid")) == [(250, 250), (750, 250), (250, 750), (750, 750)]
    assert flat(placed(3, Area(300.0, 100.0), kind="grid")) == [(50, 50), (150, 50), (250, 50)]
    assert flat(placed(3, Area(100.0, 300.0), kind="grid")) == [(50, 50), (50, 150), (50, 250)]
    assert flat(placed(5, Area(300.0, 200.0), kind="grid"))[3:] == [(50, 150), (150, 150)]


def test_a_grid_with_a_spacing_is_square_in_the_middle() -> None:
    """As far as the area allows."""
    assert flat(placed(4, kind="grid", spacing=100)) == [(450, 450), (550, 450), (450, 550), (550, 550)]
    assert flat(placed(6, Area(300.0, 110.0), kind="grid", spacing=100)) == [
        (50, 5), (150, 5), (250, 5), (50, 105), (150, 105), (250, 105),
    ]  # fmt: skip
    assert flat(placed(8, Area(300.0, 100.0), kind="grid", spacing=100))[3:5] == [(300, 0), (0, 100)]
    assert len({place.x for place in placed(16, Area(0.7, 0.3), kind="grid", spacing=0.1)}) == 4


def test_a_line() -> None:
    """Across the area, with a spacing around the middle, or between two places."""
    assert flat(placed(3, kind="line")) == [(0, 500), (500, 500), (1000, 500)]
    assert flat(placed(3, kind="line", spacing=50)) == [(450, 500), (500, 500), (550, 500)]
    assert flat(placed(3, kind="line", start=[0, 10], end=[100, 30])) == [(0, 10), (50, 20), (100, 30)]
    assert placed(2, Area(9.0, 9.0, 9.0), kind="line", start=[1, 1, 1], end=[2, 2, 9])[1] == (2, 2, 9)
    assert flat(placed(1, kind="line")) == [(500, 500)]
    assert len(placed(4, Area(0.3, 1.0), kind="line", spacing=0.1)) == 4, "3 x 0.1 is a little more than 0.3"


def test_a_ring() -> None:
    """Evenly, counter-clockwise; by default as large as fits."""
    found = placed(4, kind="ring", radius=100)
    assert [(round(x, 6), round(y, 6)) for x, y in flat(found)] == [(600, 500), (500, 600), (400, 500), (500, 400)]
    for place in placed(7, Area(1000.0, 600.0), kind="ring", centre=[200, 300]):
        assert math.dist(place, (200, 300, 0)) == pytest.approx(200)


def test_explicit_places() -> None:
    """As listed, with a height if there is one."""
    found = placed(2, Area(10.0, 10.0, 5.0), kind="explicit", places=[[1, 2], [10, 0, 5]])
    assert found == [(1, 2, 0), (10, 0, 5)]


def test_uniform_places() -> None:
    """Sixteen equal cells have equally many nodes; in an area with depth, heights are used too."""
    found = placed(4000, kind="uniform")
    assert_uniform([int(place.x // 250) + 4 * int(place.y // 250) for place in found], 16)
    assert_mean([place.z for place in placed(1000, Area(10.0, 10.0, 8.0), kind="uniform")], 4)


def test_clusters() -> None:
    """Nodes are normally distributed around the centres, in turn, independently on each axis."""
    found = placed(3000, Area(1e6, 1e6), kind="cluster", clusters=3, deviation=20)
    for cluster in range(3):
        for along in zip(*flat(found[cluster::3]), strict=True):
            middle = fmean(along)
            assert_mean([(value - middle) ** 2 for value in along], 400)
    assert min(math.dist(a, b) for a, b in combinations(found[:3], 2)) > 1000, "each around its own centre"


def test_clusters_are_cut_to_the_area_and_not_piled_up_at_its_edges() -> None:
    """A cluster much wider than the area is uniform in it."""
    found = placed(4000, kind="cluster", clusters=1, deviation=100_000)
    assert_uniform([int(place.x // 250) + 4 * int(place.y // 250) for place in found], 16)


ANY = {
    "grid": st.fixed_dictionaries({}, optional={"spacing": st.floats(0.1, 100)}),
    "uniform": st.just({}),
    "explicit": st.fixed_dictionaries(
        {"places": st.lists(st.lists(st.floats(-10, 2000), min_size=2, max_size=3), max_size=12)}
    ),
    "cluster": st.fixed_dictionaries({"clusters": st.integers(1, 20), "deviation": st.floats(0.01, 1e6)}),
    "line": st.fixed_dictionaries({}, optional={"spacing": st.floats(0.1, 1000)}),
    "ring": st.fixed_dictionaries(
        {}, optional={"radius": st.floats(0.1, 1000), "centre": st.lists(st.floats(0, 1000), min_size=2, max_size=2)}
    ),
}


@pytest.mark.parametrize("kind", PLACEMENTS)
def test_any_placement(kind: str) -> None:
    """Every node is in the area, and the same draws give the same places; or one line says what is allowed."""

    @settings(max_examples=100, deadline=None)
    @given(ANY[kind], st.integers(1, 12), st.floats(1, 2000), st.floats(1, 2000), st.sampled_from([0.0, 1.0, 500.0]))
    def check(keys: dict[str, Any], nodes: int, width: float, height: float, depth: float) -> None:
        area = Area(width, height, depth)
        try:
            found = placed(nodes, area, kind=kind, **keys)
        except ValueError as error:
            line = str(error)
        else:
            line = ""
        if line:
            assert re.fullmatch(".*: allowed .*", line)
            assert keys, "without parameters there is always room"
            return
        assert len(found) == nodes
        assert all(map(area.holds, found))
        assert found == placed(nodes, area, kind=kind, **keys)

    check()


def test_neighbours_on_a_grid_are_a_spacing_apart() -> None:
    """None is nearer, whatever the shape of the grid."""
    for nodes in range(2, 30):
        found = placed(nodes, kind="grid", spacing=30)
        nearest = min(math.dist(a, b) for a in found for b in found if a is not b)
        assert nearest == pytest.approx(30)


@pytest.mark.parametrize(
    ("nodes", "keys", "line"),
    [
        (3, {"kind": "explicit", "places": [[1, 1]]}, "a list of 1 places: allowed is one for each of the 3 nodes"),
        (
            2,
            {"kind": "explicit", "places": [[1, 1], [1, 1001]]},
            "node 1 at [1, 1001, 0]: allowed is a place in the area of 1000 x 1000 m",
        ),
        (
            1,
            {"kind": "explicit", "places": [[1, 1, 5]]},
            "node 0 at [1, 1, 5]: allowed is a place in the area of 1000 x 1000 m",
        ),
        (
            50,
            {"kind": "line", "spacing": 30},
            "a line of 50 nodes 30 m apart, 1470 m long: allowed is at most the width of the area, 1000 m",
        ),
        (
            2,
            {"kind": "line", "start": [0, 0], "end": [0, 1200]},
            "a line to [0, 1200, 0]: allowed is a place in the area of 1000 x 1000 m",
        ),
        (
            26,
            {"kind": "grid", "spacing": 250},
            "a grid of 26 nodes 250 m apart: allowed are at most 25 in an area of 1000 x 1000 m",
        ),
        (
            5,
            {"kind": "ring", "radius": 501},
            "a ring of radius 501 m about [500, 500, 0]: allowed is at most 500 m in an area of 1000 x 1000 m",
        ),
        (
            5,
            {"kind": "ring", "centre": [0, 2000]},
            "a ring about [0, 2000, 0]: allowed is a place in the area of 1000 x 1000 m",
        ),
    ],
)
def test_placements_that_do_not_fit(nodes: int, keys: dict[str, Any], line: str) -> None:
    """One line: what was found, and what is allowed."""
    with pytest.raises(ValueError, match=r"^") as caught:
        placed(nodes, **keys)
    assert str(caught.value) == line


@pytest.mark.parametrize("keys", [{"start": [0, 0]}, {"spacing": 3, "start": [0, 0], "end": [1, 1]}])
def test_a_line_is_given_in_one_way(keys: dict[str, Any]) -> None:
    """By a spacing, or by both ends."""
    with pytest.raises(ValidationError):
        placed(3, kind="line", **keys)


def test_a_kind_alone_takes_the_defaults() -> None:
    """And a placement that is written out is read back unchanged."""
    adapter: TypeAdapter[Any] = TypeAdapter(Placement)
    for kind, section in PLACEMENTS.items():
        if kind != "explicit":
            placement = adapter.validate_python(kind)
            assert placement == section()
            assert adapter.validate_python(placement.model_dump()) == placement
