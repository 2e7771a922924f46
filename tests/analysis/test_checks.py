"""Every check passes a good history, fails bad ones by naming the first offending event, and never guesses."""

from __future__ import annotations

import pytest

from agents.contract import TICKS
from analysis.audit import Audit, BatchedAudit
from analysis.check import FAILED, MAX_OFFENDERS, NOT_CHECKED, OK, Check, Verdict, combine
from analysis.checks import CHECKS, Conservation, Order, Safety, Starvation, Timing
from analysis.events import SESSION
from tests.analysis.histories import (
    Event,
    feed,
    lost,
    miscount,
    pending,
    recv,
    request,
    returned,
    send,
    start,
    stop,
    visit,
)
from tests.testbed.simulate import ALL_OK, verdicts_of

# Node 0 uses the unit, hands it to node 1, which uses it and keeps it.
GOOD = [
    start(),
    *visit(0, 1, 1, 2),
    request(2, 1),
    send(3, 1, 0, 1, "Request", 0),
    recv(4, 0, 1, 1, "Request", 0),
    send(4, 0, 1, 1),
    recv(5, 1, 0, 1),
    ("enter", 5, 1, 1),
    ("exit", 6, 1, 1),
    stop(7, 0, 1, 0),
]


def judge(check: type[Check], *events: Event) -> Verdict:
    """What a check says of a history."""
    return feed(check(), *events).verdict()


def assert_fails(verdict: Verdict, *first: str) -> None:
    """The verdict is `failed`, and all these words are in its first offender."""
    assert verdict.verdict == FAILED
    assert [word for word in first if word not in verdict.offenders[0]] == [], verdict.offenders[0]


# -- all checks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [check for check in CHECKS if check is not Timing])
def test_good_history_passes(check: type[Check]) -> None:
    """A run in which all went well is ok, with nothing to point at."""
    verdict = judge(check, *GOOD)
    assert (verdict.verdict, verdict.offenders) == (OK, [])


def test_remarks_of_good_history() -> None:
    """A check that passes says what it saw."""
    assert {check.name: judge(check, *GOOD).detail for check in CHECKS} == {
        "safety": "at most 1 of 1 in use",
        "conservation": "1 of 1 unit kept",
        "starvation": "every request served",
        "progress": "",
        "order": "",
        "contract": "",
        "timing": "time is virtual",
    }


@pytest.mark.parametrize(
    ("trace", "checked"),
    [
        ("metrics", ["contract"]),
        ("cs", ["safety", "starvation", "progress", "contract"]),
        ("events", ["safety", "conservation", "starvation", "progress", "order", "contract"]),
    ],
)
def test_trace_level_decides_what_is_checked(trace: str, checked: list[str]) -> None:
    """What the log does not hold is not checked."""
    verdicts = feed(Audit(), start(trace=trace), *visit(0, 1, 1, 2), stop(9, 1, 0, 0)).verdicts()
    assert [name for name, one in verdicts.items() if one["verdict"] == OK] == checked
    rest = [one for name, one in verdicts.items() if name not in (*checked, "timing")]
    assert all(one["verdict"] == NOT_CHECKED and f"trace level {trace} " in one["detail"] for one in rest)


def test_not_checked_even_with_offences_of_a_poor_log() -> None:
    """A crash is logged at every level; without the messages it proves nothing about where the unit is."""
    assert judge(Conservation, start(trace="cs"), ("crash", 1, 1, 1), stop(2, 1, 0, 0)).verdict == NOT_CHECKED


@pytest.mark.parametrize("check", CHECKS)
def test_missing_start_is_not_checked(check: type[Check]) -> None:
    """Without the start it is not known what must hold."""
    verdict = judge(check, *visit(0, 1, 2, 3))
    assert (verdict.verdict, verdict.detail) == (NOT_CHECKED, "the log has no start")


@pytest.mark.parametrize(
    ("check", "expected"), [(Safety, OK), (Order, OK), (Conservation, NOT_CHECKED), (Starvation, NOT_CHECKED)]
)
def test_missing_stop(check: type[Check], expected: str) -> None:
    """What can be said only at the end is not said of a run that did not get there."""
    verdict = judge(check, *GOOD[:-1])
    assert verdict.verdict == expected
    assert expected == OK or verdict.detail == "the run did not come to its end"


def test_offence_counts_without_stop() -> None:
    """A killed run that already went wrong has failed."""
    assert_fails(judge(Conservation, start(), send(2, 1, 0, 1)), "t=2:", "node 1 ")


def test_only_the_first_offenders_are_kept() -> None:
    """All offences are counted, the first few are shown."""
    verdict = judge(Safety, start(), *(("exit", t, 2, 1) for t in range(1, MAX_OFFENDERS + 3)))
    assert verdict.detail == f"{MAX_OFFENDERS + 2} offences"
    assert len(verdict.offenders) == MAX_OFFENDERS
    assert verdict.offenders[0].startswith("t=1: node 2 ")


def test_offenders_come_in_order_of_time() -> None:
    """The first offender is the first offending event, not the worst."""
    verdict = judge(Safety, start(), ("exit", 1.5, 2, 1), ("enter", 2, 0, 1), ("enter", 3, 1, 1))
    assert [text.split(":")[0] for text in verdict.offenders] == ["t=1.5", "t=2", "t=3", "t=3"]


def test_verdict_as_dict() -> None:
    """The form that goes into JSON."""
    assert Verdict(FAILED, "1 offence", ["t=1: x"]).as_dict() == {
        "verdict": "failed",
        "detail": "1 offence",
        "offenders": ["t=1: x"],
        "first": None,
    }


def test_audit_on_line_receives_everything() -> None:
    """On line every check is made, however little the log is to hold; from the log it is not."""
    quiet = [start(trace="metrics"), *GOOD[1:]]
    audit = BatchedAudit()
    feed(audit, *quiet)
    assert verdicts_of(audit.verdicts()) == ALL_OK
    from_log = verdicts_of(feed(Audit(), *quiet).verdicts())
    assert from_log == {**dict.fromkeys(ALL_OK, NOT_CHECKED), "contract": OK}


# -- safety --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "first"),
    [
        pytest.param(
            [request(1, 0), request(1, 1), ("enter", 2, 0, 1), ("enter", 3, 1, 1)],
            ["t=3:", "node 1 enters with [0] inside", "2 units of 1"],
            id="two inside",
        ),
        pytest.param([("enter", 2, 1, 1)], ["t=2:", "node 1 enters without"], id="enter without request"),
        pytest.param(
            [*visit(0, 1, 2, 3), ("enter", 4, 0, 1)], ["t=4:", "node 0 enters without"], id="one request, two entries"
        ),
        pytest.param(
            [request(1, 0), ("crash", 2, 0, 0), ("enter", 3, 0, 1)], ["t=3:", "node 0 "], id="enter after crash"
        ),
        pytest.param([request(1, 2), ("exit", 2, 2, 1)], ["t=2:", "node 2 exits"], id="exit without enter"),
        pytest.param([*visit(0, 1, 2, 3), ("exit", 4, 0, 1)], ["t=4:", "node 0 exits"], id="exit twice"),
        pytest.param([request(1, 0), request(2, 0)], ["t=2:", "node 0 requests"], id="request while waiting"),
        pytest.param(
            [request(1, 0), ("enter", 2, 0, 1), request(3, 0)], ["t=3:", "node 0 requests"], id="request inside"
        ),
        pytest.param([request(1, 2), ("evict", 2, 2)], ["t=2:", "node 2 is evicted"], id="evict without enter"),
    ],
)
def test_safety_fails(history: list[Event], first: list[str]) -> None:
    """One unit, used in ways it must not be."""
    assert_fails(judge(Safety, start(), *history), *first)


def test_safety_counts_units() -> None:
    """Two of two units may be in use, by one node or by two; a third may not."""
    two = [start(units=(2, 0, 0)), *visit(0, 1, 1, 2, units=2), request(3, 0), ("enter", 3, 0, 1), request(3, 1)]
    assert judge(Safety, *two, ("enter", 4, 1, 1)).detail == "at most 2 of 2 in use"
    assert_fails(judge(Safety, *two, ("enter", 4, 1, 2)), "t=4:", "node 1 ", "3 units of 2")


def test_safety_with_three_inside() -> None:
    """The offender names all the others that are inside."""
    asks = [request(1, node) for node in range(3)]
    verdict = judge(Safety, start(units=(2, 0, 0)), *asks, *(("enter", 2 + node, node, 1) for node in range(3)))
    assert_fails(verdict, "t=4:", "node 2 enters with [0, 1] inside")
    assert verdict.detail == "1 offence"


def test_safety_after_crash_and_evict() -> None:
    """A node that crashed inside uses nothing; a node that is evicted uses nothing either, and has to ask anew."""
    crash = [request(1, 0), ("enter", 1, 0, 1), ("crash", 2, 0, 1), *visit(1, 3, 3, 4)]
    evict = [request(5, 0), ("enter", 5, 0, 1), ("evict", 6, 0), *visit(1, 6, 6, 7)]
    assert judge(Safety, start(), *crash, *evict, *visit(0, 8, 9, 10)).verdict == OK
    assert_fails(judge(Safety, start(), *evict, ("enter", 8, 0, 1)), "t=8:", "node 0 enters without a request")


# -- conservation --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "first"),
    [
        pytest.param([send(1, 0, 1, 1), send(2, 0, 1, 2)], ["t=2:", "node 0 sends 1 unit to 1"], id="sent twice"),
        pytest.param([send(1, 2, 1, 1)], ["t=1:", "node 2 sends 1 unit to 1 and holds 0"], id="sent, not held"),
        pytest.param([send(1, 0, 1, 1, units=2)], ["t=1:", "node 0 sends 2 ", "holds 1"], id="more than held"),
        pytest.param(
            [send(1, 0, 1, 1), recv(2, 1, 0, 1), recv(3, 1, 0, 1)], ["t=3:", "node 1 receives"], id="received twice"
        ),
        pytest.param([recv(2, 1, 0, 1)], ["t=2:", "node 1 receives 1 unit", "carries 0"], id="never sent"),
        pytest.param(
            [send(1, 0, 1, 1, units=0), recv(2, 1, 0, 1)], ["t=2:", "node 1 ", "carries 0"], id="grown in transit"
        ),
        pytest.param(
            [send(1, 0, 1, 1), recv(2, 1, 0, 1), returned(3, 0, 1, 1)],
            ["t=3:", "node 0 gets back"],
            id="received and returned",
        ),
        pytest.param([lost(2, 0, 1, 1)], ["t=2:", "message 1 of node 0"], id="lost, never sent"),
        pytest.param(
            [send(1, 0, 2, 1), lost(1, 0, 2, 1, why="no link")], ["t=1:", "node 0 loses 1 unit to 2"], id="no link"
        ),
        pytest.param([("crash", 2, 0, 0)], ["t=2:", "node 0 crashes with 0 units", "holds 1"], id="crash hides units"),
        pytest.param([stop(9, 0, 0, 0)], ["t=9:", "node 0 says it holds 0", "holds 1"], id="holds more than it says"),
        pytest.param([stop(9, 1, 1, 0)], ["t=9:", "node 1 says it holds 1", "holds 0"], id="holds less than it says"),
        pytest.param([send(1, 0, 1, 1), stop(9, 1, 0, 0)], ["t=9:", "node 0 says it holds 1"], id="keeps what it sent"),
    ],
)
def test_conservation_fails(history: list[Event], first: list[str]) -> None:
    """One unit, made or lost in transit."""
    assert_fails(judge(Conservation, start(), *history), *first)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (miscount(3, 0, 1, 0), "t=3: node 0 loses 1 unit in on_release(): it now holds 0 units"),
        (miscount(3, 1, 0, 2), "t=3: node 1 makes 2 units in on_release(): it now holds 2 units"),
        (
            ("miscount", 3, 0, 1, 1, 1, 0, "on_timer('x')"),
            "t=3: node 0 loses 0 units and 1 token in on_timer('x'): it now holds 1 unit and 0 tokens",
        ),
    ],
)
def test_a_step_in_which_units_are_made_or_lost(event: Event, text: str) -> None:
    """Named by the step, not by what follows from it."""
    verdict = judge(Conservation, start(), event)
    assert (verdict.offenders, verdict.first) == ([text], {"node": event[2], "t": 3 * TICKS})


def test_what_a_node_says_counts_from_then_on() -> None:
    """A unit that was made may be sent: one offence, not one at every step."""
    made = [miscount(3, 1, 0, 1), send(4, 1, 2, 1), recv(5, 2, 1, 1), stop(9, 1, 0, 1)]
    assert judge(Conservation, start(), *made).detail == "1 offence"


def test_a_unit_that_was_sent_and_not_held_is_told_once() -> None:
    """The driver then says that the node holds -1 and says 0."""
    verdict = judge(Conservation, start(), send(1, 2, 1, 1), miscount(1, 2, -1, 0))
    assert (verdict.detail, verdict.offenders[0]) == (
        "1 offence",
        "t=1: node 2 sends 1 unit to 1 and holds 0 units (Token 1)",
    )


def test_conservation_of_the_start() -> None:
    """The units at the start must be as many as the capacity."""
    assert_fails(judge(Conservation, start(units=(1, 1, 0), capacity=1)), "t=0:", "2 units at the start, not 1")


def test_conservation_in_transit_at_the_end() -> None:
    """A unit that is in transit when the run ends is not lost."""
    verdict = judge(Conservation, start(), send(8, 0, 1, 1), stop(9, 0, 0, 0))
    assert (verdict.verdict, verdict.detail) == (OK, "1 of 1 unit kept, 1 of them on the way at the end")


def test_conservation_of_returned_units() -> None:
    """A unit that comes back can be sent again."""
    back = [send(1, 0, 1, 1), returned(2, 0, 1, 1), send(3, 0, 1, 2), recv(4, 1, 0, 2)]
    assert judge(Conservation, start(), *back, stop(9, 0, 1, 0)).verdict == OK


def test_conservation_with_faults() -> None:
    """Units that faults destroyed are accounted for, and the verdict says so."""
    faults = [send(1, 0, 1, 1), lost(1, 0, 1, 1), ("crash", 2, 2, 1)]
    verdict = judge(Conservation, start(units=(1, 1, 1)), *faults, stop(9, 0, 1, 0))
    assert (verdict.verdict, verdict.detail) == (OK, "1 of 3 units kept, 2 lost to injected faults")


def test_what_a_crashed_receiver_had_is_not_lost_twice() -> None:
    """The sender cannot know that the unit arrived and reports it lost; it was lost with the receiver's crash."""
    history = [start(), send(1, 0, 1, 1), recv(2, 1, 0, 1), ("crash", 3, 1, 1), lost(5, 0, 1, 1, why="crash")]
    verdict = judge(Conservation, *history, stop(9, 0, 0, 0))
    assert (verdict.verdict, verdict.detail) == (OK, "0 of 1 unit kept, 1 lost to injected faults")
    assert judge(Conservation, *history[:3], lost(5, 0, 1, 1, why="crash"), stop(9, 0, 1, 0)).verdict == FAILED


def test_conservation_tells_senders_apart() -> None:
    """Ids count up at each sender, so two senders may use the same one."""
    both = [send(1, 0, 1, 1), send(1, 2, 1, 1), recv(2, 1, 2, 1), recv(3, 1, 0, 1)]
    assert judge(Conservation, start(units=(1, 0, 1)), *both, stop(9, 0, 2, 0)).verdict == OK


# Node 0 has the token and two units; these are two things.
APART = start(units=(2, 0, 0), tokens=(1, 0, 0))


def moved(kind: str, t: float, node: int, peer: int, id: int, *, units: int, tokens: int, why: str = "") -> Event:
    """A message that carries so many units and tokens leaves, arrives, comes back or is lost."""
    more = {"send": [4, 0, None], "lost": [why]}.get(kind, [])
    return (kind, t, node, peer, id, "Token", units, tokens, *more)


def stop_apart(t: float, units: list[int], tokens: list[int]) -> Event:
    """The end, with what every node says it holds."""
    return ("stop", t, None, "duration", units, tokens)


EMPTY_TOKEN = moved("send", 1, 0, 1, 1, units=0, tokens=1)


@pytest.mark.parametrize(
    ("history", "first"),
    [
        pytest.param(
            [EMPTY_TOKEN, moved("send", 2, 0, 2, 1, units=0, tokens=1)],
            ["t=2:", "node 0 sends 0 units and 1 token to 2 and holds 2 units and 0 tokens"],
            id="doubled",
        ),
        pytest.param(
            [EMPTY_TOKEN, stop_apart(9, [2, 0, 0], [1, 0, 0])],
            ["t=9:", "node 0 says it holds 2 units and 1 token"],
            id="kept though sent",
        ),
        pytest.param(
            [EMPTY_TOKEN, moved("recv", 2, 1, 0, 1, units=0, tokens=1), stop_apart(9, [2, 0, 0], [0, 0, 0])],
            ["t=9:", "node 1 says it holds 0 units; by its messages it holds 0 units and 1 token"],
            id="lost by its receiver",
        ),
        pytest.param(
            [EMPTY_TOKEN, moved("recv", 2, 1, 0, 1, units=1, tokens=1)],
            ["t=2:", "node 1 receives 1 unit of message 1", "which carries 0 units and 1 token"],
            id="a unit made in transit",
        ),
        pytest.param(
            [EMPTY_TOKEN, moved("return", 2, 0, 1, 1, units=1, tokens=1)],
            ["t=2:", "node 0 gets back 1 unit"],
            id="a unit made on the way back",
        ),
        pytest.param(
            [moved("send", 1, 0, 1, 1, units=1, tokens=0), moved("recv", 2, 1, 0, 1, units=0, tokens=1)],
            ["t=2:", "node 1 receives 0 units and 1 token", "which carries 1 unit and 0 tokens"],
            id="a unit that became a token",
        ),
        pytest.param(
            [EMPTY_TOKEN, moved("lost", 1, 0, 1, 1, units=0, tokens=1, why="no link")],
            ["t=1:", "node 0 loses 0 units and 1 token to 1: no link"],
            id="no link",
        ),
        pytest.param(
            [("crash", 2, 0, 2, 0)], ["t=2:", "node 0 crashes with 2 units and 0 tokens"], id="a crash hides the token"
        ),
    ],
)
def test_conservation_of_tokens_fails(history: list[Event], first: list[str]) -> None:
    """A token that carries no unit is made or lost."""
    assert_fails(judge(Conservation, APART, *history), *first)
    on_line = BatchedAudit()
    feed(on_line, APART, *history)
    assert_fails(Verdict(**on_line.verdicts()["conservation"]), *first)


@pytest.mark.parametrize(
    ("history", "detail"),
    [
        pytest.param([stop_apart(9, [2, 0, 0], [1, 0, 0])], "2 of 2 units kept, 1 of 1 token", id="at rest"),
        pytest.param(
            [EMPTY_TOKEN, moved("return", 2, 0, 1, 1, units=0, tokens=1), stop_apart(9, [2, 0, 0], [1, 0, 0])],
            "2 of 2 units kept, 1 of 1 token",
            id="returned",
        ),
        pytest.param(
            [EMPTY_TOKEN, stop_apart(9, [2, 0, 0], [0, 0, 0])],
            "2 of 2 units kept, 1 of 1 token, 0 units and 1 token of them on the way at the end",
            id="in transit",
        ),
        pytest.param(
            [EMPTY_TOKEN, moved("lost", 1, 0, 1, 1, units=0, tokens=1, why="fault"), stop_apart(9, [2, 0, 0], [0] * 3)],
            "2 of 2 units kept, 0 of 1 token, 0 units and 1 token lost to injected faults",
            id="lost to a fault",
        ),
        pytest.param(
            [("crash", 2, 0, 2, 1), stop_apart(9, [0, 0, 0], [0, 0, 0])],
            "0 of 2 units kept, 0 of 1 token, 2 units and 1 token lost to injected faults",
            id="lost in a crash",
        ),
    ],
)
def test_conservation_of_tokens(history: list[Event], detail: str) -> None:
    """Tokens are counted apart from units, and the verdict says what became of both."""
    verdict = judge(Conservation, APART, *history)
    assert (verdict.verdict, verdict.detail) == (OK, detail)


# -- starvation ----------------------------------------------------------------------------------------------------


def test_starvation_with_units_in_the_component() -> None:
    """A node that could have been served was not."""
    unserved = pending(9, 1, since=2, alive=True, component=3, component_units=1)
    verdict = judge(Starvation, start(), request(2, 1), unserved, stop(9, 1, 0, 0))
    assert_fails(verdict, "t=9:", "node 1 still waits since t=2;", "component of 3 holds 1 unit")
    assert verdict.detail == "1 offence"


def test_starvation_not_accounted_for() -> None:
    """A request that the run does not list as pending."""
    verdict = judge(Starvation, start(), request(2, 2), *visit(0, 3, 4, 5), stop(9, 1, 0, 0))
    assert_fails(verdict, "t=9:", "node 2 still waits since t=2 and is not accounted for")


def test_starvation_after_eviction() -> None:
    """A node that was taken out of its critical section waits only from the time at which it asks anew."""
    evicted = [request(1, 1), ("enter", 2, 1, 1), ("evict", 3, 1)]
    assert judge(Starvation, start(), *evicted, stop(9, 1, 0, 0)).detail == "every request served"
    again = [*evicted, request(4, 1)]
    assert_fails(judge(Starvation, start(), *again, stop(9, 1, 0, 0)), "t=9:", "node 1 still waits since t=4 ")
    assert judge(Starvation, start(), *again, ("enter", 5, 1, 1), stop(9, 1, 0, 0)).verdict == OK


@pytest.mark.parametrize(
    ("history", "why"),
    [
        pytest.param([("crash", 3, 1, 0)], "node crashed", id="crashed"),
        pytest.param(
            [pending(9, 1, since=2, alive=False, component=1, component_units=1)],
            "node crashed",
            id="crashed at the end",
        ),
        pytest.param(
            [pending(9, 1, since=2, alive=True, component=2, component_units=0)],
            "component holds no unit",
            id="no units",
        ),
    ],
)
def test_starvation_excused(history: list[Event], why: str) -> None:
    """These requests could not have been served, and the verdict says why."""
    verdict = judge(Starvation, start(), request(2, 1), *history, stop(9, 1, 0, 0))
    assert (verdict.verdict, verdict.detail) == (OK, f"excused: 1 ({why})")


@pytest.mark.parametrize(
    ("units", "tokens", "wanted", "why"),
    [
        (0, 0, 1, "component holds no unit"),
        (3, 0, 1, "component holds no unit"),
        (1, 1, 2, "component holds too few units"),
        (0, 1, 1, "component holds too few units"),
        (2, 1, 2, None),
    ],
)
def test_a_component_must_hold_the_token_and_enough_units(
    units: int, tokens: int, wanted: int, why: str | None
) -> None:
    """Units without the token help no node, nor do fewer units than it asked for."""
    unserved = ("pending", 9, 1, 2 * TICKS, True, 3, units, tokens, 2)
    verdict = judge(Starvation, APART, request(2, 1, wanted), unserved, stop_apart(9, [2, 0, 0], [1, 0, 0]))
    if why is None:
        assert_fails(verdict, "t=9:", "node 1 still waits since t=2;", "holds 2 units")
    else:
        assert (verdict.verdict, verdict.detail) == (OK, f"excused: 1 ({why})")


# Node 1 waits from 2 until 14; requests stop at 12.
SERVED_LATE = [("enter", 14, 1, 1), ("exit", 15, 1, 1), stop(16, 1, 0, 0)]


def patience(units: float, t: float = 12) -> Event:
    """Requests stop, and no request should have been pending for longer."""
    return ("close", t, None, round(units * TICKS))


@pytest.mark.parametrize("promises", [True, False])
def test_patience(promises: bool) -> None:
    """Longer than the patience is too long, though the request is served without load; exactly as long is not."""
    first = start(promises_bound=promises)
    assert judge(Starvation, first, request(2, 1), patience(10), *SERVED_LATE).detail == "every request served"
    verdict = judge(Starvation, first, request(2, 1), patience(9.9), *SERVED_LATE)
    if promises:
        assert_fails(verdict, "t=12:", "node 1 has waited since t=2, longer than the patience of 9.9")
    else:
        waited = "no bound is promised, and 1 had waited longer than the patience when requests stopped"
        assert (verdict.verdict, verdict.detail) == (OK, waited)


def test_patience_with_a_request_that_is_served_in_time() -> None:
    """Only requests that are pending when requests stop are judged."""
    assert judge(Starvation, start(), *visit(0, 1, 11, 12), patience(3), stop(13, 1, 0, 0)).verdict == OK


def test_patience_of_several() -> None:
    """Every request that has waited too long is named."""
    unserved = [request(3, 2), request(2, 1), request(8, 0)]
    served = [("enter", 13, node, 1) for node in range(3)]
    verdict = judge(Starvation, start(), *unserved, patience(5), *served, stop(16, 1, 0, 0))
    assert [line.split()[2] for line in verdict.offenders] == ["1", "2"]


@pytest.mark.parametrize("promises", [True, False])
@pytest.mark.parametrize(
    ("history", "is_excused"),
    [
        pytest.param([], False, id="nothing happened"),
        pytest.param([("partition", 3, None, 2, [])], True, id="parted"),
        pytest.param([("partition", 3, None, 2, []), ("partition", 9, None, 1, [])], True, id="parted until lately"),
        pytest.param([("partition", 3, None, 2, []), ("partition", 4, None, 1, [])], False, id="healed long ago"),
        pytest.param([("partition", 3, None, 1, [1])], True, id="no token in reach"),
        pytest.param([("crash", 3, 2, 0)], True, id="a node is down"),
        pytest.param([("crash", 3, 2, 0), ("restart", 9, 2, 1)], True, id="a node was down until lately"),
        pytest.param([("crash", 3, 2, 0), ("restart", 4, 2, 1)], False, id="a node was down long ago"),
        pytest.param([moved("lost", 3, 0, 1, 1, units=0, tokens=1, why="fault")], True, id="the token was lost"),
        pytest.param([moved("lost", 3, 0, 1, 1, units=0, tokens=0, why="fault")], False, id="another message was lost"),
        pytest.param([("enter", 4, 1, 1), ("evict", 9, 1)], True, id="evicted, and does not wait"),
        pytest.param([("enter", 4, 1, 1), ("evict", 5, 1), request(9, 1)], True, id="evicted, and asked anew lately"),
    ],
)
def test_what_excuses_a_long_wait(history: list[Event], is_excused: bool, promises: bool) -> None:
    """Faults and partitions, for as long as they last and the patience afterwards."""
    first, asks = start(promises_bound=promises), request(2, 1)
    verdict = judge(Starvation, first, asks, *history, patience(5), *SERVED_LATE)
    if is_excused:
        assert (verdict.verdict, verdict.detail) == (OK, "every request served")
    elif promises:
        assert_fails(verdict, "t=12:", "node 1 has waited since t=2")
    else:
        assert verdict.detail.startswith("no bound is promised, and 1 had waited longer")


def test_a_long_wait_does_not_hide_what_is_excused() -> None:
    """Both are said."""
    history = [request(2, 1), patience(5), request(13, 2), ("crash", 13, 2, 0), *SERVED_LATE]
    verdict = judge(Starvation, start(promises_bound=False), *history)
    assert verdict.detail.endswith("when requests stopped; excused: 1 (node crashed)")


NETWORKS = [
    pytest.param(needs, radio, connected, id=f"{needs}, {'radio' if radio else 'ideal'}, {connected}")
    for needs in ("links", "any node")
    for radio in (False, True)
    for connected in (False, True)
]
"""All that the start of a log can say of the network: `needs`, `over_radio`, `assumes_connected`."""


@pytest.mark.parametrize(("needs", "radio", "connected"), NETWORKS)
def test_which_algorithms_a_partition_excuses(needs: str, radio: bool, connected: bool) -> None:
    """Those that may depend on a node of another component: all that address any node, and over radio links all that
    assume a connected network. For the others, only a component without units is an excuse.
    """
    first = start(needs=needs, over_radio=radio, assumes_connected=connected)
    apart, together = (
        pending(9, 1, since=2, alive=True, component=2, component_units=1, parts=parts) for parts in (2, 1)
    )
    verdict = judge(Starvation, first, request(2, 1), apart, stop(9, 1, 0, 0))
    if needs == "any node" or (radio and connected):
        assert (verdict.verdict, verdict.detail) == (OK, "excused: 1 (network partitioned)")
    else:
        assert_fails(verdict, "node 1 still waits")
    healed = judge(Starvation, first, request(2, 1), together, stop(9, 1, 0, 0))
    assert_fails(healed, "node 1 still waits")


def test_crash_excuses_only_the_node_itself() -> None:
    """Another node's crash is no excuse, and a crash before the request is none either."""
    other = judge(Starvation, start(), request(2, 1), ("crash", 3, 0, 1), stop(9, 0, 0, 0))
    assert_fails(other, "t=9:", "node 1 ")
    before = judge(Starvation, start(), ("crash", 1, 1, 0), request(2, 1), stop(9, 1, 0, 0))
    assert_fails(before, "t=9:", "node 1 ")


DOWN = ("crash", 3, 3, 0)


def waits_for(node: int, *peers: int, spares: int = 0) -> Event:
    """At the end a node waits for others."""
    return ("awaits", 9, node, list(peers), spares)


@pytest.mark.parametrize(
    ("history", "is_excused"),
    [
        pytest.param([DOWN, waits_for(1, 3)], True, id="for a node that is down"),
        pytest.param([DOWN, waits_for(1, 2)], False, id="for another node"),
        pytest.param([DOWN, waits_for(1, 2, 3, spares=1)], False, id="it can do without one"),
        pytest.param([DOWN, ("crash", 4, 2, 0), waits_for(1, 2, 3, spares=1)], True, id="not without two"),
        pytest.param([DOWN, waits_for(1, 2), waits_for(2, 3)], True, id="for a node that is blocked itself"),
        pytest.param([DOWN, waits_for(1, 2), waits_for(2, 1)], False, id="for each other"),
        pytest.param([DOWN, waits_for(1, 2), waits_for(2, 0, 3, spares=1)], False, id="for a node that is not blocked"),
        pytest.param([DOWN, ("restart", 4, 3, 1), waits_for(1, 3)], True, id="crashed since, and has forgotten"),
        pytest.param([("crash", 1, 3, 0), ("restart", 1, 3, 1), waits_for(1, 3)], False, id="crashed before"),
        pytest.param([("crash", 1, 3, 0), ("restart", 4, 3, 1), waits_for(1, 3)], True, id="was down when asked"),
        pytest.param([lost(5, 3, 1, 7, "Reply", 0, why="crash"), waits_for(1, 3)], True, id="its reply was lost"),
        pytest.param(
            [lost(5, 3, 2, 7, "Reply", 0, why="crash"), waits_for(1, 3)], False, id="another's reply was lost"
        ),
        pytest.param(
            [DOWN, ("restart", 4, 3, 1), waits_for(1, 2), waits_for(2, 3)], True, id="a permission lost in a crash"
        ),
        pytest.param(
            [DOWN, ("restart", 4, 3, 1), *visit(3, 5, 6, 7), waits_for(1, 2), waits_for(2, 3)],
            False,
            id="a permission given after it",
        ),
    ],
)
def test_which_crashes_excuse_requests_for_permission(history: list[Event], is_excused: bool) -> None:
    """Those without which the request can be served by no means."""
    first = start(units=(0, 0, 0, 0), shares="permissions", capacity=1)
    unserved = pending(9, 1, since=2, alive=True, component=4, component_units=0)
    verdict = judge(Starvation, first, request(2, 1), *history, unserved, stop(9, 0, 0, 0, 0))
    if is_excused:
        assert (verdict.verdict, verdict.detail) == (OK, "excused: 1 (waits for a node that crashed)")
    else:
        assert_fails(verdict, "t=9:", "node 1 still waits since t=2; for the permission of [")


def test_a_demand_that_cannot_be_served_excuses_those_behind_it() -> None:
    """Its node keeps the token until its units are there; where every token is a unit, the others can go on."""

    def judged(tokens: tuple[int, ...], *components: int) -> str:
        first = start(units=(3, 0, 0, 0), tokens=tokens)
        asks = [request(2, 1, units=3), request(3, 2)]
        nodes = zip((1, 2), components, strict=True)
        held = [("pending", 9, node, 2 * TICKS, True, size, 2, 1, 1) for node, size in nodes]
        verdict = judge(Starvation, first, *asks, *held, stop(9, 2, 0, 0, 0))
        return verdict.detail

    both = "excused: 1 (behind a demand that cannot be served), 1 (component holds too few units)"
    assert judged((1, 0, 0, 0), 3, 3) == both
    assert judged((3, 0, 0, 0), 3, 3) == "1 offence"
    assert judged((1, 0, 0, 0), 3, 2) == "1 offence", "of another component"


def test_a_lost_token_without_units_is_named() -> None:
    """Also where there are as many tokens as units."""
    first = start(units=(1, 0, 0), tokens=(1, 0, 0))
    enters = ("send", 1, 0, 1, 1, "Token", 0, 1, 5, 0, None)
    gone = ("lost", 2, 0, 1, 1, "Token", 0, 1, "fault")
    end = ("stop", 9, None, "duration", [1, 0, 0], [0, 0, 0])
    verdict = judge(Conservation, first, enters, gone, end)
    assert (verdict.verdict, verdict.detail) == (
        OK, "1 of 1 unit kept, 0 of 1 token, 0 units and 1 token lost to injected faults"
    )  # fmt: skip


def test_safety_of_clusters() -> None:
    """One inside in each of two clusters is right, two in one cluster are one too many."""
    first = start(units=(1, 0, 1, 0), clusters=(0, 0, 1, 1))
    asks = [request(1, node) for node in range(4)]
    apart = judge(Safety, first, *asks, ("enter", 2, 0, 1), ("enter", 2, 2, 1))
    assert (apart.verdict, apart.detail) == (OK, "at most 2 of 2 in use; clusters of 2, 2 nodes")
    together = judge(Safety, first, *asks, ("enter", 2, 2, 1), ("enter", 3, 3, 1))
    assert_fails(together, "t=3:", "node 3 enters with [2] of its cluster inside: 2 units of 1 in use in cluster 1")


# -- order ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "first"),
    [
        pytest.param(
            [send(1, 0, 1, 1), send(1, 0, 1, 2), recv(2, 1, 0, 2), recv(3, 1, 0, 1)],
            ["t=2:", "node 1 receives Token 2 from 0 before 1"],
            id="reordered",
        ),
        pytest.param(
            [send(1, 0, 1, 1), recv(2, 1, 0, 1), recv(3, 1, 0, 1)], ["t=3:", "node 1 ", "not in transit"], id="twice"
        ),
        pytest.param([recv(3, 1, 0, 1)], ["t=3:", "node 1 receives Token 1 from 0", "not in"], id="never sent"),
        pytest.param(
            [send(1, 1, 0, 1), recv(2, 2, 1, 1)], ["t=2:", "node 2 receives", "not in transit"], id="wrong receiver"
        ),
        pytest.param([send(1, 0, 2, 1)], ["t=1:", "node 0 sends Token 1 to 2 without a link"], id="no link"),
        pytest.param(
            [("link_down", 1, 0, 1, 0), send(2, 0, 1, 1)], ["t=2:", "node 0 ", "without a link"], id="link was lost"
        ),
        pytest.param(
            [send(1, 0, 1, 1), ("link_down", 2, 0, 1, 0), stop(9, 0, 0, 0)],
            ["t=2:", "link from 0 to 1 goes down with messages [1]"],
            id="link lost with a message on it",
        ),
        pytest.param(
            [send(1, 0, 1, 1), ("link_down", 2, 0, 1, 0), ("link_up", 3, 0, 1), returned(4, 0, 1, 1)],
            ["t=2:", "link from 0 to 1 goes down with messages [1]"],
            id="returned after the link came back",
        ),
        pytest.param([lost(2, 0, 1, 7)], ["t=2:", "message 7 of node 0 to 1"], id="lost, never sent"),
        pytest.param(
            [send(1, 0, 1, 1), recv(2, 1, 0, 1), returned(3, 0, 1, 1)],
            ["t=3:", "message 1 of node 0 to 1"],
            id="received and returned",
        ),
    ],
)
def test_order_fails(history: list[Event], first: list[str]) -> None:
    """Links that are not reliable, not FIFO, or not there."""
    assert_fails(judge(Order, start(), *history), *first)


def test_reordering_is_one_offence() -> None:
    """The message that was overtaken still arrives as it should."""
    overtaken = [send(1, 0, 1, 1), send(1, 0, 1, 2), recv(2, 1, 0, 2), recv(3, 1, 0, 1)]
    assert judge(Order, start(), *overtaken).detail == "1 offence"


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(
            [send(1, 0, 1, 1), send(1, 2, 1, 1), recv(2, 1, 2, 1), recv(3, 1, 0, 1)], id="senders are not compared"
        ),
        pytest.param([send(1, 0, 1, 1), send(2, 0, 1, 2), lost(2, 0, 1, 1), recv(3, 1, 0, 2)], id="lost by a fault"),
        pytest.param(
            [send(1, 0, 1, 1), returned(2, 0, 1, 1), ("link_down", 2, 0, 1, 0)], id="returned before the link goes"
        ),
        pytest.param(
            [send(1, 0, 1, 1), ("link_down", 2, 0, 1, 0), returned(3, 0, 1, 1), ("link_up", 4, 0, 1), stop(9, 1, 0, 0)],
            id="returned after the link has gone",
        ),
        pytest.param([("link_up", 1, 0, 2), send(2, 0, 2, 1), recv(3, 2, 0, 1)], id="new link"),
        pytest.param(
            [send(1, 0, 1, 1), recv(2, 1, 0, 1), ("link_down", 2, 0, 1, 1), ("link_up", 3, 0, 1), send(3, 0, 1, 2)],
            id="link lost when empty, and formed again",
        ),
        pytest.param([send(8, 0, 1, 1), stop(9, 0, 0, 0)], id="in transit at the end"),
    ],
)
def test_order_passes(history: list[Event]) -> None:
    """What links may do."""
    assert judge(Order, start(), *history).verdict == OK


def over_radio(*events: Event) -> Verdict:
    """A history over radio links, where ids are made of session and place."""
    return judge(Order, start(over_radio=True, links=()), *events, stop(9, 1, 0, 0))


def test_a_session_may_end_with_messages_undelivered() -> None:
    """Those without units are dropped when it is sealed; the next session counts from 1 again."""
    first, second = SESSION, 2 * SESSION
    sent = [send(1, 0, 1, first + n, "Request", 0) for n in (1, 2, 3)]
    got = [recv(2, 1, 0, first + 1, "Request", 0)]
    again = [send(3, 0, 1, second + 1, "Request", 0), recv(4, 1, 0, second + 1, "Request", 0)]
    assert over_radio(*sent, *got, *again).verdict == OK
    late = recv(5, 1, 0, first + 2, "Request", 0)
    assert_fails(over_radio(*sent, *got, *again, late), f"receives Request {first + 2} from 0, which is not in transit")


def test_within_a_session_nothing_is_left_out() -> None:
    """No message is overtaken or received twice either."""
    sent = [send(1, 0, 1, SESSION + n, "Request", 0) for n in (1, 2)]
    assert_fails(over_radio(*sent, recv(2, 1, 0, SESSION + 2, "Request", 0)), f"before {SESSION + 1}")
    twice = [recv(t, 1, 0, SESSION + 1, "Request", 0) for t in (2, 3)]
    assert_fails(over_radio(*sent, *twice), f"receives Request {SESSION + 1} from 0, which is not in transit")


def test_lost_to_a_crash_although_it_had_arrived() -> None:
    """Only the receiver knew that it had."""
    history = [send(1, 0, 1, 1), recv(2, 1, 0, 1), ("crash", 3, 1, 1), lost(5, 0, 1, 1, why="crash")]
    assert over_radio(*history).verdict == OK
    assert_fails(over_radio(*history[:2], lost(5, 0, 1, 1, why="fault")), "was not in transit")


@pytest.mark.parametrize(("needs", "radio", "connected"), NETWORKS)
def test_where_messages_and_links_are_held_against_each_other(needs: str, radio: bool, connected: bool) -> None:
    """Over ideal links between neighbours: elsewhere, links are found by a layer or are not what messages take."""
    first = start(needs=needs, over_radio=radio, assumes_connected=connected)
    without_link = judge(Order, first, send(1, 0, 2, 1), stop(9, 0, 0, 0))
    undelivered = judge(Order, first, send(1, 0, 1, 1), ("link_down", 2, 0, 1, 0), stop(9, 0, 0, 0))
    if needs == "links" and not radio:
        assert_fails(without_link, "t=1:", "node 0 sends Token 1 to 2 without a link")
        assert_fails(undelivered, "t=2:", "link from 0 to 1 goes down with messages [1]")
    else:
        assert (without_link.verdict, undelivered.verdict) == (OK, OK)


def test_routed_messages_need_no_link() -> None:
    """An algorithm that addresses any node sends where it likes, but in order and once all the same."""
    routed = [start(needs="any node"), send(1, 0, 2, 1), send(1, 0, 2, 2)]
    assert judge(Order, *routed, recv(2, 2, 0, 1), recv(3, 2, 0, 2)).verdict == OK
    assert_fails(judge(Order, *routed, recv(2, 2, 0, 2)), "t=2:", "node 2 ", "before 1")
    assert_fails(judge(Order, *routed, recv(2, 2, 0, 1), recv(3, 2, 0, 1)), "t=3:", "node 2 ", "not in transit")


def test_routed_messages_survive_a_lost_link() -> None:
    """A routed message takes another way when the direct link goes down under it."""
    routed = [start(needs="any node"), send(1, 0, 1, 1), ("link_down", 2, 0, 1, 0), recv(3, 1, 0, 1)]
    assert judge(Order, *routed).verdict == OK


# -- over repetitions ----------------------------------------------------------------------------------------------

FINE = Verdict(OK, "fine").as_dict()
BAD = Verdict(FAILED, "2 offences", ["t=1: a", "t=2: b"]).as_dict()
UNKNOWN = Verdict(NOT_CHECKED, "the log has no start").as_dict()


def test_combine_all_ok() -> None:
    """Ok only if all are, with what they remark, once each."""
    other = Verdict(OK, "also fine").as_dict()
    assert combine([FINE, FINE, other]) == {"verdict": OK, "detail": "fine; also fine", "offenders": [], "first": None}


def test_combine_one_not_checked() -> None:
    """One repetition that was not checked is enough not to say ok."""
    combined = combine([FINE, UNKNOWN])
    assert combined["verdict"] == NOT_CHECKED
    assert combined["detail"] == "the log has no start (in 1 of 2 repetitions)"


def test_combine_one_failed() -> None:
    """A failure outweighs all else, and its offenders say which repetition they are from."""
    combined = combine([FINE, UNKNOWN, BAD])
    assert combined["verdict"] == FAILED
    assert combined["detail"] == "2 offences (in 1 of 3 repetitions)"
    assert combined["offenders"] == ["repetition 2: t=1: a", "repetition 2: t=2: b"]


def test_combine_keeps_the_first_offenders() -> None:
    """Many failed repetitions do not flood the summary."""
    combined = combine([BAD] * 4)
    assert len(combined["offenders"]) == MAX_OFFENDERS
    assert combined["offenders"][0] == "repetition 0: t=1: a"
    assert combined["offenders"][-1] == "repetition 2: t=1: a"


def test_disorder_that_the_driver_reports_fails_the_check_on_line() -> None:
    """On line, a message out of order is reported by the driver, and is an offence."""
    audit = BatchedAudit()
    feed(audit, *GOOD[:-1], ("disorder", 5, 1, 0, 3, "Token", 4), GOOD[-1])
    assert audit.verdicts()["order"]["verdict"] == FAILED
    assert "t=5: node" in audit.verdicts()["order"]["offenders"][0]
