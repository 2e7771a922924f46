"""What is told in batches comes to the same as what is told event by event."""

from __future__ import annotations

import pytest
from histories import Event, feed, lost, recv, request, returned, send, start, stop, visit

from agents.rl import ReverseLink
from analysis.audit import Audit, Live, LiveAudit
from analysis.listener import Listener
from testbed.runtime.driver import AgentError
from tests.agents.rl_variants import registered
from tests.testbed.simulate import prepare

# Node 0 uses the unit and sends it to node 1, where it is lost, comes back, or arrives; node 2 crashes while it waits.
HISTORIES = {
    "crash": [request(1, 2), ("crash", 2, 2, 0), ("restart", 3, 2, 1), *visit(2, 4, 5, 6)],
    "evicted": [request(1, 0), ("enter", 2, 0, 1), ("evict", 3, 0), ("enter", 4, 0, 1), ("exit", 5, 0, 1)],
    "exit after eviction": [request(1, 0), ("enter", 2, 0, 1), ("evict", 3, 0), ("exit", 4, 0, 1)],
    "returned": [send(1, 0, 1, 1), returned(2, 0, 1, 1), send(3, 0, 2, 1), recv(4, 2, 0, 1), *visit(2, 5, 5, 6)],
    "returned too late": [send(1, 0, 1, 1), recv(2, 1, 0, 1), returned(3, 0, 1, 1)],
    "lost": [send(1, 0, 1, 1), lost(2, 0, 1, 1), request(3, 1)],
    "lost after it arrived": [send(1, 0, 1, 1), recv(2, 1, 0, 1), lost(3, 0, 1, 1)],
    "crash of a holder": [send(1, 0, 1, 1), recv(2, 1, 0, 1), ("crash", 3, 1, 1), request(4, 0)],
    "partition": [request(1, 0), ("partition", 2, None, 2, [1, 2]), ("enter", 3, 0, 1), ("exit", 4, 0, 1)],
    "two inside": [*visit(0, 1, 2, 5)[:2], *visit(1, 2, 3, 4)[:2], ("exit", 6, 0, 1)],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_order_is_kept_among_what_is_noted_and_what_is_told(name: str) -> None:
    """On line, with batches as long as they can be, every check and metric but `order` is as from the log."""
    events: list[Event] = [start(), *HISTORIES[name], stop(9, 1, 0, 0)]
    live, log = LiveAudit(), Audit()
    feed(Live(live), *events)
    feed(log, *events)
    told, read = live.verdicts(), log.verdicts()
    assert {**told, "order": None} == {**read, "order": None}
    counted = {"messages": {}, "messages_per_cs": None, "messages_per_cs_by_type": None, "words_per_message": None}
    untold = {**counted, "token_hops_per_cs": None}  # on line, messages are told by their number
    assert {**live.metrics(), **untold} == {**log.metrics(), **untold}


class Eager(Listener):
    """Says what it hears, and how much the audit has yet to take."""

    def __init__(self, audit: LiveAudit) -> None:
        self.audit = audit
        self.heard: list[tuple[str, int]] = []

    def enter(self, t: int, node: int, units: int) -> None:
        self.heard.append(("enter", len(self.audit.steps)))

    def crash(self, t: int, node: int, units: int) -> None:
        self.heard.append(("crash", len(self.audit.steps)))


def test_others_are_told_at_once() -> None:
    """Somebody who wants single events gets them in order, as they happen, whatever the audit has yet to take."""
    audit = LiveAudit()
    eager = Eager(audit)
    live = Live(audit, eager)
    feed(live, start(), *visit(0, 1, 2, 3), request(4, 1), ("crash", 5, 1, 0), *visit(0, 6, 7, 8))
    assert eager.heard == [("enter", 2), ("crash", 0), ("enter", 2)]
    assert Live(audit).others is None


def test_whoever_asks_gets_everything() -> None:
    """Verdicts and metrics take what is still in the batches."""
    audit = LiveAudit()
    feed(Live(audit), start(), *visit(0, 1, 2, 3), ("enter", 4, 1, 1))
    assert audit.metrics()["entries"] == 2
    assert audit.verdicts()["safety"]["offenders"] == ["t=4: node 1 enters without a request"]


def test_an_empty_batch_does_not_end_the_warmup() -> None:
    """Whoever settles before anything has happened changes nothing."""
    audit = LiveAudit()
    live = Live(audit)
    feed(live, start(warmup=10))
    live.settle()
    feed(live, *visit(0, 1, 2, 3))
    live.settle()
    feed(live, *visit(0, 11, 12, 13))
    assert audit.metrics()["entries"] == 1


def test_batches_stay_short() -> None:
    """A long run settles now and then: what is noted does not pile up."""
    run = prepare(entries=4_000, workload={"rate": 1.0})
    longest = [0]
    run.world.run_all(lambda share: longest.append(len(run.audit.steps) + len(run.audit.moves)))
    assert longest == [0] * len(longest)
    assert len(longest) > 5


class Fragile(ReverseLink):
    """Fails at its fiftieth release."""

    releases = 0

    def on_release(self) -> None:
        super().on_release()
        Fragile.releases += 1
        assert Fragile.releases < 50


def test_nothing_is_lost_with_a_run_that_fails() -> None:
    """The audit of a run that raised has heard of everything up to there."""
    with registered(Fragile):
        run = prepare()
        with pytest.raises(AgentError):
            run.world.run_all(lambda share: None)
    assert run.audit.metrics()["entries"] == len(run.diary.of("enter")) == 50
    assert run.audit.verdicts()["safety"]["verdict"] == "ok"
