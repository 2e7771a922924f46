"""Mobility models against theory: speeds, places and pauses of nodes, at the start and at the end of a run.

Every expectation is computed here, independently of the models. A tolerance is four standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import pytest

from testbed.mobility.area import Area
from testbed.mobility.community import Community, Period
from testbed.mobility.gauss_markov import GaussMarkov
from testbed.mobility.group import Group
from testbed.mobility.levy_walk import LevyWalk
from testbed.mobility.manhattan import Manhattan
from testbed.mobility.model import MobilityModel
from testbed.mobility.random_direction import RandomDirection
from testbed.mobility.random_walk import RandomWalk
from testbed.mobility.random_waypoint import RandomWaypoint
from testbed.mobility.trajectory import Position, Trajectory
from testbed.randomness import Streams
from tests.testbed.mobility.observe import (
    SIGMAS,
    assert_law,
    assert_mean,
    assert_share,
    assert_uniform,
    integral,
    legs,
    speed,
    start_and_end,
    velocity,
)

SQUARE = Area(1000.0, 1000.0)
MEAN_DISTANCE_IN_UNIT_SQUARE = 0.5214054331
MEAN_DISTANCE_IN_UNIT_CUBE = 0.6617071822


def run(
    model: MobilityModel, nodes: int, duration: float, area: Area = SQUARE, start: Position | None = None, seed: int = 1
) -> list[Trajectory]:
    starts = None if start is None else [start] * nodes
    return model.trajectories(starts, nodes, area, duration, Streams(seed, 0))


# -- random waypoint --------------------------------------------------------------------------------------------------

SLOW_TO_FAST = RandomWaypoint(speed=[1, 20])
STATIONARY_SPEED = (20 - 1) / math.log(20 / 1)


def test_random_waypoint_speed_does_not_decay() -> None:
    """At an arbitrary time, the mean speed is (high - low) / ln(high / low), 6.3 m/s here, and not 10.5."""
    for found in start_and_end(run(SLOW_TO_FAST, 2500, 2000.0)):
        assert_mean([speed(leg) for leg in found], STATIONARY_SPEED)


def test_random_waypoint_speed_decays_from_a_placement() -> None:
    """Why the steady state is needed: nodes that start together have the mean of all speeds at first, and slow down."""
    start, end = start_and_end(run(SLOW_TO_FAST, 1000, 5000.0, start=Position(500, 500)))
    assert_mean([speed(leg) for leg in start], 10.5)
    assert_mean([speed(leg) for leg in end], STATIONARY_SPEED)


def spread_on_random_legs(width: float, height: float, steps: int = 60) -> float:
    """The mean of (x - width/2)^2 over legs between uniform places, weighted by their length: by quadrature.

    A leg from a to b has the mean (a^2 + a b + b^2) / 3 of squared distances from the middle; a difference of d in y
    has the density 2 (height - d) / height^2.
    """
    points = [(i + 0.5) / steps for i in range(steps)]
    weighted = total = 0.0
    for a in points:
        for b in points:
            across = sum(2 * (1 - d) * math.hypot((a - b) * width, d * height) for d in points)
            left, right = (a - 0.5) * width, (b - 0.5) * width
            total += across
            weighted += across * (left * left + left * right + right * right) / 3
    return weighted / total


def test_random_waypoint_crowds_the_middle() -> None:
    """Squared distances from the middle, along both sides of a rectangle; uniform places would give size^2 / 12."""
    area, duration = Area(1000.0, 400.0), 1000.0
    trajectories = run(RandomWaypoint(speed=[5, 20]), 2500, duration, area)
    along_x, along_y = spread_on_random_legs(1000, 400), spread_on_random_legs(400, 1000)
    assert along_x < 0.8 * 1000**2 / 12
    for t in (0.0, duration):
        places = [trajectory.at(t) for trajectory in trajectories]
        assert_mean([(place.x - 500) ** 2 for place in places], along_x)
        assert_mean([(place.y - 200) ** 2 for place in places], along_y)


@pytest.mark.parametrize(
    ("area", "mean_distance"),
    [(SQUARE, 1000 * MEAN_DISTANCE_IN_UNIT_SQUARE), (Area(100.0, 100.0, 100.0), 100 * MEAN_DISTANCE_IN_UNIT_CUBE)],
    ids=["square", "cube"],
)
def test_random_waypoint_pauses(area: Area, mean_distance: float) -> None:
    """The share of nodes that pause is the mean pause over the mean of leg and pause."""
    low, high = 2.0, 10.0
    leg = mean_distance * math.log(high / low) / (high - low)
    mean_pause = 0.8 * leg
    model = RandomWaypoint(speed=[low, high], pause=[0.5 * mean_pause, 1.5 * mean_pause])
    for found in start_and_end(run(model, 2000, 5 * leg, area)):
        assert_share(sum(speed(leg) == 0 for leg in found), 2000, mean_pause / (leg + mean_pause))


@pytest.mark.parametrize("model", [RandomWaypoint, RandomDirection, Manhattan])
def test_rest_of_a_pause(model: Any) -> None:
    """The rest of a pause at time 0 has the mean E[pause^2] / (2 E[pause])."""
    start, _ = start_and_end(run(model(speed=10, pause=[30, 330]), 2000, 1000.0))
    left = [b.t for a, b in start if speed((a, b)) == 0]
    assert len(left) > 1000
    assert_mean(left, (330**3 - 30**3) / (3 * 300) / (2 * 180))


# -- uniform places ---------------------------------------------------------------------------------------------------

UNIFORM: list[MobilityModel] = [
    model(boundary=boundary, **keys)
    for model, keys in [
        (RandomWalk, {"speed": [0, 60]}),
        (RandomDirection, {"speed": [0, 60], "leg_time": 20, "pause": [0, 10]}),
        (GaussMarkov, {"mean_speed": 30, "speed_deviation": 10, "interval": 3}),
        (LevyWalk, {"flight": [10, 3000], "slowness": 5, "pause": [1, 20]}),
    ]
    for boundary in ("reflect", "wrap")
]  # type: ignore[operator]


def cell(place: Position, area: Area) -> int:
    """Which of 25 equal cells, most of them at an edge."""
    return min(int(5 * place.x / area.width), 4) + 5 * min(int(5 * place.y / area.height), 4)


@pytest.mark.parametrize("model", UNIFORM, ids=lambda model: f"{model.kind} {model.boundary}")
def test_places_stay_uniform(model: MobilityModel) -> None:
    """Nain et al. 2005, theorem on random direction; the argument holds for every model that edges reflect or wrap."""
    area, duration = Area(1000.0, 600.0), 60.0
    trajectories = run(model, 1500, duration, area)
    assert_uniform([cell(trajectory.at(duration), area) for trajectory in trajectories], 25)


def test_gauss_markov_heights_stay_uniform() -> None:
    """Also where floor and ceiling reflect nodes."""
    model = GaussMarkov(mean_speed=30, pitch_deviation=20, memory=0.95, interval=3)
    heights = [path.at(60).z for path in run(model, 1500, 60.0, Area(1000.0, 1000.0, 50.0))]
    assert_uniform([min(int(z / 5), 9) for z in heights], 10)


@pytest.mark.parametrize("boundary", ["reflect", "wrap"])
def test_random_direction_becomes_uniform(boundary: Any) -> None:
    """From one corner, within a few crossings of the area."""
    area, duration = Area(300.0, 200.0), 600.0
    model = RandomDirection(speed=[5, 15], leg_time=20, boundary=boundary)
    trajectories = run(model, 1000, duration, area, start=Position(1, 1))
    assert_uniform([cell(trajectory.at(duration), area) for trajectory in trajectories], 25)


def test_random_waypoint_is_not_uniform() -> None:
    """The test of uniformity can fail."""
    trajectories = run(RandomWaypoint(), 1500, 1.0)
    with pytest.raises(AssertionError, match="sigma"):
        assert_uniform([cell(trajectory.at(0), SQUARE) for trajectory in trajectories], 25)


# -- random walk and random direction ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [RandomWalk(speed=[2, 10]), RandomDirection(speed=[2, 10])], ids=lambda m: m.kind)
def test_timed_legs_keep_the_mean_of_all_speeds(model: MobilityModel) -> None:
    """If the time of a leg is drawn, the speed at an arbitrary time has the law it is drawn with."""
    for found in start_and_end(run(model, 2000, 200.0)):
        assert_mean([speed(leg) for leg in found], 6)


@pytest.mark.parametrize("model", [RandomWalk(interval=30), GaussMarkov(interval=30)], ids=lambda model: model.kind)
def test_runs_begin_in_the_middle_of_a_step(model: MobilityModel) -> None:
    """Nodes do not all turn at the same time."""
    trajectories = run(model, 1000, 30.0, Area(1e6, 1e6))
    assert_law([trajectory.waypoints[1].t for trajectory in trajectories], lambda t: t / 30)


def test_random_direction_pauses() -> None:
    """The share of nodes that pause is the mean pause over the mean of leg and pause."""
    for found in start_and_end(run(RandomDirection(speed=[2, 10], leg_time=30, pause=[5, 35]), 2000, 300.0)):
        assert_share(sum(speed(leg) == 0 for leg in found), 2000, 20 / (30 + 20))


def test_random_direction_leg_times() -> None:
    """Exponential; and so is the rest of a leg at time 0."""
    trajectories = run(RandomDirection(speed=1, leg_time=10, pause=1), 400, 300.0, Area(1e6, 1e6))
    found = [leg for trajectory in trajectories for leg in legs(trajectory)[:10]]  # far from the end of the run
    moving = [b.t - a.t for a, b in found if speed((a, b)) > 0]
    assert_law(moving, lambda t: 1 - math.exp(-t / 10))


# -- Gauss-Markov -----------------------------------------------------------------------------------------------------


def autocorrelation(values: Sequence[float], lag: int) -> float:
    mean = fmean(values)
    centred = [value - mean for value in values]
    return sum(a * b for a, b in zip(centred, centred[lag:], strict=False)) / sum(a * a for a in centred)


def bartlett_error(alpha: float, lag: int, n: int) -> float:
    """The standard error of the autocorrelation of a first-order process (Bartlett 1946)."""
    powers = alpha ** (2 * lag)
    return math.sqrt(((1 + alpha**2) * (1 - powers) / (1 - alpha**2) - 2 * lag * powers) / n)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("depth", [0.0, 1e6], ids=["flat", "deep"])
def test_gauss_markov_memory(alpha: float, depth: float) -> None:
    """Speed, direction and pitch of steps k apart are correlated by alpha^k, and spread as the deviations say."""
    steps, area = 5000, Area(1e6, 1e6, depth)
    model = GaussMarkov(memory=alpha, mean_speed=10, speed_deviation=1.5, direction_deviation=20, pitch_deviation=15)
    (trajectory,) = run(model, 1, steps, area, start=Position(5e5, 5e5, depth / 2))
    velocities = [velocity(leg) for leg in legs(trajectory)]
    assert len(velocities) == steps
    turned = math.atan2(velocities[0][1], velocities[0][0])
    series = {
        1.5: [math.hypot(*v) for v in velocities],
        math.radians(20): [math.remainder(math.atan2(v[1], v[0]) - turned, math.tau) for v in velocities],
        math.radians(15): [math.atan2(v[2], math.hypot(*v[:2])) for v in velocities],
    }
    assert abs(fmean(series[1.5]) - 10) <= SIGMAS * 1.5 * math.sqrt((1 + alpha) / (1 - alpha) / steps)
    for deviation, values in list(series.items())[: 3 if depth else 2]:
        for lag in (1, 2, 5):
            assert abs(autocorrelation(values, lag) - alpha**lag) <= SIGMAS * bartlett_error(alpha, lag, steps)
        mean = fmean(values)
        variance = fmean((value - mean) ** 2 for value in values)
        error = math.sqrt(2 * (1 + alpha**2) / (1 - alpha**2) / steps)  # of a variance, for such a process
        assert abs(variance / deviation**2 - 1) <= SIGMAS * error


def test_gauss_markov_mean_speed() -> None:
    """Cutting speeds on both sides does not change the mean, also where a quarter of them is cut."""
    for found in start_and_end(run(GaussMarkov(mean_speed=4, speed_deviation=3.5), 2000, 20.0)):
        assert_mean([speed(leg) for leg in found], 4)


def test_gauss_markov_starts_spread_around_the_means() -> None:
    """The mean squared difference of distant values is twice the variance; a start at the means would give it once."""
    model = GaussMarkov(memory=0.5, mean_speed=10, speed_deviation=1.5, direction_deviation=20)
    start, end = start_and_end(run(model, 1000, 20.0, Area(1e6, 1e6)))
    pairs = [(velocity(a), velocity(b)) for a, b in zip(start, end, strict=True)]
    turned = [math.remainder(math.atan2(a[1], a[0]) - math.atan2(b[1], b[0]), math.tau) for a, b in pairs]
    assert_mean([angle**2 for angle in turned], 2 * math.radians(20) ** 2)
    assert_mean([(math.hypot(*a) - math.hypot(*b)) ** 2 for a, b in pairs], 2 * 1.5**2)


@pytest.mark.parametrize("depth", [0.0, 200.0], ids=["edges", "floor and ceiling"])
def test_gauss_markov_turns_before_the_edge(depth: float) -> None:
    """With `turn`, nodes hardly ever reach an edge; with `reflect` they often do."""
    area = Area(1e6, 1e6, depth) if depth else Area(600.0, 600.0)

    def hits(boundary: Any) -> int:
        model = GaussMarkov(boundary=boundary, margin=80, direction_deviation=10, interval=2)
        waypoints = [w for path in run(model, 40, 600.0, area) for w in path.waypoints[:-1]]
        return sum(at in (0, size) for w in waypoints for at, size in zip(w[1:], area, strict=True) if size)

    assert hits("turn") < 0.05 * hits("reflect")


# -- Lévy walk --------------------------------------------------------------------------------------------------------

LEVY = LevyWalk(
    flight=[10, 500], flight_exponent=1.3, pause=[5, 300], pause_exponent=0.7, slowness=20, speed_exponent=0.6
)


def flight_density(length: float) -> float:
    return length**-2.3


def pause_density(seconds: float) -> float:
    return seconds**-1.7


def test_levy_flights_and_pauses() -> None:
    """Both follow their truncated power laws, and a flight takes k length^(1 - rho) seconds."""
    trajectories = run(LEVY, 50, 10_000.0, Area(1e6, 1e6), start=Position(5e5, 5e5))
    found = [leg for trajectory in trajectories for leg in legs(trajectory)[:40]]  # far from the end of the run
    lengths = [math.dist(a[1:], b[1:]) for a, b in found[0::2]]
    pauses = [b.t - a.t for a, b in found[1::2]]
    assert all(speed(leg) == 0 for leg in found[1::2])
    assert_law(lengths, lambda x: (1 - (x / 10) ** -1.3) / (1 - 50**-1.3))
    assert_law(pauses, lambda x: (1 - (x / 5) ** -0.7) / (1 - 60**-0.7))
    for (a, b), length in zip(found[0::2], lengths, strict=True):
        assert b.t - a.t == pytest.approx(20 * length**0.4, abs=1e-6)


def test_levy_steady_state() -> None:
    """The share of flying nodes, and their speeds, by quadrature over flights weighted by their time."""
    flights = integral(flight_density, 10, 500)
    flying = integral(lambda x: flight_density(x) * 20 * x**0.4, 10, 500) / flights
    pausing = integral(lambda t: pause_density(t) * t, 5, 300) / integral(pause_density, 5, 300)
    distance = integral(lambda x: flight_density(x) * x, 10, 500) / flights
    for found in start_and_end(run(LEVY, 2500, 1500.0)):
        speeds = [speed(leg) for leg in found]
        assert_share(sum(v > 0 for v in speeds), 2500, flying / (flying + pausing))
        assert_mean([v for v in speeds if v > 0], distance / flying)


def test_levy_rest_of_a_pause_and_of_a_flight() -> None:
    """The rest at time 0 has the mean E[time^2] / (2 E[time])."""
    start, _ = start_and_end(run(LEVY, 2500, 1000.0, Area(1e6, 1e6)))
    pauses = [b.t for a, b in start if speed((a, b)) == 0]
    flights = [b.t for a, b in start if speed((a, b)) > 0]
    once, squared = (
        integral(lambda t: pause_density(t) * t, 5, 300),
        integral(lambda t: pause_density(t) * t**2, 5, 300),
    )
    assert_mean(pauses, squared / (2 * once))
    once = integral(lambda x: flight_density(x) * 20 * x**0.4, 10, 500)
    squared = integral(lambda x: flight_density(x) * (20 * x**0.4) ** 2, 10, 500)
    assert_mean(flights, squared / (2 * once))


# -- Manhattan --------------------------------------------------------------------------------------------------------


def test_manhattan_streets() -> None:
    """Streets have equal traffic, those at the edges half; nodes are on long blocks more often; speeds do not decay."""
    model = Manhattan(blocks=[4, 5], speed=[5, 20])
    for found in start_and_end(run(model, 2500, 200.0, Area(800.0, 300.0))):  # blocks of 200 m x 60 m
        along_x = [leg for leg in found if abs(velocity(leg)[0]) > 1]
        along_y = [leg for leg in found if abs(velocity(leg)[1]) > 1]
        assert_share(len(along_x), 2500, 200 / 260)
        assert_share(sum(a.y in (0, 300) for a, _ in along_x), len(along_x), 1 / 5)
        assert_share(sum(a.x in (0, 800) for a, _ in along_y), len(along_y), 1 / 4)
        assert_mean([speed(leg) for leg in found], 15 / math.log(4))


def test_manhattan_pauses() -> None:
    """The share of nodes that pause is the mean pause over the mean of block and pause."""
    block = 50 * math.log(4) / 15
    model = Manhattan(blocks=[10, 10], speed=[5, 20], pause=[0, 10])
    for found in start_and_end(run(model, 2000, 100.0, Area(500.0, 500.0))):
        assert_share(sum(speed(leg) == 0 for leg in found), 2000, 5 / (block + 5))


def test_manhattan_turns() -> None:
    """At crossings inside the map nodes turn with probability `turn`, to either side independently of the last turn."""
    sides = []
    for trajectory in run(Manhattan(blocks=[10, 10], turn=0.3), 60, 500.0):
        for before, after in pairwise(legs(trajectory)):
            if 0 < before[1].x < 1000 and 0 < before[1].y < 1000:
                (ux, uy, _), (vx, vy, _) = velocity(before), velocity(after)
                sides.append(round((ux * vy - uy * vx) / (speed(before) * speed(after))))
    turns = [side for side in sides if side]
    assert_share(len(turns), len(sides), 0.3)
    assert_share(sum(a == b for a, b in pairwise(turns)), len(turns) - 1, 0.5)


# -- groups and communities -------------------------------------------------------------------------------------------


def test_groups_move_as_one_in_steady_state() -> None:
    """Reference points have the steady-state speeds of random waypoint, and so have members relative to them."""
    model, streams = Group(groups=1000, radius=50, speed=[2, 20], member_speed=[0.5, 4]), Streams(1, 0)
    references = start_and_end(model.references(None, SQUARE, 600.0, streams))
    members = start_and_end(model.trajectories(None, 1000, SQUARE, 600.0, streams))
    for points, nodes in zip(references, members, strict=True):
        own = [math.dist(velocity(a), velocity(b)) for a, b in zip(points, nodes, strict=True)]
        assert_mean([speed(leg) for leg in points], 18 / math.log(10))
        assert_mean(own, 3.5 / math.log(8))


def spread_in_a_disc(steps: int = 200) -> float:
    """The mean squared distance from the middle of a unit disc, of random waypoint without pauses.

    The density at r is proportional to (1 - r^2) times the integral of sqrt(1 - r^2 cos^2) over half a turn (E. Hyytiä,
    P. Lassila, J. Virtamo, "Spatial node distribution of the random waypoint mobility model with applications", 2006).
    """
    points = [(i + 0.5) / steps for i in range(steps)]

    def density(r: float) -> float:
        return (1 - r * r) * sum(math.sqrt(1 - (r * math.cos(math.pi * u)) ** 2) for u in points)

    weights = [density(r) * r for r in points]
    return sum(w * r * r for w, r in zip(weights, points, strict=True)) / sum(weights)


def test_members_spread_around_their_reference_point() -> None:
    """As random waypoint in a disc, nearer to the middle than uniform places, which give radius^2 / 2."""
    model, streams = Group(groups=1000, radius=50, member_speed=[2, 4]), Streams(1, 0)
    references = model.references(None, SQUARE, 100.0, streams)
    members = model.trajectories(None, 1000, SQUARE, 100.0, streams)
    for t in (0.0, 100.0):
        away = [math.dist(a.at(t), b.at(t)) / 50 for a, b in zip(references, members, strict=True)]
        assert_mean([r * r for r in away], spread_in_a_disc())


@pytest.mark.parametrize(("stay", "mean"), [(1.0, 20.0), (0.0, 50.0)], ids=["local", "roaming"])
def test_community_legs(stay: float, mean: float) -> None:
    """Exponential in length, with one mean for local legs and another for roaming ones."""
    period = Period(duration=1000, stay=stay, roam=1 - stay)
    model = Community(side=1e5, periods=[period], local_leg=20, roaming_leg=50, speed=10, pause=1)
    found = [leg for path in run(model, 100, 1000.0, Area(1e6, 1e6)) for leg in legs(path)[:20]]
    assert_law([10 * (b.t - a.t) for a, b in found if speed((a, b)) > 0], lambda length: 1 - math.exp(-length / mean))


def test_community_epochs() -> None:
    """Local and roaming epochs are a chain of two states, whose long-run share of local ones is known.

    Homes of a metre in a kilometre: where a node pauses shows the kind of epoch; each epoch ends with a pause.
    """
    streams, duration = Streams(1, 0), 15_000.0
    stay, roam = 0.7, 0.4
    model = Community(
        communities=3, side=1, periods=[Period(duration=1000, stay=stay, roam=roam)], local_leg=1, roaming_leg=1000,
        speed=[20, 40], pause=5,
    )  # fmt: skip
    trajectories = model.trajectories(None, 20, SQUARE, duration, streams)
    homes = model.homes(SQUARE, streams)
    at_home = [
        homes[node % 3][0].holds(Position(*a[1:]))
        for node, trajectory in enumerate(trajectories)
        for a, b in legs(trajectory)[:-1]
        if speed((a, b)) == 0
    ]
    memory, local = stay + roam - 1, (1 - roam) / (2 - stay - roam)
    effective = round(len(at_home) * (1 - memory) / (1 + memory))  # independent epochs with the same error
    assert len(at_home) > 5_000
    assert_share(round(fmean(at_home) * effective), effective, local)
