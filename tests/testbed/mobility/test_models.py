"""Properties of every mobility model with any parameters, and the special properties of each model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from testbed import input_errors
from testbed.mobility.area import Area
from testbed.mobility.community import Community, Period
from testbed.mobility.gauss_markov import GaussMarkov
from testbed.mobility.group import Group
from testbed.mobility.legs import Path, Velocity, between, cut, drift
from testbed.mobility.levy_walk import LevyWalk
from testbed.mobility.manhattan import Manhattan
from testbed.mobility.model import MobilityModel
from testbed.mobility.placement import UniformPlacement
from testbed.mobility.random_direction import RandomDirection
from testbed.mobility.random_walk import RandomWalk
from testbed.mobility.random_waypoint import RandomWaypoint
from testbed.mobility.regions import Ball, Box
from testbed.mobility.registry import MODELS, PLACEMENTS, Mobility, Placement
from testbed.mobility.static import Static
from testbed.mobility.trajectory import Position, Trajectory, Waypoint
from testbed.randomness import Streams
from tests.testbed.mobility.observe import legs, speed, velocity

SQUARE = Area(1000.0, 1000.0)

# -- any parameters ---------------------------------------------------------------------------------------------------


def ranges(low: float, high: float) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(low, high), min_size=2, max_size=2).map(sorted)


SPEEDS, PAUSES, SHARES = ranges(0.1, 40), ranges(0, 30) | st.just([0, 0]), st.floats(0, 1)
BOUNDARIES = st.sampled_from(["reflect", "wrap", "stop"])
PERIODS = st.lists(st.builds(Period, duration=st.floats(1, 50), stay=SHARES, roam=SHARES), min_size=1, max_size=3)

ANY: dict[str, st.SearchStrategy[MobilityModel]] = {
    "static": st.builds(Static),
    "random-waypoint": st.builds(RandomWaypoint, speed=SPEEDS, pause=PAUSES),
    "random-walk": st.builds(RandomWalk, speed=ranges(0, 40), interval=st.floats(0.5, 60), boundary=BOUNDARIES),
    "random-direction": st.builds(
        RandomDirection, speed=ranges(0, 40), leg_time=st.floats(0.5, 60), pause=PAUSES,
        boundary=st.sampled_from(["reflect", "wrap"]),
    ),
    "gauss-markov": st.builds(
        GaussMarkov, memory=SHARES, mean_speed=st.floats(0.1, 20), speed_deviation=st.floats(0, 20),
        direction_deviation=st.floats(0, 360), pitch_deviation=st.floats(0, 90), interval=st.floats(0.5, 10),
        boundary=st.sampled_from(["reflect", "wrap", "turn"]), margin=st.floats(1, 200),
    ),
    "group": st.builds(
        Group, groups=st.integers(1, 4), radius=st.floats(5, 100), speed=SPEEDS, pause=PAUSES,
        member_speed=ranges(0.1, 5),
    ),
    "manhattan": st.builds(
        Manhattan, blocks=st.lists(st.integers(1, 6), min_size=2, max_size=2), turn=SHARES, speed=SPEEDS, pause=PAUSES
    ),
    "levy-walk": st.builds(
        LevyWalk, flight=ranges(1, 1000), flight_exponent=st.floats(0.1, 2), pause=ranges(0.5, 100) | st.just(0),
        pause_exponent=st.floats(0.1, 2), slowness=st.floats(1, 100), speed_exponent=SHARES, boundary=BOUNDARIES,
    ),
    "community": st.builds(
        Community, communities=st.integers(1, 3), side=st.floats(1, 50), periods=PERIODS, local_leg=st.floats(1, 100),
        roaming_leg=st.floats(1, 500), speed=SPEEDS, pause=PAUSES,
    ),
}  # fmt: skip


def fastest(model: Any) -> float:
    """An upper bound of the speed of every node."""
    match model.kind:
        case "static":
            return 0.0
        case "gauss-markov":
            return 2 * model.mean_speed
        case "group":
            return model.speed.high + model.member_speed.high
        case "levy-walk":
            return model.flight.high**model.speed_exponent / model.slowness
        case _:
            return model.speed.high


def slowest(model: Any) -> float:
    """A lower bound of the speed of every node that moves."""
    if model.kind == "levy-walk":
        return model.flight.low**model.speed_exponent / model.slowness
    return 0.0 if model.kind in ("static", "gauss-markov", "group") else model.speed.low


@dataclass(frozen=True)
class Run:
    """The arguments of a call of `trajectories`."""

    model: MobilityModel
    area: Area
    duration: float
    nodes: int
    is_placed: bool
    seed: int

    @property
    def starts(self) -> list[Position] | None:
        """Some places, for groups near each other and in the middle; None if the model chooses the starts."""
        if not self.is_placed:
            return None
        places = UniformPlacement().positions(self.nodes, self.area, Random(self.seed))
        if not isinstance(self.model, Group):
            return places
        middle = Position(*(size / 2 for size in self.area))
        return [between(middle, place, self.model.radius / (2 * math.hypot(*self.area))) for place in places]

    def trajectories(self, duration: float | None = None) -> list[Trajectory]:
        """The paths of the model."""
        streams = Streams(self.seed, 0)
        return self.model.trajectories(self.starts, self.nodes, self.area, duration or self.duration, streams)


@st.composite
def runs(draw: st.DrawFn, kind: str) -> Run:
    sides = st.floats(50, 2000)
    area = Area(draw(sides), draw(sides), draw(st.just(0.0) | st.floats(1, 300)))
    model = draw(ANY[kind])
    if isinstance(model, Group):
        model = model.model_copy(update={"radius": min(model.radius, 0.49 * max(area))})
    return Run(model, area, draw(st.floats(1, 100)), draw(st.integers(1, 5)), draw(st.booleans()), draw(st.integers(0)))


@pytest.mark.parametrize("kind", ANY)
def test_any_run(kind: str) -> None:
    """From 0 to the end, in the area, at allowed speeds; the same each time, and a longer run begins the same."""

    @settings(max_examples=60, deadline=None)
    @given(run=runs(kind))
    def check(run: Run) -> None:
        found = run.trajectories()
        assert len(found) == run.nodes
        for trajectory in found:
            check_path(trajectory, run)
        if run.starts is not None and kind != "manhattan":
            for path, start in zip(found, run.starts, strict=True):
                assert math.dist(path.waypoints[0][1:], start) < 1e-9
        assert run.trajectories() == found, "the same streams give the same paths, to the last bit"
        check_prefix(found, run.trajectories(duration=2 * run.duration), run)

    check()


def check_path(trajectory: Trajectory, run: Run) -> None:
    waypoints = trajectory.waypoints
    assert waypoints[0].t == 0
    assert waypoints[-1].t == run.duration
    assert all(a != b for a, b in pairwise(waypoints)), "no waypoint twice"
    for a, b in pairwise(waypoints):
        middle = trajectory.at((a.t + b.t) / 2)
        assert run.area.holds(a)
        assert run.area.holds(middle)
        if a.t == b.t:
            check_jump(a, b, run)
            continue
        length, seconds = math.dist(a[1:], b[1:]), b.t - a.t
        assert length <= fastest(run.model) * seconds * (1 + 1e-6) + 1e-6
        assert length < 1e-6 or length >= slowest(run.model) * seconds * (1 - 1e-6) - 1e-6
    assert run.area.holds(waypoints[-1])
    assert all(isinstance(part, float) for waypoint in waypoints for part in waypoint)
    if run.area.depth == 0 or not isinstance(run.model, RandomWaypoint | GaussMarkov | Group):
        assert {waypoint.z for waypoint in waypoints} == {waypoints[0].z}


def check_jump(a: Waypoint, b: Waypoint, run: Run) -> None:
    """Jumps are from edge to edge, or shorter than a micrometre, by rounding of times."""
    if math.dist(a[1:], b[1:]) > 1e-6:
        assert getattr(run.model, "boundary", None) == "wrap"
        moved = [(start, end, size) for start, end, size in zip(a[1:], b[1:], run.area, strict=True) if start != end]
        assert all({start, end} == {0.0, size} for start, end, size in moved)


def check_prefix(found: list[Trajectory], longer: list[Trajectory], run: Run) -> None:
    """A longer run begins like a shorter one."""
    for short, long in zip(found, longer, strict=True):
        assert all(math.dist(a, b) < 1e-9 for a, b in zip(long.waypoints, short.waypoints[:-1], strict=False))


@pytest.mark.parametrize("kind", ANY)
def test_a_node_does_not_depend_on_how_many_there_are(kind: str) -> None:
    """Each node draws from its own random stream."""
    few, many = (Run(MODELS[kind](), SQUARE, 200.0, nodes, False, 7).trajectories() for nodes in (5, 8))
    assert many[:5] == few
    assert len(set(many)) == 8


@pytest.mark.parametrize("kind", ANY)
def test_another_seed_gives_other_paths(kind: str) -> None:
    """For every node, whether the model chooses the start or not."""
    for is_placed in (False, True):
        one, another = (Run(MODELS[kind](), SQUARE, 200.0, 5, is_placed, seed).trajectories() for seed in (1, 2))
        assert not set(one) & set(another)


def test_no_two_places_of_a_region_are_farther_apart_than_its_diameter() -> None:
    """Otherwise legs would not be drawn by their lengths; and some places are nearly as far apart."""
    rng, box = Random(1), Box(Position(-3, -4), Position(3, 4))
    for region in (box, Ball(3, box), Ball(3, Box(Position(-3, -3, -3), Position(3, 3, 3)))):
        places = [region.uniform(rng) for _ in range(300)]
        farthest = max(math.dist(a, b) for a in places for b in places)
        assert 0.9 * region.diameter < farthest <= region.diameter


# -- each model's own -------------------------------------------------------------------------------------------------


def test_static_stays() -> None:
    """At its start, until the end of the run."""
    (path,) = Static().trajectories([Position(1, 2)], 1, SQUARE, 10.0, Streams(1, 0))
    assert path.waypoints == (Waypoint(0.0, 1, 2), Waypoint(10.0, 1, 2))


@settings(max_examples=60, deadline=None)
@given(run=runs("group"), t=st.floats(0, 1))
def test_members_stay_with_their_group(run: Run, t: float) -> None:
    """Within the radius at every waypoint, and at any time between, in the plane and in space."""
    model, streams = run.model, Streams(run.seed, 0)
    assert isinstance(model, Group)
    references = model.references(run.starts, run.area, run.duration, streams)
    for node, member in enumerate(run.trajectories()):
        reference = references[node % model.groups]
        for time in [*(waypoint.t for waypoint in member.waypoints), t * run.duration]:
            assert math.dist(member.at(time), reference.at(time)) <= model.radius + 1e-6
        assert {w.t for w in reference.waypoints} <= {w.t for w in member.waypoints}


def test_members_use_the_radius() -> None:
    """Members spread over the disc: some are in its outer half, also where the area is narrow."""
    for area in (SQUARE, Area(1000.0, 60.0)):
        model, streams = Group(groups=1, radius=50), Streams(1, 0)
        (reference,) = model.references(None, area, 1.0, streams)
        away = [math.dist(path.at(0), reference.at(0)) for path in model.trajectories(None, 50, area, 1.0, streams)]
        assert max(away) > 25


def test_scattered_starts_are_no_group() -> None:
    """One line says which node is too far, and what is allowed."""
    starts = [Position(100, 100), Position(100, 100), Position(400, 100)]
    line = r"^node 0 starts 150 m from the reference point of group 0: allowed is at most radius, 50 m; "
    with pytest.raises(ValueError, match=line):
        Group(groups=2).trajectories(starts, 3, SQUARE, 1.0, Streams(1, 0))


def test_a_group_needs_room() -> None:
    """With a radius that fills the area, the reference point cannot move."""
    with pytest.raises(ValueError, match=r"^a radius of 500 m in an area of 1000 m x 900 m: .*half of the longer side"):
        Group(radius=500).trajectories(None, 1, Area(1000.0, 900.0), 1.0, Streams(1, 0))


@settings(max_examples=60, deadline=None)
@given(run=runs("manhattan"))
def test_manhattan_stays_on_streets(run: Run) -> None:
    """At every waypoint and between; and nodes turn around only at the edges of the map."""
    columns, rows = run.model.blocks  # type: ignore[attr-defined]
    width, height = run.area.width / columns, run.area.height / rows

    def off(value: float, block: float) -> float:
        return abs(math.remainder(value, block))

    for path in run.trajectories():
        for a, b in pairwise(path.waypoints):
            assert off(a.x, width) < 1e-6 > off(b.x, width) or off(a.y, height) < 1e-6 > off(b.y, height)
            assert abs(a.x - b.x) < 1e-6 or abs(a.y - b.y) < 1e-6
        moves = [leg for leg in legs(path) if speed(leg) > 1e-3]
        for before, after in pairwise(moves):
            (ux, uy, _), (vx, vy, _) = velocity(before), velocity(after)
            if ux * vx + uy * vy < -1e-6:
                x, y = before[1].x, before[1].y
                assert min(x, run.area.width - x, y, run.area.height - y) < 1e-6


def test_manhattan_starts_on_the_nearest_street() -> None:
    """In a map with streets every 100 m."""
    starts = [Position(230, 480), Position(310, 450), Position(1000, 1000)]
    paths = Manhattan().trajectories(starts, 3, SQUARE, 100.0, Streams(1, 0))
    assert [path.waypoints[0][1:3] for path in paths] == [(230, 500), (300, 450), (1000, 1000)]
    assert paths[0].waypoints[1][1:3] in [(200, 500), (300, 500)], "and goes to the next crossing"
    assert paths[1].waypoints[1][1:3] in [(300, 400), (300, 500)]
    assert paths[2].waypoints[1][1:3] in [(1000, 900), (900, 1000)]


def test_straight_on_turns_around_at_the_edges() -> None:
    """Without turns a node goes back and forth on one street."""
    (path,) = Manhattan(turn=0, speed=100).trajectories([Position(500, 420)], 1, SQUARE, 40.0, Streams(1, 0))
    assert {waypoint.x for waypoint in path.waypoints} == {500}
    assert {0, 1000} <= {waypoint.y for waypoint in path.waypoints}


def test_a_community_that_never_roams_is_at_home() -> None:
    """In the home of the period; when the next begins, nodes go straight to the next home."""
    periods = [Period(duration=500, stay=1, roam=0), Period(duration=500, stay=1, roam=0)]
    model, streams = Community(communities=2, side=100, periods=periods, speed=[5, 10], pause=[0, 1]), Streams(1, 0)
    homes = model.homes(SQUARE, streams)
    assert homes[0] != homes[1]
    for node, path in enumerate(model.trajectories(None, 4, SQUARE, 1400.0, streams)):
        first, second = homes[node % 2]
        assert all(first.holds(path.at(t)) for t in range(0, 500, 10))
        assert all(second.holds(path.at(t)) for t in range(800, 1000, 10))
        assert all(first.holds(path.at(t)) for t in range(1300, 1400, 10))


def test_a_community_that_only_roams_is_anywhere() -> None:
    """Outside its home most of the time."""
    model = Community(side=100, periods=[Period(duration=500, stay=0, roam=1)], speed=[5, 10])
    homes = model.homes(SQUARE, Streams(1, 0))
    paths = model.trajectories(None, 40, SQUARE, 500.0, Streams(1, 0))
    assert sum(homes[node % 4][0].holds(path.at(500)) for node, path in enumerate(paths)) < 10


def test_a_community_needs_room() -> None:
    """Homes lie in the area."""
    with pytest.raises(ValueError, match=r"^homes with a side of 200 m: allowed is at most .* 150 m$"):
        Community().trajectories(None, 1, Area(1000.0, 150.0), 1.0, Streams(1, 0))


def test_gauss_markov_uses_the_depth() -> None:
    """In an area with depth nodes climb and sink; in a flat one they do not."""
    deep, flat = (
        GaussMarkov().trajectories(None, 1, Area(500.0, 500.0, depth), 200.0, Streams(1, 0)) for depth in (100.0, 0.0)
    )
    assert len({waypoint.z for waypoint in deep[0].waypoints}) > 100
    assert {waypoint.z for waypoint in flat[0].waypoints} == {0}


def test_an_area_without_height_is_refused() -> None:
    """No node could move in it, and random waypoint would draw legs without end."""
    with pytest.raises(ValueError, match=r"^an area of 10 x 0 x 0 m: nodes move in width and height$"):
        RandomWaypoint().trajectories(None, 1, Area(10.0, 0.0), 1.0, Streams(1, 0))


# -- edges, by hand ---------------------------------------------------------------------------------------------------

BOX = Box(Position(0, 0), Position(100, 50))


def drifted(boundary: Any, to: Velocity, seconds: float, x: float = 90, y: float = 20) -> tuple[Any, Velocity]:
    ends: list[tuple[Waypoint, Velocity]] = []

    def recorded() -> Path:
        ends.append((yield from drift(Waypoint(0.0, x, y), to, seconds, BOX, boundary)))

    found = list(recorded())
    assert ends[0][0] == found[-1]
    return found, ends[0][1]


def test_reflect() -> None:
    """At the right edge after 1 s, at the upper one after 3 s; at the end both components are reversed."""
    found, after = drifted("reflect", Velocity(10, 10), 4)
    assert found == [(1, 100, 30, 0), (3, 80, 50, 0), (4, 70, 40, 0)]
    assert after == (-10, -10, 0)


def test_wrap() -> None:
    """A jump to the opposite edge when an edge is reached, and on from there."""
    found, after = drifted("wrap", Velocity(10, 10), 4)
    assert found == [(1, 100, 30, 0), (1, 0, 30, 0), (3, 20, 50, 0), (3, 20, 0, 0), (4, 30, 10, 0)]
    assert after == (10, 10, 0)


def test_stop() -> None:
    """The leg ends at the edge, before its time."""
    assert drifted("stop", Velocity(10, 10), 4) == ([(1, 100, 30, 0)], (10, 10, 0))


def test_a_rounding_error_outside_is_at_the_edge() -> None:
    """And time does not go backwards, however slowly the node moves away."""
    found, _ = drifted("reflect", Velocity(1e-6, 1), 4, x=100 + 1e-7)
    assert [waypoint[:2] for waypoint in found] == [(0, 100), (4, pytest.approx(100, abs=1e-5))]


@pytest.mark.parametrize("boundary", ["reflect", "wrap"])
def test_from_a_corner_outwards(boundary: Any) -> None:
    """Both edges at once, at time 0: one jump, or none."""
    path = drift(Waypoint(0.0, 100, 50), Velocity(10, 10), 1.0, BOX, boundary)
    here = Waypoint(0.0, 100, 50)
    found = cut(iter([here, *path]), 1.0).waypoints
    jump = [Waypoint(0.0, 0, 0)] if boundary == "wrap" else []
    end = Waypoint(1.0, 90, 40) if boundary == "reflect" else Waypoint(1.0, 10, 10)
    assert found == (here, *jump, end)


# -- in a scenario ----------------------------------------------------------------------------------------------------


def parse(value: Any, of: Any = Mobility) -> Any:
    return TypeAdapter(of).validate_python(value)


def complaint(value: Any, of: Any = Mobility) -> tuple[str, str, str]:
    """The first error: its key, what was found there and what is allowed."""
    with pytest.raises(ValidationError) as caught:
        parse(value, of)
    first = caught.value.errors()[0]
    context = first.get("ctx", {})
    path = [*map(str, first["loc"][1:]), *context.get("path", ())]
    found = context.get("found_text") or input_errors.shown(first["input"])
    return ".".join(path), found, input_errors.allowed_by(first)


def test_no_model_is_forgotten_here() -> None:
    """All models that draw their paths are here; a trace has its own tests."""
    assert {*ANY, "trace"} == set(MODELS)


@pytest.mark.parametrize(("registry", "union"), [(MODELS, Mobility), (PLACEMENTS, Placement)])
def test_the_registry_is_complete(registry: dict[str, Any], union: Any) -> None:
    """The union of a scenario's field and the registry name the same classes, by the kinds they have."""
    assert set(get_args(get_args(union)[0])) == set(registry.values())
    for kind, section in registry.items():
        assert section.model_fields["kind"].default == kind
        assert section.__doc__.endswith(".")
        assert "\n" not in section.__doc__


@pytest.mark.parametrize("kind", ANY)
def test_a_kind_alone_takes_the_defaults(kind: str) -> None:
    """And a model that is written out is read back unchanged."""
    model = parse(kind)
    assert model == MODELS[kind]()
    written = model.model_dump()
    assert list(written) == list(MODELS[kind].model_fields)
    assert parse(written) == model


def test_a_range_may_be_one_number() -> None:
    """It is both ends of the range."""
    assert parse({"kind": "random-waypoint", "speed": 5, "pause": [1, 2]}).model_dump() == {
        "kind": "random-waypoint", "speed": [5.0, 5.0], "pause": [1.0, 2.0],
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["random-waypoint", "manhattan", "community", "group"])
@pytest.mark.parametrize("speed", [0, [0, 10]])
def test_a_lowest_speed_of_0_is_refused(kind: str, speed: Any) -> None:
    """For models that draw legs in metres; and the reason is given."""
    key, found, allowed = complaint({"kind": kind, "speed": speed})
    assert (key, found) == ("speed", str(speed))
    assert "0.001 to 10000 m/s: " in allowed
    assert "slower for as long as they move" in allowed


def test_a_lowest_speed_of_0_is_fine_where_legs_are_timed() -> None:
    """Such legs end, however slow they are."""
    for kind in ("random-walk", "random-direction"):
        assert parse({"kind": kind, "speed": [0, 10]}).speed.low == 0


@pytest.mark.parametrize("speed", [[3, 2], [1], [1, 2, 3], "fast", True, [1, True], -1, 1e5, None, float("nan")])
def test_what_is_no_range(speed: Any) -> None:
    """In order, two, numbers, and within bounds."""
    assert complaint({"kind": "random-walk", "speed": speed})[2] == "a number or [low, high], 0 to 10000 m/s"


@pytest.mark.parametrize(
    ("value", "key", "allowed"),
    [
        ({"kind": "levy-walk", "pause": [0, 10]}, "pause", "a shortest pause of at least 0.001 s"),
        ({"kind": "levy-walk", "flight": 0}, "flight", "a number or [low, high], 0.001 to 1e+07 m"),
        ({"kind": "levy-walk", "boundary": "turn"}, "boundary", "one of 'reflect', 'wrap' or 'stop'"),
        ({"kind": "gauss-markov", "memory": 1.5}, "memory", "at most 1"),
        ({"kind": "manhattan", "blocks": [0, 3]}, "blocks.0", "at least 1"),
        ({"kind": "community", "periods": [{"duration": 5, "to": 3}]}, "periods.0.to", "one of duration, stay, roam"),
        ({"kind": "group", "leader": 3}, "leader", "one of kind, groups, radius, speed, pause, member_speed"),
    ],
)
def test_what_is_refused(value: Any, key: str, allowed: str) -> None:
    """With the key it is under and what is allowed."""
    found = complaint(value)
    assert found[0] == key
    assert found[2].startswith(allowed)
