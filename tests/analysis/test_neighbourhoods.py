"""Checks and metrics of runs in neighbourhoods, on hand-written histories: units and token belong to a place.

Place 0 has two units, and nodes 0, 1 and 2 are there; node 0 has the token. Place 1 has one unit, and node 3, with the
token. Place 2 has three units, and no node: its token lies there. Node 4 is in no neighbourhood.
"""

from __future__ import annotations

from typing import Any

import pytest

from analysis.audit import Audit
from analysis.check import FAILED, OK, Verdict
from analysis.checks import Conservation, Safety, Starvation
from analysis.neighbourhoods import NeighbourhoodMetrics
from tests.analysis.histories import (
    TICKS,
    Event,
    broadcast,
    deposit,
    feed,
    join,
    left,
    regenerate,
    request,
    send,
    start,
    vanished,
    visit,
)
from tests.analysis.test_checks import assert_fails, judge, stop_apart
from tests.testbed.simulate import ALL_OK, verdicts_of

FACTS: dict[str, Any] = {
    "needs": "groups",
    "units": (2, 0, 0, 1, 0),
    "tokens": (1, 0, 0, 1, 0),
    "places": (2, 1, 3),
    "groups": (0, 0, 0, 1, None),
    "kept": (0, 0, 3),
    "links": (),
}
PLACES = start(**FACTS)
ENDS = stop_apart(9, [2, 0, 0, 1, 0], [1, 0, 0, 1, 0])


def moved(kind: str, t: float, node: int, peer: int, why: str = "", *, units: int = 2, id: int = 1) -> Event:
    """The token of a neighbourhood leaves, arrives or is lost."""
    more = {"send": [4, 0, None], "lost": [why]}.get(kind, [])
    return (kind, t, node, peer, id, "Token", units, 1, *more)


def ends(*units: int) -> Event:
    """The end; nodes that hold units hold a token."""
    return stop_apart(9, list(units), [min(one, 1) for one in units])


def enter(t: float, node: int) -> Event:
    """A node enters with one unit."""
    return ("enter", t, node, 1)


# -- safety --------------------------------------------------------------------------------------------------------

ASK = [request(1, node) for node in range(5)]


@pytest.mark.parametrize(
    ("history", "first"),
    [
        pytest.param(
            [enter(2, 0), enter(3, 1), enter(4, 2)],
            ["t=4:", "node 2 enters with [0, 1] of its neighbourhood inside: 3 units of 2 in use in neighbourhood 0"],
            id="three at a place of two",
        ),
        pytest.param(
            [enter(2, 3), join(3, 4, 1), enter(3, 4)],
            ["t=3:", "node 4 enters with [3] of its neighbourhood inside: 2 units of 1 in use in neighbourhood 1"],
            id="too many after an arrival",
        ),
        pytest.param(
            [("enter", 2, 0, 3)],
            ["t=2:", "node 0 enters with [] of its", "3 units of 2"],
            id="a demand beyond the place",
        ),
        pytest.param([enter(2, 4)], ["t=2:", "node 4 enters outside every neighbourhood"], id="outside"),
        pytest.param(
            [left(2, 1, 0), request(3, 1), enter(4, 1)],
            ["t=4:", "node 1 enters outside every neighbourhood"],
            id="outside after a departure",
        ),
        pytest.param(
            [("crash", 2, 1, 0), request(3, 1), enter(4, 1)],
            ["t=4:", "node 1 enters outside every neighbourhood"],
            id="outside after a crash",
        ),
        pytest.param(
            [left(2, 1, 0, abandoned=True), join(3, 1, 0), enter(4, 1)],
            ["t=4:", "node 1 enters without a request"],
            id="with an abandoned request",
        ),
        pytest.param(
            [enter(2, 1), left(3, 1, 0)],
            ["t=3:", "node 1 leaves neighbourhood 0 in its critical section"],
            id="leaves inside",
        ),
        pytest.param(
            [enter(2, 1), ("evict", 3, 1), enter(4, 1)], ["t=4:", "node 1 enters without a request"], id="evicted"
        ),
        pytest.param(
            [join(2, 1, 1)], ["t=2:", "node 1 joins neighbourhood 1 while it is in 0"], id="in two neighbourhoods"
        ),
        pytest.param(
            [("free", 2, 0, 0, -1, 2)],
            ["t=2:", "the token of node 0 has 2 units, -1 of them free; neighbourhood 0 has 2"],
            id="fewer than none are free",
        ),
        pytest.param([("free", 2, 0, 0, 3, 2)], ["t=2:", "2 units, 3 of them free"], id="more than all are free"),
        pytest.param([("free", 2, 0, 0, 1, 3)], ["t=2:", "3 units, 1 of them free"], id="too many units"),
        pytest.param([("free", 2, 3, 1, 1, 2)], ["t=2:", "neighbourhood 1 has 1"], id="of another neighbourhood"),
    ],
)
def test_safety_fails(history: list[Event], first: list[str]) -> None:
    """Units used where they are not, or more than there are."""
    assert_fails(judge(Safety, PLACES, *ASK, *history), *first)


@pytest.mark.parametrize(
    ("history", "in_use"),
    [
        pytest.param([enter(2, 0), enter(2, 1), enter(2, 3)], "2 of 2, 1 of 1, 0 of 3", id="each place is within"),
        pytest.param(
            [enter(2, 0), enter(2, 1), ("evict", 3, 1), left(3, 1, 0), enter(4, 2)],
            "2 of 2, 0 of 1, 0 of 3",
            id="after a node was evicted",
        ),
        pytest.param(
            [enter(2, 0), enter(2, 1), ("crash", 3, 1, 0), enter(4, 2)], "2 of 2, 0 of 1, 0 of 3", id="after a crash"
        ),
        pytest.param(
            [enter(2, 3), left(3, 1, 0), join(4, 1, 2), request(4, 1), enter(4, 1)],
            "0 of 2, 1 of 1, 1 of 3",
            id="where the node has arrived",
        ),
        pytest.param(
            [("free", 2, 0, 0, free, 2) for free in (0, 1, 2)],
            "0 of 2, 0 of 1, 0 of 3",
            id="some, none, or all are free",
        ),
    ],
)
def test_safety_passes(history: list[Event], in_use: str) -> None:
    """Every place has units of its own."""
    verdict = judge(Safety, PLACES, *ASK, *history)
    assert (verdict.verdict, verdict.detail) == (OK, f"at most {in_use} in use in 3 neighbourhoods"), verdict.offenders


def test_a_node_that_left_inside_is_not_inside_any_more() -> None:
    """That is one offence, and what it does where it arrives is none."""
    moves = [enter(2, 1), left(3, 1, 0), join(4, 1, 2), *visit(1, 4, 5, 6)]
    assert judge(Safety, PLACES, request(1, 1), *moves).detail == "1 offence"


@pytest.mark.parametrize(
    ("places", "detail"),
    [
        ((1,), "at most 0 of 1 in use in 1 neighbourhood"),
        ((1,) * 6, f"at most {', '.join(['0 of 1'] * 6)} in use in 6 neighbourhoods"),
        ((1,) * 7, f"at most {', '.join(['0 of 1'] * 6)}, ... in use in 7 neighbourhoods"),
    ],
)
def test_safety_names_the_first_places(places: tuple[int, ...], detail: str) -> None:
    """Not all of many."""
    assert judge(Safety, start(places=places, groups=(None,), kept=places)).detail == detail


# -- conservation --------------------------------------------------------------------------------------------------

EMPTIED = [left(1, 1, 0), left(1, 2, 0)]
"""Node 0 stays alone at place 0."""
IN_TRANSIT = moved("send", 1, 0, 1)
LOST = [IN_TRANSIT, left(2, 1, 0), moved("lost", 3, 0, 1, "left")]
"""The receiver of the token has left before it came."""
REPLACED = [IN_TRANSIT, left(2, 1, 0), regenerate(2.5, 0, 0, 2)]
"""The token has not arrived yet where its receiver was."""


@pytest.mark.parametrize(
    ("history", "first"),
    [
        pytest.param(
            [deposit(2, 1, 0, 2)],
            ["t=2:", "node 1 puts 2 units and 1 token down at place 0; it holds 0 units, and 0 lie there"],
            id="puts down what it does not hold",
        ),
        pytest.param([deposit(2, 0, 0, 1)], ["t=2:", "node 0 puts 1 unit down", "holds 2 units"], id="puts down less"),
        pytest.param(
            [left(1, 3, 1, ready=False, units=1, tokens=1), join(2, 3, 2), moved("send", 3, 0, 3),
             moved("recv", 4, 3, 0), deposit(5, 3, 2, 2)],
            ["t=5:", "node 3 puts 2 units and 1 token down at place 2", "3 lie there"],
            id="puts down where a token lies",
        ),
        pytest.param(
            [*EMPTIED, deposit(2, 0, 0, 2), left(2, 0, 0), ends(2, 0, 0, 1, 0)],
            ["t=9:", "node 0 says it holds 2 units and 1 token; by its messages it holds 0 units"],
            id="keeps what it put down",
        ),
        pytest.param(
            [join(2, 4, 0, units=2)], ["t=2:", "node 4 takes 2 units from place 0, which has 0"], id="takes nothing"
        ),
        pytest.param(
            [join(2, 4, 2, units=2)], ["t=2:", "node 4 takes 2 units from place 2, which has 3"], id="takes a part"
        ),
        pytest.param(
            [join(2, 4, 2, units=3), join(3, 1, 2, units=3)],
            ["t=3:", "node 1 takes 3 units from place 2, which has 0"],
            id="taken twice",
        ),
        pytest.param(
            [deposit(2, 0, 0, 2), deposit(3, 0, 0, 2, "refused"), ends(0, 0, 0, 1, 0)],
            ["t=9:", "node 0 says it holds 0 units; by its messages it holds 2 units and 1 token"],
            id="refused, and forgotten",
        ),
        pytest.param(
            [left(2, 0, 0, units=2, tokens=1)],
            ["t=2:", "node 0, ready to leave, has 2 units and 1 token"],
            id="ready, with the token",
        ),
        pytest.param(
            [left(2, 0, 0)],
            ["t=2:", "node 0, ready to leave, has 0 units; by its messages it holds 2 units"],
            id="ready, and hides the token",
        ),
        pytest.param(
            [vanished(2, 0, 0)],
            ["t=2:", "node 0, leaving, has 0 units; by its messages it holds 2 units"],
            id="without notice, and hides the token",
        ),
        pytest.param(
            [left(2, 1, 0, ready=False, units=2, tokens=1)],
            ["t=2:", "node 1, leaving, has 2 units and 1 token; by its messages it holds 0 units"],
            id="has what it never got",
        ),
        pytest.param(
            [regenerate(2, 1, 0, 2)],
            ["t=2:", "node 1 makes the token of neighbourhood 0 anew, and nodes [0] hold one"],
            id="made anew while a node holds it",
        ),
        pytest.param([regenerate(2, 0, 0, 2)], ["t=2:", "nodes [0] hold one"], id="made anew by its holder"),
        pytest.param(
            [IN_TRANSIT, regenerate(2, 2, 0, 2)],
            ["t=2:", "node 2 makes the token of neighbourhood 0 anew, and [(0, 1, 1)] is in transit"],
            id="made anew while another's is in transit",
        ),
        pytest.param(
            [IN_TRANSIT, left(2, 0, 0), regenerate(3, 2, 0, 2)],
            ["t=3:", "node 2 makes the token of neighbourhood 0 anew, and [(0, 1, 1)] is in transit"],
            id="made anew while that of a node that left is in transit",
        ),
        pytest.param(
            [*EMPTIED, deposit(2, 0, 0, 2), left(2, 0, 0), join(3, 1, 0), regenerate(4, 1, 0, 2)],
            ["t=4:", "node 1 makes the token of neighbourhood 0 anew, and one lies at its place"],
            id="made anew while it lies at the place",
        ),
        pytest.param(
            [*LOST, regenerate(4, 0, 0, 1)],
            ["t=4:", "node 0 makes a token of 1 unit anew for neighbourhood 0"],
            id="made anew with fewer units",
        ),
        pytest.param(
            [*LOST, regenerate(4, 0, 0, 2), regenerate(5, 2, 0, 2)],
            ["t=5:", "nodes [0] hold one"],
            id="made anew twice",
        ),
        pytest.param(
            [*REPLACED, moved("recv", 3, 1, 0)],
            ["t=3:", "node 1 receives a token of node 0 that was made anew (Token 1)"],
            id="arrives although it was made anew",
        ),
        pytest.param(
            [IN_TRANSIT, moved("lost", 3, 0, 1, "no link")],
            ["t=3:", "node 0 loses 2 units and 1 token to 1: no link"],
            id="lost for another reason",
        ),
        pytest.param(
            [moved("lost", 3, 0, 1, "left")],
            ["t=3:", "message 1 of node 0 is lost but was not in transit"],
            id="lost, never sent",
        ),
    ],
)  # fmt: skip
def test_conservation_fails(history: list[Event], first: list[str]) -> None:
    """A token that is there twice, or vanishes although its node gave notice."""
    assert_fails(judge(Conservation, PLACES, *history), *first)


KEPT = "6 of 6 units kept, 3 of 3 tokens"
ONE_LOST = "4 of 6 units kept, 2 of 3 tokens, 2 units and 1 token lost to"


@pytest.mark.parametrize(
    ("history", "detail"),
    [
        pytest.param([ENDS], KEPT, id="at rest"),
        pytest.param([*EMPTIED, deposit(2, 0, 0, 2), left(2, 0, 0), ends(0, 0, 0, 1, 0)], KEPT, id="put down"),
        pytest.param([join(2, 4, 2, units=3), ends(2, 0, 0, 1, 3)], KEPT, id="taken up"),
        pytest.param(
            [*EMPTIED, deposit(2, 0, 0, 2), left(2, 0, 0), join(3, 4, 0, units=2), ends(0, 0, 0, 1, 2)],
            KEPT,
            id="put down and taken up",
        ),
        pytest.param(
            [deposit(2, 0, 0, 2), deposit(3, 0, 0, 2, "refused"), moved("send", 4, 0, 1), moved("recv", 5, 1, 0),
             ends(0, 2, 0, 1, 0)],
            KEPT,
            id="refused",
        ),
        pytest.param(
            [IN_TRANSIT, ends(0, 0, 0, 1, 0)],
            f"{KEPT}, 2 units and 1 token of them on the way at the end",
            id="in transit",
        ),
        pytest.param(
            [left(2, 0, 0, ready=False, units=2, tokens=1), ends(0, 0, 0, 1, 0)],
            f"{ONE_LOST} faults and to nodes that left",
            id="taken along",
        ),
        pytest.param(
            [left(2, 0, 0, ready=False, units=2, tokens=1), regenerate(3, 1, 0, 2), ends(0, 2, 0, 1, 0)],
            f"{KEPT}, 1 lost and made anew",
            id="taken along and made anew",
        ),
        pytest.param(
            [*LOST, ends(0, 0, 0, 1, 0)],
            f"{ONE_LOST} faults and to nodes that left",
            id="lost to a node that has left",
        ),
        pytest.param(
            [*LOST, regenerate(4, 0, 0, 2), ends(2, 0, 0, 1, 0)], f"{KEPT}, 1 lost and made anew", id="made anew"
        ),
        pytest.param(
            [*REPLACED, moved("lost", 3, 0, 1, "left"), ends(2, 0, 0, 1, 0)],
            f"{KEPT}, 1 lost and made anew",
            id="made anew before it is lost",
        ),
        pytest.param([*REPLACED, ends(2, 0, 0, 1, 0)], f"{KEPT}, 1 lost and made anew", id="never arrives"),
        pytest.param(
            [*REPLACED, moved("send", 3, 0, 2), moved("recv", 4, 2, 0), ends(0, 0, 2, 1, 0)],
            f"{KEPT}, 1 lost and made anew",
            id="sent again to another node",
        ),
        pytest.param(
            [IN_TRANSIT, moved("send", 3, 3, 4, units=1), moved("lost", 4, 3, 4, "left", units=1),
             regenerate(5, 3, 1, 1), moved("recv", 6, 1, 0), ends(0, 2, 0, 1, 0)],
            f"{KEPT}, 1 lost and made anew",
            id="made anew while that of another place is in transit",
        ),
    ],
)  # fmt: skip
def test_conservation_passes(history: list[Event], detail: str) -> None:
    """A token lies at the place, is held, is in transit, or is lost and made anew."""
    verdict = judge(Conservation, PLACES, *history)
    assert (verdict.verdict, verdict.detail) == (OK, detail), verdict.offenders


def test_conservation_of_the_start() -> None:
    """A token that lies at a place counts."""
    missing = start(**{**FACTS, "kept": (0, 0, 0)})
    assert_fails(judge(Conservation, missing), "t=0:", "3 units at the start, not 6")


def test_tokens_that_have_arrived_are_forgotten() -> None:
    """Nor does what is known of lost ones and replaced ones pile up in a long run."""
    back = [moved("send", 0.2, 0, 1, id=7), moved("recv", 0.4, 1, 0, id=7),
            moved("send", 0.6, 1, 0, id=7), moved("recv", 0.8, 0, 1, id=7)]  # fmt: skip
    for history in (back, [*back, *LOST], [*back, *REPLACED]):
        check = feed(Conservation(), PLACES, *history)
        assert (check.offences, check.in_transit, check.sent_in) == (0, {}, {})


# -- starvation ----------------------------------------------------------------------------------------------------


def pending(node: int, *, since: float, tokens: int = 1, parts: int = 1) -> Event:
    """A request of a node that runs is pending at the end; its neighbourhood has two units, if it has the token."""
    return ("pending", 9, node, round(since * TICKS), True, 3, 2 * tokens, tokens, parts)


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([request(2, 1), left(3, 1, 0, abandoned=True)], id="abandoned"),
        pytest.param([request(2, 1), vanished(3, 1, 0, abandoned=True)], id="abandoned without notice"),
        pytest.param([request(2, 1), enter(3, 1), ("evict", 4, 1)], id="evicted"),
        pytest.param([request(2, 1), enter(3, 1), ("evict", 4, 1), left(5, 1, 0)], id="evicted and gone"),
        pytest.param(
            [request(2, 1), left(3, 1, 0, abandoned=True), join(4, 1, 1), *visit(1, 4, 5, 6)], id="served elsewhere"
        ),
    ],
)
def test_nodes_that_left_do_not_wait(history: list[Event]) -> None:
    """Their requests are neither pending nor in need of an excuse."""
    verdict = judge(Starvation, PLACES, *history, ENDS)
    assert (verdict.verdict, verdict.detail) == (OK, "every request served"), verdict.offenders


def test_a_request_that_a_node_brings_along_is_new() -> None:
    """It waits since its arrival."""
    brought = [request(2, 1), left(3, 1, 0, abandoned=True), join(5, 1, 1), request(5, 1)]
    assert_fails(judge(Starvation, PLACES, *brought, ENDS), "t=9:", "node 1 still waits since t=5 ")


TOKEN_LOST, UNITS_TAKEN = "neighbourhood has lost its token", "units taken along by nodes that left without notice"
ENTERED = [request(1, 0), enter(1, 0)]
"""Node 0 is inside, with one of two units."""


@pytest.mark.parametrize(
    ("history", "unserved", "why"),
    [
        pytest.param([], pending(1, since=2), None, id="nothing happened"),
        pytest.param([vanished(3, 0, 0)], pending(1, since=2, tokens=0), TOKEN_LOST, id="its holder vanished"),
        pytest.param([("crash", 3, 0, 2, 1)], pending(1, since=2, tokens=0), TOKEN_LOST, id="its holder crashed"),
        pytest.param(
            [moved("lost", 3, 0, 2, "fault")], pending(1, since=2, tokens=0), TOKEN_LOST, id="a fault took it"
        ),
        pytest.param(
            [left(3, 2, 0), moved("lost", 4, 0, 2, "left")], pending(1, since=2, tokens=0), None,
            id="lost on the way to a node that left with notice: for the algorithm to mend",
        ),
        pytest.param([vanished(3, 3, 1)], pending(1, since=2, tokens=0), None, id="a node of another place vanished"),
        pytest.param([], pending(1, since=2, tokens=0), None, id="no token, and no fault"),
        pytest.param([], pending(1, since=2, parts=2), "network partitioned", id="partitioned"),
        pytest.param(
            [*ENTERED, request(2, 2), vanished(3, 0, 0), vanished(4, 2, 0)], pending(1, since=2), UNITS_TAKEN,
            id="as many vanished as there are units",
        ),
        pytest.param(
            [*ENTERED, ("evict", 3, 0), vanished(3, 0, 0), request(4, 2), vanished(5, 2, 0)], pending(1, since=2),
            UNITS_TAKEN, id="one was evicted first",
        ),
        pytest.param(
            [*ENTERED, request(2, 2), ("crash", 3, 0, 2, 1), ("crash", 4, 2, 0)], pending(1, since=2), UNITS_TAKEN,
            id="as many crashed",
        ),
        pytest.param([*ENTERED, vanished(3, 0, 0)], pending(1, since=2), None, id="fewer vanished"),
        pytest.param([*ENTERED, ("crash", 3, 0, 2, 1)], pending(1, since=2), None, id="fewer crashed"),
        pytest.param(
            [vanished(3, 0, 0), vanished(4, 2, 0)], pending(1, since=2), None, id="those that vanished used no unit"
        ),
        pytest.param(
            [*visit(0, 1, 1, 2), *visit(2, 1, 1, 2), vanished(3, 0, 0), vanished(4, 2, 0)], pending(1, since=2), None,
            id="those that vanished used none any more",
        ),
        pytest.param(
            [*ENTERED, request(2, 2), ("evict", 3, 0), left(3, 0, 0), left(4, 2, 0, abandoned=True)],
            pending(1, since=2), None, id="they gave notice",
        ),
        pytest.param(
            [*ENTERED, request(2, 2), vanished(3, 0, 0), vanished(4, 2, 0), join(5, 0, 0)], pending(1, since=2), None,
            id="one has come back",
        ),
        pytest.param(
            [*ENTERED, request(2, 2), vanished(3, 0, 0), vanished(4, 2, 0), join(5, 0, 1)], pending(1, since=2),
            UNITS_TAKEN, id="one has come to another place",
        ),
        pytest.param(
            [request(1, 3), vanished(2, 3, 1), join(3, 4, 1), request(3, 4), vanished(4, 4, 1)], pending(1, since=2),
            None, id="from another place",
        ),
        pytest.param(
            [*ENTERED, vanished(3, 0, 0), join(4, 0, 0), request(4, 0), vanished(5, 0, 0)], pending(1, since=2), None,
            id="the same node twice",
        ),
    ],
)  # fmt: skip
def test_what_excuses_a_request(history: list[Event], unserved: Event, why: str | None) -> None:
    """Node 1 waits at place 0: it is excused if the token or all units are lost, not because the place has changed."""
    verdict = judge(Starvation, PLACES, request(2, 1), *history, unserved, ENDS)
    if why is None:
        assert_fails(verdict, "t=9:", "node 1 still waits since t=2; its component of 3 holds")
    else:
        assert verdict.verdict == OK, verdict.offenders
        assert f"1 ({why})" in verdict.detail


@pytest.mark.parametrize(
    ("history", "is_excused"),
    [
        pytest.param([], False, id="nothing happened"),
        pytest.param(LOST[:1] + LOST[2:], False, id="the token was sent to a node that has left"),
        pytest.param([left(3, 0, 0, ready=False, units=2, tokens=1)], True, id="the token was taken along"),
        pytest.param([vanished(3, 2, 0)], False, id="a node vanished without it"),
    ],
)
def test_what_excuses_a_long_wait(history: list[Event], is_excused: bool) -> None:
    """A token that a node took along, not one that is made anew because its receiver had left."""
    late = [("close", 8, None, 5 * TICKS), enter(8.5, 1), ENDS]
    verdict = judge(Starvation, PLACES, request(1, 1), *history, *late)
    assert verdict.verdict == (OK if is_excused else FAILED)


# -- metrics -------------------------------------------------------------------------------------------------------

# Node 1 enters at place 0, is evicted there, and enters again at place 1 after 3 time units; node 2 abandons a request.
COURSE = [
    *visit(0, 1, 2, 3),
    request(3, 1), enter(6, 1), request(6, 2),
    ("evict", 7, 1), left(7, 1, 0), left(7, 2, 0, abandoned=True),
    join(8, 1, 1), *visit(1, 8, 11, 12),
    regenerate(13, 3, 1, 1),
    ENDS,
]  # fmt: skip


def measure(*events: Event) -> dict[str, Any]:
    """What was measured in the neighbourhoods, but for the synchronization delay."""
    found = feed(NeighbourhoodMetrics(), *events).result()
    return {name: value for name, value in found.items() if name != "synchronization_delay"}


def test_metrics() -> None:
    """Entries and waiting times by place, and what arrivals and departures brought about."""
    assert measure(PLACES, *COURSE) == {
        "messages_saved": 0,
        "arrivals": 1,
        "evictions": 1,
        "abandoned": 1,
        "regenerated": 1,
        "entries_by_place": {"0": 2, "1": 1, "2": 0},
        "waiting_by_place": {"0": 2.0, "1": 3.0, "2": None},
    }


@pytest.mark.parametrize("ends", [("exit", 3, 0, 1), ("evict", 3, 0)], ids=["exit", "evict"])
def test_the_synchronization_delay_is_that_of_one_place(ends: Event) -> None:
    """A node that enters at another place does not end it, nor begins it an exit where no request is pending."""
    here, there = 0, 3  # nodes 0 and 1 are at one place, and node 3 at another
    history = [
        request(1, here), enter(1, here), request(2, 1), request(2, there), enter(2, there), ends,
        ("exit", 4, there, 1), *visit(there, 5, 6, 6), enter(8, 1), ("exit", 9, 1, 1), ENDS,
    ]  # fmt: skip
    found = feed(Audit(), PLACES, *history).metrics()["synchronization_delay"]
    assert (found["mean"], found["max"]) == (5, 5)


def test_metrics_after_the_warmup() -> None:
    """What happened before does not count; a node's whereabouts do."""
    after = measure(start(**FACTS, warmup=7.5), *COURSE)
    assert (after["evictions"], after["abandoned"], after["arrivals"], after["regenerated"]) == (0, 0, 1, 1)
    assert after["entries_by_place"] == {"0": 0, "1": 1, "2": 0}
    late = measure(start(**FACTS, warmup=10), *COURSE)
    assert (late["arrivals"], late["entries_by_place"]) == (0, {"0": 0, "1": 1, "2": 0})


def test_an_abandoned_request_has_no_waiting_time() -> None:
    """Nor has one that was lost in a crash: after the arrival a new one counts."""
    for gone in (left(4, 1, 0, abandoned=True), ("crash", 4, 1, 0)):
        history = [request(2, 1), gone, join(5, 1, 2), *visit(1, 6, 7, 8)]
        assert measure(PLACES, *history)["waiting_by_place"]["2"] == 1.0


@pytest.mark.parametrize(
    ("trace", "known"), [("events", 7), ("cs", 6), ("metrics", 1)], ids=["all", "all but messages", "tokens made anew"]
)
def test_metrics_that_the_log_does_not_hold(trace: str, known: int) -> None:
    """None, not 0."""
    found = measure(start(**FACTS, trace=trace), ENDS)
    assert len([value for value in found.values() if value is not None]) == known
    assert found["regenerated"] == 0


def test_metrics_without_neighbourhoods() -> None:
    """Nothing is measured of what is not there."""
    assert set(measure(start(), *visit(0, 1, 2, 3)).values()) == {None}


def transmissions(*events: Event) -> float | None:
    """Messages per entry, with broadcasts counted once."""
    found: float | None = feed(Audit(), *events).metrics()["transmissions_per_cs"]
    return found


def test_transmissions() -> None:
    """Of seven messages three are one broadcast and two another: four transmissions for two entries."""
    first, again = broadcast(1, 0, 1, 2, 3), broadcast(2, 1, 0, 2)
    single = [send(3, 0, 1, id, "Reply", 0) for id in (2, 3)]
    entries = [*visit(0, 3, 4, 5), *visit(3, 3, 4, 5)]
    assert transmissions(PLACES, *first, *again, *single, *entries, ENDS) == 2.0
    assert transmissions(start(**FACTS, warmup=1.5), *first, *again, *single, *entries, ENDS) == 1.5
    assert transmissions(PLACES, *broadcast(1, 0), *single, *entries, ENDS) == 1.0, "a broadcast to no node"
    assert transmissions(PLACES, *first, ENDS) is None, "no entries"
    assert transmissions(start(**FACTS, trace="cs"), *first, *entries, ENDS) is None, "no messages"
    assert transmissions(start(), *single, *visit(0, 3, 4, 5)) is None, "no neighbourhoods"


def test_all_checks_pass_a_good_history() -> None:
    """The token is handed over, put down, taken up and used elsewhere, and every check says ok."""
    history = [
        *visit(0, 1, 1, 2), moved("send", 2, 0, 1), moved("recv", 3, 1, 0), left(3, 0, 0), left(3, 2, 0),
        deposit(4, 1, 0, 2), left(4, 1, 0), request(5, 0), join(5, 0, 0, units=2), enter(5, 0), ("exit", 6, 0, 1),
        ends(2, 0, 0, 1, 0),
    ]  # fmt: skip
    verdicts = feed(Audit(), PLACES, *history).verdicts()
    assert verdicts_of(verdicts) == ALL_OK, verdicts
    assert Verdict(**verdicts["safety"]).detail == "at most 1 of 2, 0 of 1, 0 of 3 in use in 3 neighbourhoods"
