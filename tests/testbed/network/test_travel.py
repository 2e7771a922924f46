"""What makes nodes travel: churn, and stays that are planned in advance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, permutations
from math import inf
from random import Random
from statistics import mean

import pytest

from agents.contract import TICKS
from testbed.event_queue import EventQueue
from testbed.network.stays import Stay
from testbed.network.travel import Churn, PlannedStays

NOTICE = 2 * TICKS


class Walkers:
    """Nodes that come and go as they are told, and are ready to leave some time after they have learnt of it."""

    def __init__(self, queue: EventQueue, groups: dict[int, int], ready_after: float = inf) -> None:
        self.queue = queue
        self.groups = groups
        self.ready_after = ready_after
        self.crashed: set[int] = set()
        self.seen: list[tuple[float, str, int, float]] = []  # time, what happens, node, and the group or the deadline
        self.on_left: Callable[[int], None] = lambda node: None

    def arrive(self, node: int, group: int) -> None:
        if node not in self.crashed:
            self._note("arrives", node, group)
            self.groups[node] = group

    def announce(self, node: int, deadline: int) -> None:
        if node in self.groups:
            self._note("learns", node, deadline / TICKS)
            ready = min(deadline, self.queue.now + self.ready_after * TICKS)
            self.queue.at(round(ready), self.leave, node)

    def leave(self, node: int) -> None:
        if self.groups.pop(node, None) is not None:
            self._note("leaves", node, 0)
            self.on_left(node)

    def crash(self, node: int) -> None:
        self.crashed.add(node)
        self.groups.pop(node, None)

    def restart(self, node: int) -> None:
        self.crashed.remove(node)

    def group_of(self, node: int) -> int | None:
        return self.groups.get(node)

    def of(self, what: str, node: int | None = None) -> list[tuple[float, float]]:
        """When something happened to a node, or to any, and with which group or deadline."""
        return [(t, value) for t, kind, one, value in self.seen if kind == what and node in (None, one)]

    def _note(self, what: str, node: int, value: float) -> None:
        self.seen.append((self.queue.now / TICKS, what, node, value))


def run(queue: EventQueue, until: float) -> None:
    """Carry out what is planned up to a time."""

    def end() -> None:
        queue.heap.clear()

    queue.at(round(until * TICKS), end)
    queue.run(lambda: None)


def churn(
    queue: EventQueue, walkers: Walkers, *, groups: int = 3, departures: float = 0.1, away: float = 1.0, seed: int = 1
) -> Churn:
    """Churn of the nodes that are in a group at the start."""
    return Churn(
        queue,
        walkers,
        groups,
        departures,
        NOTICE,
        lambda node: lambda: round(away * (node + 1) * TICKS),
        lambda node: Random(f"{seed} {node}"),
        len(walkers.groups),
    )


# -- churn ---------------------------------------------------------------------------------------------------------


def test_a_stay_under_churn() -> None:
    """A node learns that it leaves, leaves after its notice, and arrives elsewhere when it has been away."""
    queue = EventQueue()
    walkers = Walkers(queue, {0: 0, 1: 1})
    churn(queue, walkers).begin()
    run(queue, 5000)
    for node in (0, 1):
        course = [(what, t, value) for t, what, one, value in walkers.seen if one == node]
        assert len(course) > 500
        assert [what for what, _, _ in course] == (["learns", "leaves", "arrives"] * len(course))[: len(course)]
        for (_, told, deadline), (_, left, _), (_, back, _) in zip(
            course[::3], course[1::3], course[2::3], strict=False
        ):
            assert left == deadline == pytest.approx(told + 2)
            assert back == pytest.approx(left + node + 1)


def test_a_node_that_is_ready_is_back_sooner() -> None:
    """Its time away begins when it has left."""
    queue = EventQueue()
    walkers = Walkers(queue, {0: 0}, ready_after=0.5)
    churn(queue, walkers).begin()
    run(queue, 1000)
    told, back = walkers.of("learns"), walkers.of("arrives")
    assert len(back) > 50
    assert all(t + 1.5 == pytest.approx(arrived) for (t, _), (arrived, _) in zip(told, back, strict=False))


def test_the_rate_of_departures() -> None:
    """A node stays for 1 / departures on average until it learns that it leaves."""
    queue = EventQueue()
    walkers = Walkers(queue, {0: 0}, ready_after=0.0)
    churn(queue, walkers, departures=0.25).begin()
    run(queue, 20_000)
    arrived = [0.0, *(t for t, _ in walkers.of("arrives"))]
    stays = [left - came for came, (left, _) in zip(arrived, walkers.of("learns"), strict=False)]
    assert mean(stays) == pytest.approx(4.0, rel=0.1)


def test_a_node_goes_to_another_group() -> None:
    """To each of the others, never to the one that it was in; with one group, to that one."""
    queue = EventQueue()
    walkers = Walkers(queue, {0: 2}, ready_after=0.0)
    churn(queue, walkers, groups=3).begin()
    run(queue, 5000)
    groups = [2, *(int(group) for _, group in walkers.of("arrives"))]
    assert set(pairwise(groups)) == set(permutations(range(3), 2))
    queue = EventQueue()
    alone = Walkers(queue, {0: 0}, ready_after=0.0)
    churn(queue, alone, groups=1).begin()
    run(queue, 500)
    assert {group for _, group in alone.of("arrives")} == {0}


def test_without_departures_all_stay() -> None:
    """A rate of 0 is no division by zero."""
    queue = EventQueue()
    walkers = Walkers(queue, {0: 0, 1: 1})
    churn(queue, walkers, departures=0.0).begin()
    run(queue, 1000)
    assert walkers.seen == []


def test_after_the_stop_nodes_only_arrive() -> None:
    """Those that are away come back; no node learns any more that it leaves."""
    queue = EventQueue()
    walkers = Walkers(queue, dict.fromkeys(range(8), 0))
    travel = churn(queue, walkers, away=10.0)
    travel.begin()
    queue.at(50 * TICKS, travel.stop)
    run(queue, 500)
    assert max(t for t, _ in walkers.of("learns")) <= 50
    assert max(t for t, _ in walkers.of("arrives")) > 50
    assert set(walkers.groups) == set(range(8))


def test_nodes_draw_from_generators_of_their_own() -> None:
    """What happens to one does not depend on how many there are, nor on how long another is away."""
    courses = []
    for nodes in (1, 4):
        queue = EventQueue()
        walkers = Walkers(queue, dict.fromkeys(range(nodes), 0))
        churn(queue, walkers).begin()
        run(queue, 500)
        courses.append([event for event in walkers.seen if event[2] == 0])
    assert courses[0] == courses[1] != []


@pytest.mark.parametrize(("restart", "arrives"), [(15, 35), (40, 60)], ids=["before its arrival", "after it"])
def test_a_node_that_crashed_while_it_was_away(restart: float, arrives: float) -> None:
    """It left at 10, to arrive at 30; from its restart it is away for as long again, and arrives once."""
    queue = EventQueue()
    walkers = Walkers(queue, {0: 0})
    travel = churn(queue, walkers, departures=0.0, away=20.0)
    travel.begin()
    queue.at(10 * TICKS, walkers.leave, 0)
    queue.at(12 * TICKS, walkers.crash, 0)
    queue.at(round(restart * TICKS), walkers.restart, 0)
    queue.at(round(restart * TICKS), travel.return_of, 0)
    run(queue, 200)
    assert [t for t, _ in walkers.of("arrives")] == [arrives]


def test_a_departure_that_was_planned_before_a_crash() -> None:
    """It does not happen in the next stay, for which another one is planned."""
    planned_at = Random("1 0").expovariate(0.1)
    queue = EventQueue()
    walkers = Walkers(queue, {0: 0})
    travel = churn(queue, walkers, departures=0.1, away=0.25)
    travel.begin()
    for at, happen in ((0.75, walkers.crash), (0.5, walkers.restart), (0.5, travel.return_of)):
        queue.at(round((planned_at - at) * TICKS), happen, 0)
    run(queue, 300)
    told = [t for t, _ in walkers.of("learns")]
    assert walkers.of("arrives")[0][0] < planned_at, "it is there when it was to leave"
    assert told[0] > planned_at + 0.01


# -- planned stays -------------------------------------------------------------------------------------------------


def planned(
    stays: Sequence[Stay], *, starts_inside: bool = True, begins: float = 0.0, until: float = 100.0
) -> list[tuple[float, str, int, float]]:
    """What happens to nodes that have these stays, with a notice of two time units, of half a second each."""
    queue = EventQueue()
    there = {stay.node: stay.group for stay in stays if stay.arrives == 0} if starts_inside else {}
    walkers = Walkers(queue, there)
    travel = PlannedStays(queue, walkers, stays, NOTICE, 2 * TICKS, starts_inside=starts_inside)
    queue.now = round(begins * TICKS)
    travel.begin()
    run(queue, until)
    return walkers.seen


def test_planned_stays() -> None:
    """From 5 s to 10 s, at two time units a second: the node learns at 18 that it leaves at 20."""
    assert planned([Stay(3, 1, 5.0, 10.0)]) == [
        (10.0, "arrives", 3, 1),
        (18.0, "learns", 3, 20.0),
        (20.0, "leaves", 3, 0),
    ]


def test_a_stay_that_is_shorter_than_the_notice() -> None:
    """The node learns on arrival that it leaves."""
    assert planned([Stay(3, 1, 5.0, 5.5)]) == [
        (10.0, "arrives", 3, 1),
        (10.0, "learns", 3, 11.0),
        (11.0, "leaves", 3, 0),
    ]


def test_a_stay_without_an_end() -> None:
    """The node never learns that it leaves."""
    assert planned([Stay(3, 1, 5.0, inf)]) == [(10.0, "arrives", 3, 1)]


def test_a_stay_from_the_start() -> None:
    """The node is there already, or arrives at once where that has to be found out."""
    leaves = [(18.0, "learns", 3, 20.0), (20.0, "leaves", 3, 0)]
    assert planned([Stay(3, 1, 0.0, 10.0)]) == leaves
    assert planned([Stay(3, 1, 0.0, 10.0)], starts_inside=False) == [(0.0, "arrives", 3, 1), *leaves]


@pytest.mark.parametrize(
    ("stay", "seen"),
    [
        pytest.param(Stay(3, 1, 1.0, 5.0), [], id="over"),
        pytest.param(
            Stay(3, 1, 1.0, 7.0), [(10, "arrives", 3, 1), (12, "learns", 3, 14), (14, "leaves", 3, 0)], id="now"
        ),
        pytest.param(
            Stay(3, 1, 1.0, 5.5), [(10, "arrives", 3, 1), (10, "learns", 3, 11), (11, "leaves", 3, 0)], id="nearly over"
        ),
        pytest.param(Stay(3, 1, 8.0, inf), [(16, "arrives", 3, 1)], id="still to come"),
    ],
)  # fmt: skip
def test_stays_of_a_node_that_starts_later(stay: Stay, seen: list[tuple[float, str, int, float]]) -> None:
    """At 10 time units, which are 5 seconds: it takes part from then on."""
    assert planned([stay], starts_inside=False, begins=10.0) == seen


@pytest.mark.parametrize(
    ("restart", "arrives"),
    [
        pytest.param(9, [10], id="before its stay"),
        pytest.param(11, [10, 11], id="in its stay"),
        pytest.param(17, [10, 17], id="before its notice"),
        pytest.param(18, [10], id="when it would have learnt"),
        pytest.param(25, [10], id="after its stay"),
    ],
)
def test_a_node_that_crashed_is_where_it_is(restart: float, arrives: list[float]) -> None:
    """It arrives again where its path has it, unless it is about to leave; node 4 is not concerned."""
    queue = EventQueue()
    walkers = Walkers(queue, {})
    stays = [Stay(3, 1, 5.0, 10.0), Stay(4, 0, 5.0, inf)]
    travel = PlannedStays(queue, walkers, stays, NOTICE, 2 * TICKS, starts_inside=True)
    travel.begin()
    queue.at(round(restart * TICKS), travel.return_of, 3)
    run(queue, 100)
    assert [t for t, _ in walkers.of("arrives", 3)] == arrives
    assert [t for t, _ in walkers.of("arrives", 4)] == [10]


def test_planned_stays_do_not_stop() -> None:
    """Paths end by themselves."""
    queue = EventQueue()
    walkers = Walkers(queue, {})
    travel = PlannedStays(queue, walkers, [Stay(3, 1, 5.0, 10.0)], NOTICE, 2 * TICKS, starts_inside=True)
    travel.begin()
    travel.stop()
    run(queue, 100)
    assert [what for _, what, _, _ in walkers.seen] == ["arrives", "learns", "leaves"]
