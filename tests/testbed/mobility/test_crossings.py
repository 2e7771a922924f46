"""When links form and fall: cases computed by hand, and random ones against an exact oracle and against sampling."""

import itertools
import math
from collections import defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from testbed.mobility.crossings import CELL_MARGIN, Crossing, Crossings
from testbed.mobility.encounter import time_to_fall
from testbed.mobility.grid import MAX_CELLS, Grid
from testbed.mobility.trajectory import Position, Trajectory, Waypoint, standing

ORIGIN = standing(Position(0.0, 0.0))
FOREVER = 1000.0


def path(*waypoints, **presence):
    """A trajectory through (t, x, y[, z])."""
    return Trajectory(tuple(Waypoint(*waypoint) for waypoint in waypoints), **presence)


def crossings(*trajectories, reach=10.0, until=FOREVER, **keys):
    """The crossings of nodes that all have one range."""
    return Crossings(trajectories, range_of=lambda a, b: reach, max_range=reach, until=until, **keys)


def story(*trajectories, **keys):
    """Whether nodes 0 and 1 are linked at first, and their crossings as (t, up), to the nanosecond."""
    found = crossings(*trajectories, **keys)
    return bool(found.initial_links()), [(round(crossing.t, 9), crossing.up) for crossing in found]


# Straight lines.


def test_passing_by_head_on():
    """From 30 m to the right to 30 m to the left at 2 m/s: the range of 10 m begins after 20 m and ends after 40 m."""
    assert story(ORIGIN, path((0, 30, 0), (30, -30, 0))) == (False, [(10.0, True), (20.0, False)])


def test_passing_by_at_a_distance():
    """Six metres aside, the range begins eight metres before."""
    assert story(ORIGIN, path((0, -20, 6), (40, 20, 6))) == (False, [(12.0, True), (28.0, False)])


def test_height_counts():
    """The same in the third dimension: 2 m aside and sqrt(32) m above are a distance of 6 m."""
    above = math.sqrt(36 - 4)
    assert story(ORIGIN, path((0, -20, 2, above), (40, 20, 2, above))) == (False, [(12.0, True), (28.0, False)])


def test_both_move():
    """Towards each other at 1 and 2 m/s, from 40 m apart at t = 0, on legs that begin and end at different times."""
    slow = path((0, 0, 0), (5, 5, 0), (40, 40, 0))
    fast = path((-5, 50, 0), (7, 26, 0), (40, -40, 0))
    assert story(slow, fast) == (False, [(10.0, True), (16.666666667, False)])


def test_links_at_first():
    """Links at t = 0 are not crossings; they are sorted."""
    row = [standing(Position(x, 0.0)) for x in (0.0, 25.0, 8.0, 16.0)]
    assert crossings(*row).initial_links() == [(0, 2), (1, 3), (2, 3)]
    assert list(crossings(*row)) == []
    assert story(ORIGIN, path((-5, -2, 0), (15, 18, 0))) == (True, [(7.0, False)])


def test_hysteresis():
    """A link forms at the range and falls at one and a half times the range."""
    assert story(ORIGIN, path((0, -30, 0), (60, 30, 0)), hysteresis=0.5) == (False, [(20.0, True), (45.0, False)])


def test_no_link_between_range_and_hysteresis():
    """A node that comes no closer gets no link; a node that has a link keeps it."""
    to_and_fro = [(0, 12, 0), (10, 14, 0), (20, 12, 0)]
    assert story(ORIGIN, path(*to_and_fro), hysteresis=0.5) == (False, [])
    assert story(ORIGIN, path((-4, 8, 0), *to_and_fro, (24, 8, 0)), hysteresis=0.5) == (False, [(22.0, True)])
    assert story(ORIGIN, path((-4, 8, 0), *to_and_fro, appears=-9.0), hysteresis=0.5) == (False, [])
    assert story(ORIGIN, path((0, 8, 0), (4, 12, 0), (14, 14, 0), (24, 12, 0)), hysteresis=0.5) == (True, [])


def test_every_pair_has_its_own_range():
    """Two nodes 10 m apart, and a third that passes both; it reaches the node with the longer range first."""
    nodes = [ORIGIN, standing(Position(10.0, 0.0)), path((0, 40, 0), (40, 0, 0))]
    ranges = {(0, 1): 9.0, (0, 2): 25.0, (1, 2): 5.0}
    found = Crossings(nodes, range_of=lambda a, b: ranges[a, b], max_range=25.0, until=FOREVER)
    assert found.initial_links() == []
    assert list(found) == [Crossing(15.0, 0, 2, True), Crossing(25.0, 1, 2, True), Crossing(35.0, 1, 2, False)]


def test_a_range_of_zero():
    """Such radios never hear each other, not even at the same place."""
    assert story(ORIGIN, standing(Position(0.0, 0.0)), reach=0.0) == (False, [])
    assert story(ORIGIN, path((0, 5, 0), (0, 0, 0)), reach=0.0, hysteresis=0.5) == (False, [])
    assert story(ORIGIN, path((0, -5, 0), (10, 5, 0)), reach=0.0) == (False, [])


def test_the_end():
    """Crossings at the end are reported; later ones are not, and neither are those before 0."""
    passing = path((0, -30, 0), (60, 30, 0))
    assert story(ORIGIN, passing, until=40.0)[1] == [(20.0, True), (40.0, False)]
    assert story(ORIGIN, passing, until=39.999)[1] == [(20.0, True)]
    assert story(ORIGIN, path((-30, -30, 0), (30, 30, 0)))[1] == [(10.0, False)]
    assert story(ORIGIN, passing, until=0.0) == (False, [])


def test_no_nodes():
    """No node, or a single one, has no links."""
    assert crossings().initial_links() == list(crossings()) == []
    assert crossings(path((0, 0, 0), (9, 99, 0))).initial_links() == []


# Exactly at the range.


@pytest.mark.parametrize("hysteresis", [0.0, 0.5])
def test_a_touch_in_passing_is_no_crossing(hysteresis):
    """Passing at exactly the range, on a line whose arithmetic is exact and on others."""
    for angle in range(100):
        along, aside = (math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle))
        near, far = ([10 * aside[i] + way * along[i] for i in (0, 1)] for way in (-37.7, 51.3))
        assert story(ORIGIN, path((0, *near), (13.1, *far)), hysteresis=hysteresis) == (False, [])


def test_a_touch_on_turning_back_is_no_crossing():
    """Coming as near as the range, or 50 nm nearer, or going as far, and turning back there."""
    assert story(ORIGIN, path((0, 30, 0), (20, 10, 0), (40, 30, 0))) == (False, [])
    assert story(ORIGIN, path((0, 30, 0), (20, 10 - 5e-8, 0), (40, 30, 0))) == (False, [])
    assert story(ORIGIN, path((0, 0, 0), (10, 10, 0), (20, 0, 0))) == (True, [])
    assert story(ORIGIN, path((0, 0, 0), (10, 15, 0), (20, 0, 0)), hysteresis=0.5) == (True, [])


def test_crossing_where_a_leg_ends():
    """At a waypoint at exactly the range, a link forms and falls once, also if the waypoint is repeated."""
    assert story(ORIGIN, path((0, 30, 0), (20, 10, 0), (30, 0, 0), (40, 10, 0), (60, 30, 0))) == (
        False,
        [(20.0, True), (40.0, False)],
    )
    assert story(ORIGIN, path((0, 0, 0), (10, 10, 0), (10, 10, 0), (30, 30, 0))) == (True, [(10.0, False)])


def test_a_micrometre_is_enough():
    """A node that passes a micrometre within range is linked, and one that passes a micrometre outside is not."""
    for reach in (1.0, 10.0, 250.0):
        within, outside = (path((0, -500, y), (1000, 500, y)) for y in (reach - 1e-6, reach + 1e-6))
        linked, ((up_t, up), (down_t, down)) = story(ORIGIN, within, reach=reach)
        assert (linked, up, down) == (False, True, False)
        assert down_t - up_t == pytest.approx(2 * math.sqrt(2 * reach * 1e-6), rel=1e-3)
        assert story(ORIGIN, outside, reach=reach) == (False, [])


def test_side_by_side_at_exactly_the_range():
    """Linked all the time, although rounding puts them slightly too far apart at some waypoints."""
    rng = Random(1)
    corners = [(t + rng.random() / 2, rng.uniform(0, 100), rng.uniform(0, 100), rng.random()) for t in range(200)]
    leader = path(*corners)
    follower = path(*((t, x + 0.6, y - 0.8, z) for t, x, y, z in corners))
    apart = {math.dist(leader.at(t), follower.at(t)) > 1.0 for t, *_ in corners}
    assert apart == {True, False}
    assert story(leader, follower, reach=1.0) == (True, [])


def test_a_grid_whose_spacing_is_the_range():
    """All neighbours are linked, although k * 0.1 are not evenly spaced in binary."""
    row = [standing(Position(k * 0.1, 0.0)) for k in range(50)]
    assert len({b.waypoints[0].x - a.waypoints[0].x for a, b in itertools.pairwise(row)}) > 1
    assert crossings(*row, reach=0.1).initial_links() == [(k, k + 1) for k in range(49)]


def test_starting_at_exactly_the_range():
    """The state just after t = 0 decides."""
    assert story(ORIGIN, path((0, 10, 0), (10, 20, 0))) == (False, [])
    assert story(ORIGIN, path((0, 10, 0), (20, -10, 0))) == (True, [])
    assert story(ORIGIN, path((0, 10, 0), (5, 10, 0), (10, 20, 0))) == (True, [(5.0, False)])


def test_stopping_at_exactly_the_range():
    """A link forms on arrival, and falls on departure."""
    assert story(ORIGIN, path((0, 30, 0), (20, 10, 0), (25, 10, 0), (30, 30, 0))) == (
        False,
        [(20.0, True), (25.0, False)],
    )


def test_slightly_outside():
    """Nodes that are linked although they are slightly out of range, by the slack, lose the link when they separate."""
    edge = 10 + 5e-8
    assert story(ORIGIN, path((0, edge, 0), (5, edge, 0), (10, 20, 0))) == (True, [(5.0, False)])


def test_shorter_than_time_resolves():
    """After 30 years, floats are 0.2 µs apart. A crossing that is undone in less time is not seen."""
    late = 2.0**30
    inside, outside = 10 - 3e-7, 10 + 3e-7

    def from_then_on(*waypoints):
        linked, found = story(ORIGIN, path(*((late + t, x, 0) for t, x in waypoints)), until=late + 9)
        return linked, [(t - late, up) for t, up in found]

    assert from_then_on((0, 30), (2, inside), (4, 30)) == (False, [])
    assert from_then_on((0, 0), (1, outside), (2, 0)) == (True, [])
    assert from_then_on((0, 0), (1, outside), (1, 5)) == (True, [])
    assert from_then_on((0, -30), (4, outside), (4, 5)) == (False, [(2.0, True)])


# Jumps.


def test_a_jump_makes_and_breaks_links():
    """At that instant, and only with the nodes near both ends of the jump."""
    jumper = path((0, 5, 0), (10, 5, 0), (10, 105, 0), (20, 105, 0), (20, -5, 0))
    found = crossings(ORIGIN, jumper, standing(Position(100.0, 0.0)))
    assert found.initial_links() == [(0, 1)]
    assert list(found) == [
        Crossing(10.0, 0, 1, False),
        Crossing(10.0, 1, 2, True),
        Crossing(20.0, 0, 1, True),
        Crossing(20.0, 1, 2, False),
    ]


def test_a_jump_within_range_keeps_the_link():
    """Also with an intermediate place out of range."""
    assert story(ORIGIN, path((0, 5, 0), (10, 5, 0), (10, -5, 0))) == (True, [])
    assert story(ORIGIN, path((0, 5, 0), (10, 5, 0), (10, 500, 0), (10, -5, 0))) == (True, [])
    assert story(ORIGIN, path((0, 500, 0), (10, 500, 0), (10, 5, 0), (10, -500, 0))) == (False, [])


def test_two_jump_together():
    """Neither is linked with the other's place before the jump."""
    assert story(path((9, 0, 0), (9, 500, 0)), path((9, 5, 0), (9, 505, 0))) == (True, [])
    assert story(path((9, 0, 0), (9, 500, 0)), path((9, 500, 0), (9, 0, 0))) == (False, [])
    parted = path((0, 8, 0), (4, 12, 0), (9, 12, 0), (9, 512, 0))
    assert story(path((9, 0, 0), (9, 500, 0)), parted, hysteresis=0.5) == (True, [])


def test_back_from_a_jump():
    """Jumping out of range, into a cell beside or farther away, walking in, and out again, on one leg."""
    for away in (15, 30):
        assert story(ORIGIN, path((0, 1, 0), (5, 1, 0), (5, away, 0), (5 + 2 * away, -away, 0))) == (
            True,
            [(5.0, False), (away - 5.0, True), (away + 15.0, False)],
        )


def test_a_jump_at_the_start_and_the_end():
    """At t = 0 nodes are where they have jumped to; a jump at the end is still reported."""
    assert story(ORIGIN, path((0, 500, 0), (0, 5, 0), (9, 5, 0), (9, 500, 0)), until=9.0) == (True, [(9.0, False)])


# Presence.


def test_an_absent_node_has_no_links():
    """Links to nodes in range form when it appears, and all its links fall when it leaves."""
    visitor = path((0, 30, 0), (60, -30, 0), appears=25.0, leaves=35.0)
    found = crossings(ORIGIN, standing(Position(3.0, 0.0)), visitor, standing(Position(14.0, 0.0)))
    assert found.initial_links() == [(0, 1)]
    assert list(found) == [
        Crossing(25.0, 0, 2, True),
        Crossing(25.0, 1, 2, True),
        Crossing(25.0, 2, 3, True),
        Crossing(26.0, 2, 3, False),
        Crossing(35.0, 0, 2, False),
        Crossing(35.0, 1, 2, False),
    ]


def test_presence_at_the_edges():
    """A node is present from the instant it appears and no longer at the instant it leaves."""
    at = standing(Position(5.0, 0.0)).waypoints
    assert story(ORIGIN, Trajectory(at, appears=0.0)) == (True, [])
    assert story(ORIGIN, Trajectory(at, leaves=0.0)) == (False, [])
    assert story(ORIGIN, Trajectory(at, appears=7.0, leaves=7.0)) == (False, [])
    assert story(ORIGIN, Trajectory(at, appears=7.0, leaves=6.0)) == (False, [])
    assert story(ORIGIN, Trajectory(at, appears=FOREVER)) == (False, [(FOREVER, True)])
    assert story(ORIGIN, Trajectory(at, appears=-5.0, leaves=-1.0)) == (False, [])
    assert story(Trajectory(at, leaves=4.0), Trajectory(at, appears=4.0)) == (False, [])


def test_leaving_while_coming_and_going():
    """A link that would form at the instant of leaving does not form; one that would fall then falls once."""
    assert story(ORIGIN, path((0, 30, 0), (30, 0, 0), leaves=20.0)) == (False, [])
    assert story(ORIGIN, path((0, 0, 0), (30, 30, 0), leaves=10.0)) == (True, [(10.0, False)])
    assert story(ORIGIN, path((0, 0, 0), (30, 30, 0), leaves=40.0)) == (True, [(10.0, False)])


# As a whole.


def test_ties_are_in_the_order_of_the_nodes():
    """Four nodes move to a fifth one: by symmetry, pairs cross at the same instants."""
    spokes = [(math.cos(k * math.tau / 4), math.sin(k * math.tau / 4)) for k in range(4)]
    found = list(crossings(*(path((0, 50 * x, 50 * y), (50, 0, 0)) for x, y in spokes), ORIGIN))
    assert found == sorted(found)
    assert [(crossing.a, crossing.b) for crossing in found if crossing.t == 40.0] == [(0, 4), (1, 4), (2, 4), (3, 4)]


def test_crossings_are_lazy_and_repeatable():
    """The first crossings are found without computing the rest; iterating again gives the same."""
    asked = []
    nodes = wanderers(Random(3), nodes=30, side=100.0, until=300.0)
    found = Crossings(nodes, range_of=lambda a, b: asked.append((a, b)) or 15.0, max_range=15.0, until=300.0)
    first = list(itertools.islice(found, 20))
    few = len(asked)
    everything = list(found)
    assert everything[:20] == first
    assert len(everything) > 1000
    assert few < len(asked) / 20
    assert list(found) == everything


def test_cells_are_wide_enough():
    """Wherever the edges of cells are, a node at exactly the range is found."""
    for offset in range(250):
        x = 50 + offset / 16  # the first node is where the cells begin
        assert crossings(ORIGIN, *(standing(Position(place, 0.0)) for place in (x, x + 10))).initial_links() == [(1, 2)]


def test_an_instant_happens_once():
    """Also if nodes start at the edge of a cell and leave it at once: the next instant is later."""
    for multiple in range(2, 20):
        edge = CELL_MARGIN * 10.0 * multiple
        sweep = crossings(ORIGIN, path((0, edge, 0), (100, 0, 0)))._sweep()
        sweep.settle(0.0)
        assert sweep.next_instant() > 0.0


def test_a_time_to_fall_is_not_negative():
    """The link of nodes that separate from slightly out of range falls now."""
    assert time_to_fall(10.0, (10.0**2 + 1e-6, 10.0, 1.0), 5.0) == 0.0


def wanderers(rng, *, nodes, side, until, depth=0.0):
    """Random waypoint in a square or a cube, 1 to 5 m/s."""

    def wander():
        t, place = 0.0, (rng.uniform(0, side), rng.uniform(0, side), rng.uniform(0, depth))
        while t < until:
            yield Waypoint(t, *place)
            there = (rng.uniform(0, side), rng.uniform(0, side), rng.uniform(0, depth))
            t += math.dist(place, there) / rng.uniform(1, 5)
            place = there
        yield Waypoint(t, *place)

    return [Trajectory(tuple(wander())) for _ in range(nodes)]


@pytest.mark.parametrize("dimensions", [2, 3])
def test_only_near_nodes_are_examined(dimensions, monkeypatch):
    """At constant density, with four times as many nodes about as many pairs are examined for every crossing."""
    examined = 0

    def counting(method):
        def count(*args):
            nonlocal examined
            others = method(*args)
            examined += len(others)
            return others

        return count

    monkeypatch.setattr(Grid, "around", counting(Grid.around))
    monkeypatch.setattr(Grid, "step", counting(Grid.step))
    costs = []
    for nodes in (60, 240):
        examined = 0
        side = 10.0 * nodes ** (1 / dimensions)
        moving = wanderers(Random(7), nodes=nodes, side=side, until=100.0, depth=side * (dimensions - 2))
        changes = sum(1 for _ in crossings(*moving, reach=15.0, until=100.0))
        costs.append(examined / changes)
    assert costs[1] < 1.3 * costs[0]
    assert costs[1] < 4


# The grid.


def test_one_node_that_goes_very_far_does_not_take_very_long(monkeypatch):
    """The links of a node that travels a million kilometres, and of those that stay, are still right."""
    steps, step = 0, Grid.step

    def counting(*args):
        nonlocal steps
        steps += 1
        assert steps <= 2 * MAX_CELLS + 10, "there and back"
        return step(*args)

    monkeypatch.setattr(Grid, "step", counting)
    found = crossings(path((0, 0, 0), (5, 1e9, 0), (10, 0, 0)), ORIGIN, path((0, 1, 0), (20, 1, 5)), reach=2.0)
    assert found.initial_links() == [(0, 1), (0, 2), (1, 2)]
    assert list(found) == [
        Crossing(pytest.approx(2 / 2e8), 0, 1, False),
        Crossing(pytest.approx(3 / 2e8), 0, 2, False),
        Crossing(pytest.approx(4 * math.sqrt(3)), 1, 2, False),  # where 1 m aside leaves sqrt(3) m ahead, at 0.25 m/s
        Crossing(pytest.approx(10 - 2 / 2e8, abs=1e-12), 0, 1, True),
    ]


def test_nodes_may_be_slightly_outside_of_the_grid():
    """Beyond either end there is a cell, from which nodes return at the edge where they left."""
    grid = Grid([path((0, 0, 0), (1, 100, 100))], 10.0)
    for at, out in ((0.0, -1.0), (100.0, 1.0), (110.0, 1.0)):
        there, back = ((0.0, at, 50.0, 0.0, speed, 0.0, 0.0, 1.0) for speed in (out, -out))
        grid.enter(0, grid.at((min(at, 100.0), 50.0, 0.0)))
        edge = grid.next_step(0, there)
        grid.step(0, edge[1])
        assert grid.next_step(0, back) == (pytest.approx(-edge[0]), -edge[1])
        grid.leave(0)


def test_empty_cells_take_no_memory():
    """However far nodes move."""
    grid = Grid([path((0, 0, 0), (1, 1000, 0))], 10.0)
    grid.enter(0, grid.at((0.0, 0.0, 0.0)))
    for _ in range(50):
        grid.step(0, 1)
        assert len(grid.cells) == 1
    grid.leave(0)
    assert not grid.cells


# Against sampling.


@pytest.mark.parametrize(("depth", "hysteresis"), [(0.0, 0.0), (30.0, 0.0), (0.0, 0.25)])
def test_against_sampling(depth, hysteresis):
    """Ten times a second, pairs within range are linked, and pairs out of range are not."""
    nodes = wanderers(Random(5), nodes=25, side=60.0, until=60.0, depth=depth)
    pairs = {(a, b): 5.0 + (a * b) % 11 for a, b in itertools.combinations(range(25), 2)}
    found = Crossings(nodes, range_of=lambda a, b: pairs[a, b], max_range=15.0, hysteresis=hysteresis, until=60.0)
    links, upcoming = set(found.initial_links()), list(found)[::-1]
    assert len(upcoming) > 300
    for tick in range(601):
        while upcoming and upcoming[-1].t <= tick / 10:
            _, a, b, up = upcoming.pop()
            (links.add if up else links.remove)((a, b))
        places = [node.at(tick / 10) for node in nodes]
        for (a, b), reach in pairs.items():
            apart = math.dist(places[a], places[b])
            if not reach < apart <= reach * (1 + hysteresis):
                assert ((a, b) in links) is (apart <= reach), (tick, a, b)


# Against an exact oracle.


class Doubtful(Exception):
    """A distance differs from a range by less than the micrometre that is promised."""


def square_root(number):
    """The root of a fraction; exact if it is rational, else to 40 digits."""
    roots = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if Fraction(*roots) ** 2 == number:
        return Fraction(*roots)
    with localcontext() as context:
        context.prec = 40
        return Fraction((Decimal(number.numerator) / Decimal(number.denominator)).sqrt())


def exact_place(trajectory, t):
    """Where a node is at a time that is not that of a waypoint."""
    before = [waypoint for waypoint in trajectory.waypoints if waypoint.t < t]
    after = [waypoint for waypoint in trajectory.waypoints if waypoint.t > t]
    a, b = (before or after[:1])[-1], (after or before[-1:])[0]
    share = (t - Fraction(a.t)) / (Fraction(b.t) - Fraction(a.t)) if a != b else 0
    return [Fraction(p) + share * (Fraction(q) - Fraction(p)) for p, q in zip(a[1:], b[1:], strict=True)]


def exact_distance2(a, b, t):
    return sum((p - q) ** 2 for p, q in zip(exact_place(a, t), exact_place(b, t), strict=True))


def instants_at_distance(a, b, begin, end, reach):
    """The roots inside an interval without waypoints, from the parabola through three of its points."""
    third = (end - begin) / 3
    f0, f1, f2 = (exact_distance2(a, b, begin + third * k / 2) for k in (1, 2, 3))
    curve, slope = 2 * (f2 - 2 * f1 + f0), -f2 + 4 * f1 - 3 * f0  # in units of `third`, from the first point
    offset = f0 - reach**2
    under = slope**2 - 4 * curve * offset
    if curve == 0 or under < 0:
        return []
    roots = ((-slope + sign * square_root(under)) / (2 * curve) for sign in (-1, 1))
    return [t for root in roots if begin < (t := begin + third * (Fraction(1, 2) + root)) < end]


def oracle(a, b, reach, hysteresis, until):
    """When the link between two nodes changes: [(t, up)], with t = 0 if they are linked at first.

    Between the roots, and the times at which a leg or a presence begins or ends, nothing changes. So the state in the
    middle of each such interval is the state just after its start.
    """
    reach = Fraction(reach)
    reaches = (reach, reach * (1 + Fraction(hysteresis)))
    times = {0.0, until, until + 1}
    for node in (a, b):
        times |= {t for t in (node.appears, node.leaves, *(w.t for w in node.waypoints)) if 0 < t < until + 1}
    cuts = {Fraction(t) for t in times}
    for begin, end in itertools.pairwise(sorted(cuts)):
        for one in reaches:
            cuts |= {*instants_at_distance(a, b, begin, end, one)}
    found, linked = [], False
    for begin, end in itertools.pairwise(sorted(cuts)):
        middle = (begin + end) / 2
        distance2 = exact_distance2(a, b, middle)
        if any(distance2 != one**2 and abs(math.sqrt(distance2) - one) < 1e-6 for one in reaches):
            raise Doubtful
        present = a.is_there(middle) and b.is_there(middle)
        before, linked = linked, present and distance2 <= reaches[linked] ** 2
        if linked != before and begin <= until:
            found.append((float(begin), linked))
    return found


def check_against_oracle(nodes, ranges, hysteresis, until):
    """All pairs agree with the oracle; all crossings are in order."""
    found = Crossings(
        nodes, range_of=lambda a, b: ranges[a, b], max_range=max(ranges.values()), hysteresis=hysteresis, until=until
    )
    changes = defaultdict(list)
    for link in found.initial_links():
        changes[link].append((0.0, True))
    crossings = list(found)
    assert crossings == sorted(crossings)
    for crossing in crossings:
        assert 0 < crossing.t <= until
        changes[crossing.a, crossing.b].append((crossing.t, crossing.up))
    for a, b in itertools.combinations(range(len(nodes)), 2):
        expected = oracle(nodes[a], nodes[b], ranges[a, b], hysteresis, until)
        assert changes.pop((a, b), []) == [(pytest.approx(t, abs=1e-9), up) for t, up in expected]
    assert not changes


@st.composite
def trajectories(draw, depth):
    """Paths on a lattice, where nodes often are at exactly their range; waypoints may repeat, jump and stand."""
    times = draw(st.lists(st.integers(-4, 24), min_size=1, max_size=5))
    places = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, depth))
    waypoints = [Waypoint(t / 2, *map(float, draw(places))) for t in sorted(times)]
    appears, leaves = draw(st.just((-math.inf, math.inf)) | st.tuples(*[st.integers(-2, 12).map(float)] * 2))
    return Trajectory(tuple(waypoints), appears=appears, leaves=leaves)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from([0, 0, 9]), st.sampled_from([0.0, 0.25, 1.0]))
def test_against_the_oracle(data, depth, hysteresis):
    """Few nodes, with all kinds of movement and presence."""
    nodes = data.draw(st.lists(trajectories(depth), min_size=2, max_size=4))
    pairs = list(itertools.combinations(range(len(nodes)), 2))
    ranges = {pair: data.draw(st.integers(2, 12)) / 2 for pair in pairs}
    try:
        check_against_oracle(nodes, ranges, hysteresis, until=10.0)
    except Doubtful:
        assume(False)


@pytest.mark.parametrize("depth", [0.0, 40.0])
def test_wanderers_against_the_oracle(depth):
    """More nodes in more cells, at places that are not round numbers."""
    nodes = wanderers(Random(11), nodes=14, side=60.0, until=40.0, depth=depth)
    ranges = {(a, b): 8.0 + (7 * a + b) % 9 / 2 for a, b in itertools.combinations(range(14), 2)}
    check_against_oracle(nodes, ranges, 0.1, until=40.0)
