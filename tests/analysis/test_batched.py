"""Events passed in batches give the same verdicts and metrics as events passed one by one."""

from __future__ import annotations

import pytest

from agents.contract import TICKS
from agents.rl import ReverseLink
from analysis.audit import Audit, BatchedAudit
from analysis.listener import Listener
from testbed.runtime.breach import AgentError
from tests.agents.rl_variants import registered
from tests.analysis.histories import (
    Event,
    broadcast,
    deposit,
    feed,
    join,
    left,
    lost,
    miscount,
    partition,
    recv,
    regenerate,
    request,
    returned,
    send,
    start,
    stop,
    vanished,
    visit,
)
from tests.analysis.test_neighbourhoods import ENDS, PLACES, moved
from tests.testbed.simulate import prepare

CLOSE = ("close", 8, None, 3 * TICKS)
# Node 0 uses the unit and sends it to node 1, where it is lost, comes back, or arrives; node 2 crashes while it waits.
HISTORIES = {
    "crash": [request(1, 2), ("crash", 2, 2, 0), ("restart", 3, 2, 1), *visit(2, 4, 5, 6)],
    "evicted": [request(1, 0), ("enter", 2, 0, 1), ("evict", 3, 0), *visit(0, 3.5, 4, 5)],
    "entry after eviction": [request(1, 0), ("enter", 2, 0, 1), ("evict", 3, 0), ("enter", 4, 0, 1)],
    "exit after eviction": [request(1, 0), ("enter", 2, 0, 1), ("evict", 3, 0), ("exit", 4, 0, 1)],
    "returned": [send(1, 0, 1, 1), returned(2, 0, 1, 1), send(3, 0, 2, 1), recv(4, 2, 0, 1), *visit(2, 5, 5, 6)],
    "returned too late": [send(1, 0, 1, 1), recv(2, 1, 0, 1), returned(3, 0, 1, 1)],
    "lost": [send(1, 0, 1, 1), lost(2, 0, 1, 1), request(3, 1)],
    "lost after it arrived": [send(1, 0, 1, 1), recv(2, 1, 0, 1), lost(3, 0, 1, 1)],
    "crash of a holder": [send(1, 0, 1, 1), recv(2, 1, 0, 1), ("crash", 3, 1, 1), request(4, 0)],
    "partition": [request(1, 0), ("partition", 2, None, 2, [1, 2]), ("enter", 3, 0, 1), ("exit", 4, 0, 1)],
    "token dropped": [*visit(0, 1, 1, 2), miscount(2, 0, 1, 0), partition(2, 1, 0, 1, 2), request(3, 1)],
    "token made": [request(1, 1), miscount(1, 1, 0, 1), ("enter", 1, 1, 1), send(2, 1, 2, 1), ("exit", 2, 1, 1)],
    "breach": [*visit(0, 1, 1, 2), send(2, 0, 1, 1), ("breach", 2, 0, "rl", "on_release()", "", "KeyError: 1")],
    "slow and then parted": [request(1, 1), partition(5, 2, 1), partition(6, 1), *visit(2, 6, 6, 7), CLOSE],
    "slow and then crashed": [request(1, 1), ("crash", 5, 1, 0), *visit(2, 5, 5, 6), request(6, 0), CLOSE],
    "first to enter": [*visit(0, 1, 1, 2), *visit(1, 3, 7, 8), CLOSE],
    "two inside": [*visit(0, 1, 2, 5)[:2], *visit(1, 2, 3, 4)[:2], ("exit", 6, 0, 1)],
}


# Place 0 has two units and node 0 its token, with nodes 1 and 2; node 3 has that of place 1; node 4 is in neither.
IN_NEIGHBOURHOODS = {
    "evicted": [
        *visit(0, 1, 2, 3),
        *visit(1, 1, 2, 3)[:2],
        ("evict", 4, 1),
        left(4, 1, 0),
        join(5, 1, 1),
        request(5, 1),
    ],
    "enters on departure": [request(1, 1), left(2, 1, 0), ("enter", 2, 1, 1)],
    "enters on arrival": [request(1, 4), ("enter", 1, 4, 1), ("exit", 2, 4, 1), join(2, 4, 1), *visit(4, 2, 2, 3)],
    "too many": [*(request(1, node) for node in (0, 1, 2)), *(("enter", 2, node, 1) for node in (0, 1, 2))],
    "vanished": [*visit(1, 1, 2, 3)[:2], request(2, 2), vanished(3, 1, 0), vanished(3, 2, 0, abandoned=True)],
    "crash inside": [
        *visit(1, 1, 2, 3)[:2],
        ("crash", 3, 1, 0),
        ("restart", 4, 1, 1),
        join(5, 1, 0),
        *visit(1, 5, 6, 7),
    ],
    "token passed on and left": [moved("send", 1, 0, 1), moved("recv", 2, 1, 0), left(3, 1, 0, ready=False, units=2)],
    "token made anew": [moved("send", 1, 0, 1), left(2, 1, 0), moved("lost", 3, 0, 1, "left"), regenerate(4, 0, 0, 2)],
    "token doubled": [moved("send", 1, 0, 1), regenerate(2, 0, 0, 2), moved("recv", 3, 1, 0), request(4, 2)],
    "made anew by the wrong node": [moved("send", 1, 0, 1), regenerate(2, 2, 0, 2)],
    "sent after departure": [left(1, 0, 0, ready=False, units=2, tokens=1), moved("send", 2, 0, 1)],
    "deposited": [left(1, 1, 0), left(1, 2, 0), deposit(2, 0, 0, 2), left(2, 0, 0), join(3, 4, 0, units=2)],
    "broadcast": [request(1, 0), *broadcast(1, 0, 1, 2), ("enter", 2, 0, 1)],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_order_is_kept_between_notes_and_single_events(name: str) -> None:
    """On line, with batches as long as they can be, every check and metric but `order` is as from the log."""
    assert_agree(start(patience=3), *HISTORIES[name], stop(9, 1, 0, 0))


@pytest.mark.parametrize("name", IN_NEIGHBOURHOODS)
def test_order_is_kept_in_neighbourhoods(name: str) -> None:
    """Also while nodes arrive and leave."""
    assert_agree(PLACES, *IN_NEIGHBOURHOODS[name], ENDS)


def assert_agree(*events: Event) -> None:
    """An audit of batches and one of a log come to the same results."""
    batched, log = BatchedAudit(), Audit()
    feed(batched, *events)
    feed(log, *events)
    assert {**batched.verdicts(), "order": None} == {**log.verdicts(), "order": None}
    counted = ("messages_per_cs", "messages_per_cs_by_type", "words_per_message", "sent_words_per_message",
               "words_per_cs", "token_hops_per_cs", "transmissions_per_cs", "height_changes_per_cs")  # fmt: skip
    unknown = {"messages": {}, **dict.fromkeys(counted)}  # on line, only the numbers of messages are passed
    assert {**batched.metrics(), **unknown} == {**log.metrics(), **unknown}


class Eager(Listener):
    """Notes each event, and how many notes the audit has yet to take then."""

    def __init__(self) -> None:
        self.audit: BatchedAudit
        self.heard: list[tuple[str, int]] = []

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self.heard.append(("enter", len(self.audit._notes)))

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self.heard.append(("crash", len(self.audit._notes)))


def test_other_listeners_receive_events_at_once() -> None:
    """A listener that wants single events gets them in order, as they happen, whatever the audit has yet to take."""
    eager = Eager()
    eager.audit = BatchedAudit(eager)
    feed(eager.audit, start(), *visit(0, 1, 2, 3), request(4, 1), ("crash", 5, 1, 0), *visit(0, 6, 7, 8))
    assert eager.heard == [("enter", 2), ("crash", 0), ("enter", 2)]
    assert BatchedAudit().others is None


def test_results_include_what_is_still_in_the_batches() -> None:
    """Verdicts and metrics first take the notes so far."""
    audit = BatchedAudit()
    feed(audit, start(), *visit(0, 1, 2, 3), ("enter", 4, 1, 1))
    assert audit.metrics()["entries"] == 2
    assert audit.verdicts()["safety"]["offenders"] == ["t=4: node 1 enters without a request"]


def test_an_empty_batch_does_not_end_the_warmup() -> None:
    """A call of `settle` before anything has happened changes nothing."""
    audit = BatchedAudit()
    feed(audit, start(warmup=10))
    audit.settle()
    feed(audit, *visit(0, 1, 2, 3))
    audit.settle()
    feed(audit, *visit(0, 11, 12, 13))
    assert audit.metrics()["entries"] == 1


def test_batches_stay_short() -> None:
    """A long run settles now and then: notes do not pile up."""
    run = prepare(entries=4_000, workload={"rate": 1.0})
    lengths, taken = [], []

    def report(share: float) -> None:
        lengths.append(len(run.audit._notes))
        taken.append(run.audit._metrics.entries)

    run.simulation.run_all(report)
    assert lengths == [0] * len(lengths)
    assert len(lengths) > 5
    assert taken[0] < taken[len(taken) // 2] < taken[-1], "what was noted was taken, not dropped"


class Fragile(ReverseLink):
    """Fails at its third release."""

    releases = 0

    def on_release(self) -> None:
        super().on_release()
        self.releases += 1
        assert self.releases < 3


def test_nothing_is_lost_with_a_run_that_fails() -> None:
    """The audit of a run that raised knows of everything up to there."""
    with registered(Fragile):
        run = prepare()
        with pytest.raises(AgentError):
            run.simulation.run_all(lambda share: None)
    assert run.audit.metrics()["entries"] == len(run.diary.of("enter")) > 10
    assert run.audit.verdicts()["safety"]["verdict"] == "ok"
