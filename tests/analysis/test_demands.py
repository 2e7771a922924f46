"""Metrics of demands, on hand-written histories with results worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from agents.contract import TICKS
from agents.registry import ALGORITHMS
from analysis.audit import Audit, BatchedAudit
from analysis.check import MAX_OFFENDERS
from analysis.demands import DemandMetrics
from analysis.listener import method_name
from tests.analysis.histories import Event, feed, join, left, request, start, stop, visit
from tests.testbed.simulate import simulate
from tests.testbed.token_ring import TokenRing

NEVER = 10_000 * TICKS
"""A patience that does not run out."""


def measure(*events: Event) -> dict[str, Any]:
    """The metrics of demands in a history: the same from a log and on line, where steps come in batches."""
    found = feed(DemandMetrics(), *events).result()
    on_line, log = BatchedAudit(), Audit()
    feed(on_line, *events)
    feed(log, *events)
    metrics = [audit.metrics() for audit in (on_line, log)]
    assert [{name: one[name] for name in found} for one in metrics] == [found, found]
    return found


def enter(t: float, node: int, units: int = 1, priority: int = 0, deadline: float | None = None) -> Event:
    """An entry with a demand."""
    return ("enter", t, node, units, priority, None if deadline is None else round(deadline * TICKS))


def exits(t: float, node: int, units: int = 1) -> Event:
    return ("exit", t, node, units)


def close(t: float) -> Event:
    """Requests stop."""
    return ("close", t, None, NEVER)


# -- inversions -----------------------------------------------------------------------------------------------------

QUEUE = [request(0, 0, priority=9), enter(0, 0, priority=9), request(1, 1, priority=1), request(2, 2, priority=5)]
"""Node 0 is inside; node 1 waits with priority 1, and node 2, which asked later, with priority 5."""
IN_WRONG_ORDER = [*QUEUE, exits(4, 0), enter(4, 1, priority=1), exits(5, 1), enter(5, 2, priority=5), exits(6, 2)]


def test_an_entry_before_a_more_urgent_request_is_an_inversion() -> None:
    """Node 1 enters while node 2 waits: one inversion in three entries, named with its time."""
    found = measure(start(), *IN_WRONG_ORDER, close(8), stop(9, 1, 0, 0))
    assert found["inversions_per_cs"] == pytest.approx(1 / 3)
    assert found["first_inversions"] == ["t=4: node 1 enters with priority 1 while node 2 waits with 5 since t=2"]


def test_the_most_urgent_first_is_no_inversion() -> None:
    """Requests with less or the same priority may wait."""
    right = [*QUEUE, request(3, 3, priority=5), exits(4, 0), enter(4, 2, priority=5), exits(5, 2)]
    found = measure(start(units=(1, 0, 0, 0)), *right, enter(5, 3, priority=5), exits(6, 3), enter(6, 1, priority=1))
    assert found["inversions_per_cs"] == found["inversions_after_grace_per_cs"] == 0
    assert found["first_inversions"] == []


def test_an_entry_is_an_inversion_for_every_more_urgent_request() -> None:
    """Nine requests that are passed over count nine times; the first few are listed."""
    nodes = range(1, 10)
    asks = [request(1, node, priority=node) for node in nodes]
    found = measure(start(units=(1, *([0] * 9))), request(0, 0), *asks, enter(2, 0))
    assert found["inversions_per_cs"] == 9
    assert len(found["first_inversions"]) == MAX_OFFENDERS


def test_without_different_priorities_there_is_nothing_to_invert() -> None:
    """None, not 0: the load did not test the order."""
    found = measure(start(), *visit(0, 1, 2, 3), *visit(1, 1, 4, 5))
    assert found["inversions_per_cs"] is found["inversions_after_grace_per_cs"] is found["first_inversions"] is None


@pytest.mark.parametrize(("grace", "counted"), [(0, 1), (1.9, 1), (2, 0), (3, 0)])
def test_grace(grace: float, counted: int) -> None:
    """Node 2 has waited for two time units when it is passed over: longer than the grace, or not."""
    found = measure(start(grace=grace), *IN_WRONG_ORDER)
    assert found["inversions_after_grace_per_cs"] == pytest.approx(counted / 3)
    assert found["inversions_per_cs"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(("warmup", "per_cs"), [(4, 1 / 2), (4.5, 0), (6, None)])
def test_inversions_in_the_warmup_do_not_count(warmup: float, per_cs: float | None) -> None:
    """Nor do the entries of the warmup; without entries there is no rate."""
    found = measure(start(warmup=warmup), *IN_WRONG_ORDER, close(8), stop(9, 1, 0, 0))
    assert found["inversions_per_cs"] == per_cs


def test_a_request_from_the_warmup_can_be_passed_over_later() -> None:
    """Node 2 asked in the warmup and is still pending when node 1 enters."""
    assert measure(start(warmup=3), *IN_WRONG_ORDER)["inversions_per_cs"] == 1 / 2


def test_a_crashed_node_is_not_passed_over() -> None:
    """Its request is gone."""
    found = measure(start(), *QUEUE, ("crash", 3, 2, 0), exits(4, 0), enter(4, 1, priority=1))
    assert found["inversions_per_cs"] == 0


def test_an_evicted_node_is_passed_over_only_when_it_asks_anew() -> None:
    """Node 0, of priority 9, is taken out of its critical section; node 1 enters before it asks anew, or after."""
    evicted = [*QUEUE[:-1], ("evict", 2, 0)]
    assert measure(start(), *evicted, enter(3, 1, priority=1))["first_inversions"] == []
    found = measure(start(), *evicted, request(2.5, 0, priority=9), enter(3, 1, priority=1))
    assert found["first_inversions"] == ["t=3: node 1 enters with priority 1 while node 0 waits with 9 since t=2.5"]


# -- deadlines ------------------------------------------------------------------------------------------------------


def meets(node: int, asks: float, enters: float, deadline: float | None) -> list[Event]:
    """One critical section with a deadline."""
    return [request(asks, node, deadline=deadline), enter(enters, node, deadline=deadline), exits(enters + 0.5, node)]


END = [close(20), stop(30, 1, 0, 0)]


@pytest.mark.parametrize(
    ("history", "missed"),
    [
        pytest.param(meets(0, 1, 3, 4), 0, id="in time"),
        pytest.param(meets(0, 1, 4, 4), 0, id="at the last moment"),
        pytest.param(meets(0, 1, 5, 4), 1, id="late"),
        pytest.param([*meets(0, 1, 5, 4), *meets(0, 6, 7, 8), *meets(0, 9, 10, 11)], 1 / 3, id="one of three"),
        pytest.param([*meets(0, 1, 5, 4), *meets(0, 6, 7, None)], 1, id="requests without a deadline do not count"),
        pytest.param(meets(0, 1, 5, None), None, id="no deadlines"),
        pytest.param([*meets(0, 1, 3, 4), request(2, 1, deadline=9)], 1 / 2, id="never served"),
        pytest.param([request(2, 1, deadline=40)], None, id="pending, and its time is not over"),
        pytest.param([request(2, 1, deadline=9), ("crash", 12, 1, 0)], None, id="crashed"),
    ],
)
def test_deadlines(history: list[Event], missed: float | None) -> None:
    """The share of deadlines that passed before the entry, or before the end without one."""
    assert measure(start(), *history, *END)["deadlines_missed"] == missed


def test_a_deadline_is_missed_once() -> None:
    """A request that is late when requests stop and enters afterwards is one miss, not two."""
    late = [request(2, 1, deadline=9), END[0], enter(22, 1, deadline=9), exits(23, 1), END[1]]
    assert measure(start(), *meets(0, 1, 3, 4), *late)["deadlines_missed"] == 1 / 2


def test_an_evicted_node_has_met_its_deadline_by_its_first_entry() -> None:
    """What it asks for anew is a second request, with a deadline of its own."""
    evicted = [request(1, 0, deadline=4), enter(2, 0, deadline=4), ("evict", 3, 0)]
    assert measure(start(), *evicted, *meets(1, 8, 10, 9), *END)["deadlines_missed"] == 1 / 2
    assert measure(start(), *evicted, *meets(0, 5, 6, 4), *END)["deadlines_missed"] == 1 / 2


def test_deadlines_of_the_warmup_do_not_count() -> None:
    """Whether a deadline counts goes by the time of the entry."""
    assert measure(start(warmup=5), *meets(0, 1, 4, 3), *meets(0, 6, 7, 8), *END)["deadlines_missed"] == 0


# -- averages over time ---------------------------------------------------------------------------------------------


def shares(*events: Event) -> tuple[float | None, ...]:
    """Nodes inside, utilisation, and the share of time in which a waiting node's demand would have fitted."""
    found = measure(*events)
    return found["nodes_inside"], found["utilisation"], found["idle_though_fitting"]


FOUR = (4, 0, 0)
TWO_VISITS = [*visit(0, 0, 2, 8, units=1)[:2], *visit(1, 3, 4, 6, units=2), exits(8, 0)]
"""One unit is in use from 2 to 8, and two more from 4 to 6. Node 0 waits from 0 to 2, node 1 from 3 to 4."""


def test_averages_over_time() -> None:
    """Over ten time units: 6 + 2 of one node inside, 6 + 4 of 40 units, and 3 in which a waiting node would fit."""
    assert shares(start(units=FOUR), *TWO_VISITS, close(10), stop(10, 4, 0, 0)) == (0.8, 0.25, 0.3)


def test_averages_start_after_the_warmup() -> None:
    """From 5 to 10: node 0 for three time units and node 1 for one."""
    assert shares(start(units=FOUR, warmup=5), *TWO_VISITS, close(10), stop(10, 4, 0, 0)) == (0.8, 0.25, 0)


def test_averages_end_when_requests_stop() -> None:
    """What happens after `close` is without load."""
    closed = [*TWO_VISITS[:4], close(5), *TWO_VISITS[4:], stop(10, 4, 0, 0)]
    assert shares(start(units=FOUR), *closed) == (4 / 5, (3 + 2) / 20, 3 / 5)


def test_a_run_that_ends_in_its_warmup_has_no_averages() -> None:
    """None, not a division by zero."""
    assert shares(start(units=FOUR, warmup=20), *TWO_VISITS, close(10), stop(11, 4, 0, 0)) == (None, None, None)


@pytest.mark.parametrize("leaves", [("crash", 2, 0, 0), ("evict", 2, 0), exits(2, 0, 3)])
def test_units_are_free_after_a_crash_and_an_eviction(leaves: Event) -> None:
    """Node 0 uses three of four units for two of four time units, however it leaves."""
    found = measure(start(units=FOUR), request(0, 0, 3), enter(0, 0, 3), leaves, close(4), stop(4, 4, 0, 0))
    assert (found["nodes_inside"], found["utilisation"]) == (2 / 4, 6 / 16)
    assert found["idle_though_fitting"] == 0


@pytest.mark.parametrize(("units", "share"), [((3,), 0), ((2,), 1), ((1,), 1), ((3, 2), 1), ((3, 3), 0), ((2, 3), 1)])
def test_units_are_idle_though_a_demand_fits(units: tuple[int, ...], share: float) -> None:
    """Two of four units are free; what the other nodes wait for fits in or does not."""
    holder = [request(0, 0, 2), enter(0, 0, 2)]
    waiters = [request(0, node, wanted) for node, wanted in enumerate(units, 1)]
    found = measure(start(units=FOUR), *holder, *waiters, close(4), stop(4, 4, 0, 0))
    assert found["idle_though_fitting"] == share


# -- waiting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "longest", "pending"),
    [
        pytest.param([*visit(0, 1, 2, 3), *visit(1, 1, 6, 7), close(8), stop(9, 1, 0, 0)], 5, 0, id="served"),
        pytest.param([*visit(0, 1, 2, 3), request(2, 1), close(8), stop(9, 1, 0, 0)], 7, 1, id="still pending"),
        pytest.param([request(2, 1), close(4), enter(9, 1), stop(10, 1, 0, 0)], 7, 1, id="served after the close"),
        pytest.param([request(2, 1), stop(9, 1, 0, 0)], 7, 1, id="ended while requests were made"),
        pytest.param([request(2, 1), ("crash", 3, 1, 0), close(4), stop(9, 1, 0, 0)], 0, 0, id="crashed"),
        pytest.param([request(1, 0), enter(2, 0), ("evict", 4, 0), close(5), stop(7, 1, 0, 0)], 1, 0, id="evicted"),
        pytest.param(visit(0, 1, 2, 3), 1, None, id="killed"),
    ],
)
def test_longest_wait(history: list[Event], longest: float, pending: int | None) -> None:
    """Of requests that were served and of those that were not; how many were pending when requests stopped."""
    found = measure(start(), *history)
    assert (found["longest_wait"], found["pending_at_close"]) == (longest, pending)


def test_a_log_without_requests_measures_nothing() -> None:
    """The trace level `metrics` has no requests and entries: None, not 0."""
    found = feed(DemandMetrics(), start(trace="metrics"), close(8), stop(9, 1, 0, 0)).result()
    assert set(found.values()) == {None}
    assert set(feed(DemandMetrics(), *visit(0, 1, 2, 3)).result().values()) == {None}, "nor does one without a start"


def test_clusters_do_not_compete() -> None:
    """A request fits only units of its own cluster, and is passed over only by nodes of its own cluster."""
    apart = start(units=(1, 0, 1, 0), clusters=(0, 0, 1, 1), links=())
    asks = [request(0, 0), enter(0, 0), request(1, 1, priority=9), request(2, 2), enter(2, 2), exits(8, 2), exits(9, 0)]
    found = measure(apart, *asks, close(10))
    assert found["inversions_per_cs"] == 0
    assert found["idle_though_fitting"] == pytest.approx(0.1), "only when node 0 has left"
    assert measure(start(units=(2, 0, 0, 0), links=()), *asks, close(10))["inversions_per_cs"] == 0.5


def test_neighbourhoods_do_not_compete() -> None:
    """As clusters; a node competes where it is, and one that is nowhere fits no units."""
    apart = start(units=(1, 0, 1, 0), places=(1, 1), groups=(0, 0, 1, None), links=())
    asks = [request(0, 0), enter(0, 0), request(1, 1, priority=9), request(2, 2), enter(2, 2), exits(8, 2), exits(9, 0)]
    found = measure(apart, *asks, close(10))
    assert found["inversions_per_cs"] == 0
    assert found["idle_though_fitting"] == pytest.approx(0.1), "only when node 0 has left"
    moves = [left(2, 1, 0), join(2, 1, 1), request(2, 1, priority=9)]
    arrived = measure(apart, *asks[:3], *moves, *asks[3:], close(10))
    assert arrived["inversions_per_cs"] == 0.5
    assert arrived["idle_though_fitting"] == pytest.approx(0.2), "when node 2 has left"
    assert measure(apart, request(0, 3), close(10))["idle_though_fitting"] == 0


def test_an_abandoned_request_is_not_pending() -> None:
    """Its node has left, and what it waited for does not count."""
    apart = start(units=(1, 0, 0), places=(1,), groups=(0, 0, 0), links=())
    found = measure(apart, request(2, 1, deadline=3), left(8, 1, 0, abandoned=True), close(10), stop(12, 1, 0, 0))
    assert (found["longest_wait"], found["pending_at_close"], found["deadlines_missed"]) == (0, 0, None)
    assert found["idle_though_fitting"] == pytest.approx(0.6)


# -- on line and from a log -----------------------------------------------------------------------------------------


def test_a_run_measures_the_same_on_line_and_from_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Demands that differ in everything, with crashes: batches of notes and single events give the same numbers."""
    monkeypatch.setitem(ALGORITHMS, "ring", TokenRing)
    workload = {
        "rate": [0.2, 0.1, 0.1, 0.0, 0.2],
        "units": {"weights": {1: 3, 4: 1}},
        "priority": {"uniform": [0, 9]},
        "deadline": {"uniform": [2, 20]},
        "requests": [{"node": 3, "at": 60.5, "units": 4, "deadline": 1.0}],
    }
    faults = [{"at": 250, "kind": "crash", "node": 2}]
    run = simulate(
        algorithm={"name": "ring", "k": 4}, nodes=5, topology="complete", delays={"hop": 0.25}, warmup=40.0,
        workload=workload, faults=faults, drain=50.0,
    )  # fmt: skip
    log = Audit()
    for event in run.diary.events:
        t, node, kind, *fields = event.values()
        getattr(log, method_name(kind))(round(t * TICKS), node, *fields)
    names = DemandMetrics().result()
    found, again = ({name: audit.metrics()[name] for name in names} for audit in (run.audit, log))
    assert found == again
    assert found["inversions_per_cs"] > found["inversions_after_grace_per_cs"] > 0
    assert 0 < found["deadlines_missed"] < 1
    assert 0 < found["idle_though_fitting"] < 1
    assert 0 < found["utilisation"] < 1
