"""What applications ask for: drawn as the scenario says, from streams of their own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from agents.contract import TICKS, Demand
from agents.registry import ALGORITHMS
from testbed.randomness import Streams
from testbed.runtime.application import Application, ScriptedRequest
from testbed.scenario.workload import Workload
from tests.testbed.simulate import ALL_OK, Diary, simulate
from tests.testbed.token_ring import TokenRing

EVERYTHING: dict[str, Any] = {
    "rate": 0.1,
    "units": {"weights": {1: 3, 2: 1}},
    "priority": {"uniform": [-5, 5]},
    "deadline": {"exponential": 10.0},
}


@pytest.fixture(autouse=True)
def ring(monkeypatch: pytest.MonkeyPatch) -> None:
    """The token ring is an algorithm that a scenario can name."""
    monkeypatch.setitem(ALGORITHMS, "ring", TokenRing)


def application(node: int = 0, *, seed: int = 1, **workload: Any) -> Application:
    """The application of a node."""
    load = Workload.model_validate({"rate": 1.0, **workload}).load()
    return Application(node, load, Streams(seed, 0))


def demands(count: int, node: int = 0, *, seed: int = 1, **workload: Any) -> list[Demand]:
    """The first demands of a node, one for each time unit."""
    draw = application(node, seed=seed, **workload).draw_demand
    return [draw(now * TICKS) for now in range(count)]


def asked(diary: Diary) -> dict[int, list[tuple[int, int, float | None]]]:
    """Units, priority and allowance of every request, by node."""
    found: dict[int, list[tuple[int, int, float | None]]] = {}
    for one in diary.of("request"):
        allowance = None if one["deadline"] is None else round(one["deadline"] / TICKS - one["t"], 6)
        found.setdefault(one["node"], []).append((one["units"], one["priority"], allowance))
    return found


# -- what is drawn --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workload", "demand"),
    [
        ({}, Demand(1, 0, None)),
        ({"units": 3, "priority": -7}, Demand(3, -7, None)),
        ({"priority": [4, 5, 6]}, Demand(1, 6, None)),
        ({"units": {"uniform": [2, 2]}}, Demand(2, 0, None)),
        ({"units": {"weights": {1: 0, 3: 2}}}, Demand(3, 0, None)),
        ({"units": 3, "priority": "fewest-first"}, Demand(3, -3, None)),
    ],
)
def test_a_demand_that_never_varies(workload: dict[str, Any], demand: Demand) -> None:
    """Node 2 asks for the same each time."""
    assert demands(3, node=2, **workload) == [demand] * 3


def test_uniform_units() -> None:
    """Every number in the range, about as often."""
    counts = Counter(demand.units for demand in demands(4000, units={"uniform": [1, 4]}))
    assert sorted(counts) == [1, 2, 3, 4]
    assert all(abs(count - 1000) < 120 for count in counts.values())


def test_weighted_units() -> None:
    """Three times as often 1 as 2."""
    counts = Counter(demand.units for demand in demands(4000, units={"weights": {1: 3, 2: 1}}))
    assert sorted(counts) == [1, 2]
    assert abs(counts[1] - 3000) < 120


def test_the_order_in_which_weights_are_written_changes_nothing() -> None:
    """The same choice draws the same numbers."""
    one, other = ({"units": {"weights": weights}} for weights in ({1: 3, 2: 1}, {2: 1, 1: 3}))
    assert demands(50, **one) == demands(50, **other)


def test_uniform_priorities() -> None:
    """Both ends of the range are drawn."""
    counts = Counter(demand.priority for demand in demands(3000, priority={"uniform": [-1, 1]}))
    assert sorted(counts) == [-1, 0, 1]
    assert all(abs(count - 1000) < 120 for count in counts.values())


def test_a_deadline_is_after_the_request() -> None:
    """By a fixed time or by one that is drawn."""
    assert [one.deadline for one in demands(3, deadline=2.5)] == [round((now + 2.5) * TICKS) for now in range(3)]
    drawn = [one.deadline - now * TICKS for now, one in enumerate(demands(2000, deadline={"uniform": [1, 3]}))]  # type: ignore[operator]
    assert 1 * TICKS <= min(drawn) < 1.1 * TICKS
    assert 2.9 * TICKS < max(drawn) <= 3 * TICKS


def test_the_earliest_deadline_is_the_most_urgent() -> None:
    """The priority is minus the deadline, in thousandths of a time unit."""
    drawn = demands(50, deadline={"uniform": [1, 30]}, priority="deadline")
    assert [one.priority for one in drawn] == [-round(one.deadline / TICKS * 1000) for one in drawn]  # type: ignore[operator]
    assert len({one.priority for one in drawn}) > 40


def test_the_fewest_units_are_the_most_urgent() -> None:
    """Whatever number is drawn."""
    drawn = demands(50, units={"uniform": [1, 4]}, priority="fewest-first")
    assert {(one.units, one.priority) for one in drawn} == {(units, -units) for units in range(1, 5)}


@pytest.mark.parametrize(
    ("workload", "request_", "demand"),
    [
        ({"units": 2, "priority": 5}, {}, Demand(2, 5, None)),
        ({"units": 2, "priority": 5}, {"units": 3, "deadline": 4}, Demand(3, 5, 104)),
        ({"units": 2, "priority": "fewest-first"}, {"units": 3}, Demand(3, -3, None)),
        ({"deadline": 9, "priority": "deadline"}, {"deadline": 2 * TICKS}, Demand(1, -2000, 2 * TICKS + 100)),
        ({"units": 2, "priority": "fewest-first"}, {"units": 3, "priority": 7}, Demand(3, 7, None)),
    ],
)
def test_a_script_may_leave_things_open(workload: dict[str, Any], request_: dict[str, Any], demand: Demand) -> None:
    """What it leaves open is drawn; a priority that follows from units or deadline follows from those of the script."""
    assert application(**workload).scripted_demand(ScriptedRequest(0, 100, **request_), 100) == demand


# -- streams --------------------------------------------------------------------------------------------------------


def test_demands_follow_from_seed_and_node() -> None:
    """The same again for the same seed and node; others for others."""
    assert demands(20, **EVERYTHING) == demands(20, **EVERYTHING)
    assert demands(20, **EVERYTHING) != demands(20, seed=2, **EVERYTHING)
    assert demands(20, **EVERYTHING) != demands(20, node=1, **EVERYTHING)


@pytest.mark.parametrize("key", ["units", "priority", "deadline"])
def test_each_part_has_a_stream_of_its_own(key: str) -> None:
    """Without one of the draws, the others are as before; and so are the times at which the application asks."""
    whole, rest = application(**EVERYTHING), application(**{one: EVERYTHING[one] for one in EVERYTHING if one != key})
    for now in range(20):
        one, other = whole.draw_demand(now), rest.draw_demand(now)
        assert all(
            getattr(one, name) == getattr(other, name) for name in ("units", "priority", "deadline") if name != key
        )
        assert whole.think_time() == rest.think_time()


def test_every_algorithm_meets_the_same_demands() -> None:
    """A node's n-th request has the same demand, whatever the algorithm and however long earlier requests took."""
    keys: dict[str, Any] = {"nodes": 5, "topology": "complete", "workload": {**EVERYTHING, "units": 1}}
    runs = [simulate(algorithm=name, **keys) for name in ({"name": "ring", "k": 1}, "rl", "maekawa")]
    for node in range(5):
        several = [asked(run.diary)[node] for run in runs]
        shortest = min(map(len, several))
        assert shortest > 5
        assert several[0][:shortest] == several[1][:shortest] == several[2][:shortest]


# -- what a run does with them --------------------------------------------------------------------------------------


def test_requests_and_entries_carry_the_demand() -> None:
    """The entry has what the request before it had, and as many units are given back."""
    run = simulate(
        algorithm={"name": "ring", "k": 2}, nodes=4, topology="complete", delays={"hop": 0.25}, workload=EVERYTHING
    )
    assert run.verdicts == ALL_OK
    demand: dict[int, tuple[Any, ...]] = {}
    for one in run.diary.of("request", "enter", "exit"):
        if one["kind"] == "request":
            demand[one["node"]] = one["units"], one["priority"], one["deadline"]
        elif one["kind"] == "enter":
            assert (one["units"], one["priority"], one["deadline"]) == demand[one["node"]]
        else:
            assert one["units"] == demand[one["node"]][0]
    assert {one["units"] for one in run.diary.of("enter")} == {1, 2}


def test_every_node_asks_at_its_own_rate() -> None:
    """One that has the rate 0 never asks, and one with ten times the rate asks about ten times as often."""
    workload = {"rate": [0.2, 0.02, 0.0], "cs_time": 0.01}
    run = simulate(nodes=3, topology="complete", delays={"hop": 0.01}, workload=workload, duration=4000.0)
    counts = Counter(one["node"] for one in run.diary.of("request"))
    assert set(counts) == {0, 1}
    assert counts[0] == pytest.approx(800, rel=0.15)
    assert counts[1] == pytest.approx(80, rel=0.4)


def test_the_agent_is_given_the_demand() -> None:
    """With demands for all units, two nodes are never inside together; with demands for one they are."""
    keys: dict[str, Any] = {"algorithm": {"name": "ring", "k": 2}, "nodes": 3, "topology": "complete"}
    keys |= {"delays": {"hop": 0.01}, "duration": 200.0}
    together = [simulate(workload={"rate": 1.0, "units": units, "cs_time": 5.0}, **keys) for units in (1, 2)]
    assert [run.details["safety"] for run in together] == ["at most 2 of 2 in use"] * 2
    assert together[0].audit.metrics()["nodes_inside"] > 1.5
    assert together[1].audit.metrics()["nodes_inside"] <= 1
