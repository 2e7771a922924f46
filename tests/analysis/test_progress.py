"""Progress: requests are pending, the network allows it, and no node enters."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.check import INCONCLUSIVE, NOT_CHECKED, OK
from analysis.progress import Progress
from tests.analysis.histories import Event, join, lost, miscount, partition, request, start, stop, vanished, visit
from tests.analysis.test_checks import assert_fails, judge

PATIENT = start(patience=5)
END = stop(40, 1, 0, 0)
CLOSED = ("close", 30, None, 0)
"""Requests stop ten time units before the end."""
SERVED = visit(0, 0.1, 0.2, 0.5)
"""A first entry, so that a run shows something."""
NOT_TO_THE_END = "not judged to the end: nodes were kept from each other or from units"


# -- patience ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(visit(1, 1, 6, 7), id="in time"),
        pytest.param([*visit(0, 1, 2, 20), *visit(1, 3, 25, 26)], id="one was inside"),
        pytest.param([*visit(0, 1, 2, 30), *visit(1, 3, 20, 26)], id="one is inside, with another unit"),
        pytest.param([*visit(0, 1, 2, 3), *visit(1, 20, 24, 25)], id="no node waited in between"),
        pytest.param([request(1, 1), request(1, 2), *visit(0, 4, 5, 6), ("enter", 10, 1, 1)], id="others entered"),
    ],
)
def test_nodes_enter(history: list[Event]) -> None:
    """An entry of any node is progress: that every single request is served is for `starvation`."""
    assert judge(Progress, PATIENT, *in_order(history), END).verdict == OK


def in_order(history: list[Event]) -> list[Event]:
    """By time; of several at one time, as they are written."""
    return sorted(history, key=lambda event: event[1])


@pytest.mark.parametrize(
    ("history", "first"),
    [
        pytest.param(visit(1, 1, 7, 8), "t=7: node 1 is the first to enter for more than 5", id="after the request"),
        pytest.param(
            [*visit(0, 1, 2, 3), *visit(1, 2, 9, 10)],
            "t=9: node 1 is the first to enter for more than 5",
            id="after the last exit",
        ),
        pytest.param(
            [request(1, 2), *visit(1, 6, 8, 9)],
            "t=8: node 1 is the first to enter for more than 5",
            id="a later request does not begin it anew",
        ),
    ],
)
def test_a_standstill_longer_than_the_patience(history: list[Event], first: str) -> None:
    """While a node waits and none is inside; without a patience it is not judged."""
    assert_fails(judge(Progress, PATIENT, *in_order(history), END), first)
    assert judge(Progress, start(), *in_order(history), *visit(2, 10, 10, 11), END).offenders == []


# -- the end -----------------------------------------------------------------------------------------------------------


def test_no_node_enters_any_more() -> None:
    """Named by the first node that waits, for a replay."""
    verdict = judge(Progress, start(), *SERVED, request(3, 2), request(4, 1), CLOSED, END)
    assert_fails(verdict, "t=40: 2 nodes wait and no node has entered since t=3")
    assert verdict.first == {"node": 1, "t": 40 * 10**9}
    assert_fails(judge(Progress, start(), request(3, 2), CLOSED, END), "t=40: node 2 waits and no node has entered")


@pytest.mark.parametrize(
    ("last_exit", "expected"),
    [pytest.param(36, OK, id="served until shortly before"), pytest.param(34, "failed", id="for most of the time")],
)
def test_the_time_after_the_last_request_is_short(last_exit: float, expected: str) -> None:
    """What is pending when it is over is a matter of starvation, if nodes entered in its second half."""
    history = [request(1, 1), *visit(0, 2, 31, last_exit)]
    assert judge(Progress, start(), *in_order([*history, CLOSED]), END).verdict == expected


def test_a_run_that_ends_when_requests_stop() -> None:
    """What is pending then has had no time."""
    assert judge(Progress, start(), *SERVED, request(39, 1), ("close", 40, None, 0), END).verdict == OK


def test_a_node_inside_at_the_end_is_progress() -> None:
    """The others wait for it."""
    assert judge(Progress, start(), request(1, 0), request(1, 1), ("enter", 2, 0, 1), CLOSED, END).verdict == OK


# -- what the world does -----------------------------------------------------------------------------------------------

CUT, HEALED = partition(2, 2), partition(10, 1)


@pytest.mark.parametrize(
    ("what", "entry"),
    [
        pytest.param([CUT], 20, id="partitioned"),
        pytest.param([CUT, HEALED], 15, id="healed lately"),
        pytest.param([partition(2, 1, 1)], 20, id="the waiting node can reach no unit"),
        pytest.param([("crash", 2, 0, 0)], 20, id="after a crash"),
        pytest.param([("crash", 2, 0, 0), ("restart", 3, 0, 2)], 20, id="after a restart"),
        pytest.param([lost(2, 0, 1, 1)], 20, id="a fault took the unit"),
        pytest.param([lost(2, 0, 1, 1, why="crash")], 20, id="a crash took the unit"),
    ],
)
def test_what_keeps_nodes_from_entering(what: list[Event], entry: float) -> None:
    """No offence while that lasts, and a remark if it lasts to the end."""
    verdict = judge(Progress, PATIENT, *SERVED, request(1, 1), *what, ("enter", entry, 1, 1), ("exit", 22, 1, 1), END)
    assert (verdict.verdict, verdict.detail) == (OK, "" if HEALED in what else NOT_TO_THE_END)
    pending = judge(Progress, PATIENT, *SERVED, request(1, 1), *what, CLOSED, END)
    assert pending.verdict == ("failed" if HEALED in what else OK)


@pytest.mark.parametrize(
    "what",
    [
        pytest.param([CUT, partition(5, 1)], id="healed long ago"),
        pytest.param([partition(7, 2)], id="partitioned too late"),
        pytest.param([("crash", 7, 0, 0)], id="a crash that came too late"),
        pytest.param([lost(2, 0, 1, 1, "Request", 0)], id="a lost message without a unit"),
        pytest.param([lost(2, 0, 1, 1, why="no receiver")], id="a unit that no fault took"),
        pytest.param([miscount(2, 0, 1, 0), partition(2, 1, 0, 1, 2)], id="a unit that the algorithm dropped"),
    ],
)
def test_what_is_no_excuse(what: list[Event]) -> None:
    """A standstill in a network that was whole is an offence, whatever came later."""
    assert judge(Progress, PATIENT, *SERVED, request(1, 1), *what, ("enter", 20, 1, 1), END).offenders


def test_the_unit_that_was_dropped_is_named() -> None:
    """Where and when, as far as it is known."""
    dropped = [miscount(2, 0, 1, 0), partition(2, 1, 0, 1, 2)]
    verdict = judge(Progress, start(), *SERVED, request(1, 1), *dropped, CLOSED, stop(40, 0, 0, 0))
    assert_fails(verdict, "no node has entered since t=2", "; a unit was lost by node 0 in on_release() at t=2")


def test_no_unit_is_missing_where_permissions_are_shared() -> None:
    """No node holds any."""
    permissions = start(shares="permissions", units=(0, 0, 0), capacity=1)
    verdict = judge(Progress, permissions, *SERVED, request(1, 1), CLOSED, END)
    assert verdict.offenders == ["t=40: node 1 waits and no node has entered since t=1"]


def test_a_node_that_crashes_waits_no_more() -> None:
    """Nor is it inside."""
    crashed = [request(1, 1), ("crash", 2, 1, 0), ("restart", 3, 1, 2)]
    assert judge(Progress, PATIENT, *SERVED, *crashed, END).verdict == OK


def test_nodes_that_are_not_there_all_the_time() -> None:
    """They may have left with their requests, which no event says."""
    gone = start(patience=5, absent=[2])
    assert judge(Progress, gone, *SERVED, request(1, 2), CLOSED, END).verdict == OK
    assert_fails(judge(Progress, gone, *SERVED, request(1, 1), CLOSED, END), "node 1 waits")
    assert judge(Progress, gone, request(1, 2), CLOSED, END).verdict == INCONCLUSIVE


# -- nodes that share units --------------------------------------------------------------------------------------------

STEADY = [event for t in range(1, 38, 2) for event in visit(0, t, t, t + 1)]
"""Node 0 enters again and again."""


@pytest.mark.parametrize(
    "apart",
    [
        pytest.param({"units": (1, 0, 1), "clusters": [0, 0, 1]}, id="clusters"),
        pytest.param({"units": (1, 0, 1), "places": [1, 1], "groups": [0, 0, 1]}, id="neighbourhoods"),
    ],
)
def test_sections_are_judged_one_by_one(apart: dict[str, Any]) -> None:
    """Entries of another section are no progress of this one."""
    stuck = in_order([*STEADY, request(3, 2), CLOSED])
    assert_fails(judge(Progress, start(**apart), *stuck, END), "t=40: node 2 waits and no node has entered since t=3")
    beside = in_order([*STEADY, request(3, 1), CLOSED])
    assert judge(Progress, start(**apart), *beside, END).verdict == OK


PLACE = {"units": (1, 0, 0), "places": [1], "groups": [0, 0, None]}


def test_a_node_that_arrives_waits_from_then_on() -> None:
    """Its application asks just before it joins."""
    arrives = [*visit(0, 1, 1, 2), request(10, 2), join(10, 2, 0), ("enter", 14, 2, 1), ("exit", 15, 2, 1)]
    assert judge(Progress, start(**PLACE, patience=5), *arrives, END).verdict == OK
    late = [*visit(0, 1, 1, 2), request(10, 2), join(10, 2, 0), ("enter", 16, 2, 1), ("exit", 17, 2, 1)]
    assert_fails(judge(Progress, start(**PLACE, patience=5), *late, END), "t=16: node 2 ")


def test_a_departure_without_notice_may_have_taken_the_unit_along() -> None:
    """Then the neighbourhood is not judged to the end."""
    robbed = [*visit(0, 1, 1, 2), vanished(3, 0, 0), request(4, 1)]
    assert judge(Progress, start(**PLACE), *robbed, CLOSED, END).verdict == OK
    parted = [partition(5, 2), partition(6, 1)]
    assert judge(Progress, start(**PLACE), *robbed, *parted, CLOSED, END).verdict == OK, "for good"
    assert_fails(judge(Progress, start(**PLACE), *visit(0, 1, 1, 2), request(4, 1), CLOSED, END), "node 1 waits")


# -- nothing to judge --------------------------------------------------------------------------------------------------


def test_a_run_without_requests_shows_nothing() -> None:
    """It is neither ok nor failed."""
    verdict = judge(Progress, start(), CLOSED, END)
    assert (verdict.verdict, verdict.detail) == (INCONCLUSIVE, "no request was made")


def test_a_run_without_entries_shows_nothing() -> None:
    """If the world may be to blame; else it has failed."""
    verdict = judge(Progress, start(), request(1, 1), partition(2, 2), CLOSED, END)
    assert (verdict.verdict, verdict.detail) == (INCONCLUSIVE, f"no node entered; {NOT_TO_THE_END}")


def test_a_killed_run_is_not_checked() -> None:
    """It did not come to its end, but what went wrong before counts."""
    assert judge(Progress, PATIENT, *SERVED, request(1, 1)).verdict == NOT_CHECKED
    assert_fails(judge(Progress, PATIENT, *visit(1, 1, 9, 10)), "t=9: node 1 ")
