"""Only the world excuses a request that is not served: what the algorithm itself has done is no excuse."""

from __future__ import annotations

import pytest

from analysis.check import FAILED, OK
from analysis.starvation import Starvation
from tests.analysis.histories import Event, lost, miscount, partition, pending, request, send, start, stop, visit
from tests.analysis.test_checks import assert_fails, judge
from tests.testbed.simulate import simulate

NO_UNIT = pending(20, 1, since=1, alive=True, component=3, component_units=0)
"""Node 1 still waits, and the whole network holds no unit."""
END = stop(20, 0, 0, 0)
EXCUSED = "excused: 1 (component holds no unit)"


# -- units that are gone -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "detail"),
    [
        pytest.param([send(2, 0, 2, 1), lost(3, 0, 2, 1)], EXCUSED, id="taken by a fault"),
        pytest.param([send(2, 0, 2, 1), lost(3, 0, 2, 1, why="crash")], EXCUSED, id="taken by a crash on its way"),
        pytest.param([("crash", 3, 0, 1)], EXCUSED, id="taken by the crash of its holder"),
        pytest.param(
            [miscount(2, 0, 1, 0), miscount(3, 0, 0, 1), ("crash", 4, 0, 1)], EXCUSED, id="dropped, made again"
        ),
        pytest.param([miscount(2, 0, 1, 0)], None, id="dropped"),
        pytest.param([miscount(2, 0, 1, 0), ("crash", 3, 0, 0)], None, id="dropped, then a crash"),
    ],
)
def test_who_took_the_unit(what: list[Event], detail: str | None) -> None:
    """A unit that the algorithm dropped is no excuse, whatever the world did besides."""
    verdict = judge(Starvation, start(), request(1, 1), *what, NO_UNIT, END)
    assert verdict.verdict == (FAILED if detail is None else OK)
    if detail is None:
        dropped = "its component of 3 holds 0 units, and one was lost by node 0 in on_release() at t=2"
        assert_fails(verdict, f"t=20: node 1 still waits since t=1; {dropped}")
    else:
        assert verdict.detail == detail


def test_a_unit_that_was_never_there() -> None:
    """The algorithm started with fewer units than it may have in use."""
    empty = start(units=(0, 0, 0), capacity=1)
    assert_fails(judge(Starvation, empty, request(1, 1), NO_UNIT, END), "and one was missing from the start")


def test_permissions_are_no_units() -> None:
    """No node holds any from the start, and none is missing."""
    permissions = start(shares="permissions", units=(0, 0, 0), capacity=1)
    verdict = judge(Starvation, permissions, request(1, 1), NO_UNIT, END)
    assert_fails(verdict, "node 1 still waits since t=1; for the permission of []")


# -- requests that had waited too long before --------------------------------------------------------------------------

PARTED = pending(20, 2, since=1, alive=True, component=1, component_units=0, parts=2)


@pytest.mark.parametrize(
    ("at", "promises", "expected"),
    [
        pytest.param(6, True, OK, id="in time"),
        pytest.param(8, True, FAILED, id="too late"),
        pytest.param(8, False, OK, id="no bound is promised"),
    ],
)
def test_a_partition_after_the_patience_is_no_excuse(at: float, promises: bool, expected: str) -> None:
    """Nothing had kept node 2 from being served until then."""
    begun = start(patience=5, promises_bound=promises)
    verdict = judge(Starvation, begun, request(1, 2), partition(at, 2, 2), PARTED, stop(20, 1, 0, 0))
    assert verdict.verdict == expected
    if expected == FAILED:
        waited = "node 2 had waited for 7 while nothing kept it from entering, longer than the patience of 5"
        assert_fails(verdict, f"t=20: {waited}")
    else:
        assert verdict.detail == EXCUSED


def test_only_calm_time_counts() -> None:
    """Four time units before one partition and four before the next are not more than five."""
    parted = [partition(5, 2, 2), partition(8, 1), partition(12, 2, 2)]
    assert judge(Starvation, start(patience=5), request(1, 2), *parted, PARTED, stop(20, 1, 0, 0)).verdict == OK


def test_a_request_that_was_served_is_forgotten() -> None:
    """Late, but served; the next one is excused."""
    served = [*visit(2, 1, 9, 10)[:1], partition(8, 2, 2), *visit(2, 1, 9, 10)[1:], request(11, 2)]
    pending_now = pending(20, 2, since=11, alive=True, component=1, component_units=0, parts=2)
    assert judge(Starvation, start(patience=5), *served, pending_now, stop(20, 1, 0, 0)).verdict == OK


@pytest.mark.parametrize(("at", "expected"), [(6, OK), (8, FAILED)])
def test_the_crash_of_a_node_that_had_waited_too_long(at: float, expected: str) -> None:
    """It was starved before it crashed."""
    verdict = judge(Starvation, start(patience=5), request(1, 2), ("crash", at, 2, 0), stop(20, 1, 0, 0))
    assert verdict.verdict == expected
    assert expected == FAILED or verdict.detail == "excused: 1 (node crashed)"


# -- a token that is sent to a node that is down -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "conserved"),
    [
        pytest.param(17.5, "1 of 1 unit kept, 1 of them on the way at the end", id="sent after the crash"),
        pytest.param(25.5, "0 of 1 unit kept, 1 lost to injected faults", id="on its way at the crash"),
    ],
)
def test_suzuki_kasami_sends_the_token_to_a_node_that_has_crashed(at: float, conserved: str) -> None:
    """Node 3 had asked, and its algorithm does not know of crashes: the others wait for ever, and are excused."""
    crash = [{"at": at, "kind": "crash", "node": 3}]
    run = simulate(algorithm="suzuki-kasami", topology="complete", nodes=6, workload={"rate": 0.3}, faults=crash,
                   duration=100.0, drain=100.0)  # fmt: skip
    assert set(run.verdicts.values()) == {OK}
    assert run.details["conservation"] == conserved
    assert run.details["starvation"] == "excused: 5 (component holds no unit), 1 (node crashed)"
