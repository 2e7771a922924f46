"""Metrics of tokens and heights, on hand-written histories with results worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents.contract import TICKS
from agents.registry import ALGORITHMS
from agents.rl import LinkInfo
from analysis.audit import Audit, BatchedAudit, EventAudit
from analysis.height_changes import HeightMetrics
from analysis.load import audit_log
from analysis.metrics import summarise
from analysis.tables import metrics_table
from analysis.tokens import TokenMetrics
from testbed.backends.sim.simulation import Simulation
from testbed.randomness import Streams
from testbed.runtime.event_log import EventLog
from tests.analysis.histories import Event, feed, lost, recv, request, returned, send, start, stop, visit
from tests.testbed.simulate import groups_for, prepare

NEVER = 10_000 * TICKS
"""A patience that does not run out."""
NAMES = ("token_fairness", "tokens_idle", "token_path", "height_changes_per_cs")


def measure(*events: Event) -> dict[str, Any]:
    """The metrics of tokens in a history: the same from a log and on line, where notes come in batches."""
    found = feed(TokenMetrics(), *events).result()
    on_line, log = BatchedAudit(), Audit()
    feed(on_line, *events)
    feed(log, *events)
    metrics = [audit.metrics() for audit in (on_line, log)]
    assert [{name: one[name] for name in found} for one in metrics] == [found, found]
    return found


def hop(t: float, source: int, target: int, id: int, *, takes: float = 1) -> list[Event]:
    """A token goes from one node to another."""
    return [send(t, source, target, id), recv(t + takes, target, source, id)]


def close(t: float) -> Event:
    """Requests stop."""
    return ("close", t, None, NEVER)


def spread(mean: float, p50: float, p95: float, largest: float) -> dict[str, Any]:
    return {"mean": pytest.approx(mean), "p50": p50, "p95": pytest.approx(p95), "max": largest}


NO_PATH = {"mean": None, "p50": None, "p95": None, "max": None}

# -- token_fairness --------------------------------------------------------------------------------------------------


def test_fairness_of_arrivals() -> None:
    """Arrivals 0, 2, 1: (2 + 1)² / (3 · (4 + 1)) = 0.6; that node 0 has the token at the start is no arrival."""
    found = measure(start(), *hop(1, 0, 1, 1), *hop(2, 1, 2, 1), *hop(3, 2, 1, 1), stop(9, 0, 1, 0))
    assert found["token_fairness"] == pytest.approx(0.6)


def test_fairness_counts_arrivals_after_the_warmup() -> None:
    """The token that is sent before the end of the warmup and received after it counts."""
    found = measure(start(warmup=3), *hop(1, 0, 1, 1), *hop(2.5, 1, 2, 1), stop(9, 0, 0, 1))
    assert found["token_fairness"] == pytest.approx(1 / 3)


def test_fairness_without_arrivals() -> None:
    """Other messages, and units without a token, are no arrivals."""
    others = [send(1, 0, 1, 1, "Request", 0), recv(2, 1, 0, 1, "Request", 0)]
    assert measure(start(), *others, stop(9, 1, 0, 0))["token_fairness"] is None
    released = [("send", 1, 1, 0, 1, "Release", 1, 0, 4, 0, None), ("recv", 2, 0, 1, 1, "Release", 1, 0)]
    found = measure(start(units=(1, 1, 0), tokens=(1, 0, 0)), *released, stop(9, 2, 0, 0))
    assert found == {"token_fairness": None, "tokens_idle": None, "token_path": None}


# -- tokens_idle -----------------------------------------------------------------------------------------------------


def test_a_token_is_idle_while_its_holder_does_not_use_it() -> None:
    """Node 1 waits from 1 to 6: node 0 keeps the token until 3, it is in transit until 4, and at node 2 until 5."""
    waits = [request(1, 1), *hop(3, 0, 2, 1), *hop(5, 2, 1, 1), ("enter", 6, 1, 1), ("exit", 8, 1, 1)]
    assert measure(start(), *waits, close(10), stop(10, 0, 1, 0))["tokens_idle"] == pytest.approx(0.3)


def test_without_a_request_a_token_may_lie() -> None:
    """It counts only while a request is pending."""
    assert measure(start(), *visit(0, 1, 1, 2), close(10), stop(12, 1, 0, 0))["tokens_idle"] == 0


def test_a_token_in_use_is_not_idle() -> None:
    """Node 1 waits while node 0 is inside, from 1 to 4, and 1 more until node 0 sends the token."""
    inside = [*visit(0, 0, 0, 4)[:2], request(1, 1), ("exit", 4, 0, 1), *hop(5, 0, 1, 1), ("enter", 6, 1, 1)]
    assert measure(start(), *inside, close(10), stop(10, 0, 1, 0))["tokens_idle"] == pytest.approx(0.1)


def test_one_of_two_tokens_is_idle() -> None:
    """Node 0 uses one and keeps the other while node 1 waits."""
    waits = [*visit(0, 0, 0, 9)[:2], request(2, 1), *hop(4, 0, 1, 1), ("enter", 5, 1, 1), request(6, 2)]
    found = measure(start(units=(2, 0, 0)), *waits, close(10), stop(10, 1, 1, 0))
    assert found["tokens_idle"] == pytest.approx(0.2)


def test_idle_time_is_from_the_warmup_until_requests_stop() -> None:
    """Node 1 waits all the time; 3 to 8 is measured."""
    for units in ((1, 0, 0), (2, 0, 0)):
        waits = [request(1, 1), *visit(2, 9, 9, 9)[:1], close(8), request(9, 0), stop(12, *units)]
        waits.sort(key=lambda event: event[1])
        assert measure(start(units=units, warmup=3), *waits)["tokens_idle"] == 1
    assert measure(start(warmup=3), request(1, 1), ("enter", 2, 0, 1), stop(2, 1, 0, 0))["tokens_idle"] is None


def test_a_token_that_comes_back_is_held_again() -> None:
    """In transit from 2 to 4; node 1 waits from 1 to 6."""
    for units in ((1, 0, 0), (2, 0, 0)):
        away = [request(1, 1), *(send(2, 0, 1, id) for id in range(1, units[0] + 1))]
        back = [returned(4, 0, 1, id) for id in range(1, units[0] + 1)]
        found = measure(start(units=units), *away, *back, close(6), stop(6, *units))
        assert found["tokens_idle"] == pytest.approx(3 / 6)


def test_lost_tokens_are_not_idle() -> None:
    """Nor are those of a node that crashes, and a node that crashes no longer waits."""
    gone = [request(0, 1), send(2, 0, 1, 1), lost(3, 0, 1, 1)]
    assert measure(start(), *gone, close(10), stop(10, 0, 0, 0))["tokens_idle"] == pytest.approx(0.2)
    for units in ((1, 0, 0), (2, 0, 0)):
        crash = [request(0, 1), ("crash", 5, 0, units[0]), close(10), stop(10, 0, 0, 0)]
        assert measure(start(units=units), *crash)["tokens_idle"] == pytest.approx(0.5)
        crash = [request(0, 1), ("crash", 4, 1, 0), close(10), stop(10, *units)]
        assert measure(start(units=units), *crash)["tokens_idle"] == pytest.approx(0.4)


# -- token_path ------------------------------------------------------------------------------------------------------


def test_the_path_from_one_critical_section_to_the_next() -> None:
    """Node 0, two hops, node 2, then node 2 once more; the way to node 0 was none, and counts as none."""
    ways = [*hop(0, 1, 0, 1), *visit(0, 1, 1, 2), *hop(2, 0, 1, 1), *hop(3, 1, 2, 1), *visit(2, 1.5, 4, 5)]
    ways = [*ways[:-3], request(4, 2), *ways[-2:], *visit(2, 6, 6, 7)]
    found = measure(start(units=(0, 1, 0)), *ways, close(9), stop(9, 0, 0, 1))
    assert found["token_path"] == spread(1, 1, 1.9, 2)


def test_a_path_counts_if_the_entry_at_its_end_is_after_the_warmup() -> None:
    """The token begins its path before."""
    ways = [*visit(0, 1, 1, 2), *hop(2, 0, 1, 1), *visit(1, 3, 4, 5), *visit(1, 6, 6, 7)]
    for units in ((1, 0, 0), (1, 0, 1)):
        found = measure(start(units=units, warmup=3), *ways, close(9), stop(9, 0, 1, units[2]))
        assert found["token_path"] == spread(0.5, 0.5, 0.95, 1)
        assert measure(start(units=units, warmup=5), *ways)["token_path"] == spread(0, 0, 0, 0)


def test_paths_of_several_tokens() -> None:
    """Both are used at their first nodes; one goes two hops to node 1, which has it and gets the other after one."""
    used = [*visit(0, 0, 0, 1), *visit(2, 0, 0, 1)]
    used.sort(key=lambda event: event[1])
    ways = [*hop(1, 0, 2, 1), *hop(2, 2, 1, 1), *visit(1, 3, 3, 9)[:2], *hop(4, 2, 1, 2), ("exit", 6, 1, 1)]
    found = measure(start(units=(1, 0, 1)), *used, *ways, *visit(1, 7, 7, 8), close(9), stop(9, 0, 2, 0))
    assert found["token_path"] == spread(1, 1, 1.9, 2), "2 for the first entry of node 1, 0 for the second: used last"


def test_tokens_that_cross_are_told_apart() -> None:
    """Node 0's token was used and node 1's was not: only the first has a path."""
    crossing = [send(1, 0, 1, 1), send(1, 1, 0, 1), recv(2, 1, 0, 1), recv(2, 0, 1, 1)]
    ways = [*visit(0, 0, 0, 1), *crossing, *visit(1, 3, 3, 4), *visit(0, 5, 5, 6)]
    found = measure(start(units=(1, 1, 0)), *ways, close(9), stop(9, 1, 1, 0))
    assert found["token_path"] == spread(1, 1, 1, 1)


def test_a_token_that_comes_back_has_made_no_hop() -> None:
    """It is used where it was."""
    for units in ((1, 0, 0), (1, 0, 1)):
        ways = [*visit(0, 0, 0, 1), send(1, 0, 1, 1), returned(2, 0, 1, 1), *visit(0, 3, 3, 4)]
        assert measure(start(units=units), *ways)["token_path"] == spread(0, 0, 0, 0)


def test_ties_are_in_the_order_of_events() -> None:
    """At the same time, node 1 receives one token, leaves its critical section and sends the one that it has used."""
    first = [*visit(0, 0, 0, 1), *visit(1, 0, 0, 9)[:2]]
    ways = [*hop(1, 0, 1, 1), ("exit", 2, 1, 1), *hop(2, 1, 2, 1), *visit(2, 3, 3, 4), *visit(1, 5, 5, 6)]
    found = measure(start(units=(1, 1, 0)), *first, *ways, stop(9, 0, 1, 1))
    assert found["token_path"] == spread(1, 1, 1, 1), "1 for each: the one that node 1 has used came last"


# -- where there is nothing to measure --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "begin",
    [
        start(units=(2, 0, 0), tokens=(1, 0, 0)),
        start(units=(1, 1, 0), clusters=(0, 1, 0)),
        start(places=(1,), groups=(0, 0, 0)),
    ],
    ids=["units apart", "clusters", "neighbourhoods"],
)
def test_tokens_that_cannot_be_followed(begin: Event) -> None:
    """Arrivals are still counted."""
    found = measure(begin, request(0, 1), *hop(1, 0, 1, 1), ("enter", 2, 1, 1), close(9), stop(9, 0, 1, 0))
    assert found == {"token_fairness": pytest.approx(1 / 3), "tokens_idle": None, "token_path": None}


@pytest.mark.parametrize("units", [(1, 0, 0), (1, 1, 0)])
def test_units_may_turn_out_to_be_apart(units: tuple[int, ...]) -> None:
    """A token without its unit shows it, wherever the batch began."""
    bare = [("send", 1, 0, 1, 1, "Token", 0, 1, 4, 0, None), ("recv", 2, 1, 0, 1, "Token", 0, 1)]
    found = measure(start(units=units), *visit(0, 0, 0, 1), *bare, *hop(2, 1, 2, 1), stop(9, 0, *units[1:]))
    assert found == {"token_fairness": pytest.approx(2 / 3), "tokens_idle": None, "token_path": None}


def test_entries_that_take_several_units() -> None:
    """Several tokens for one entry have no single path."""
    found = measure(start(units=(2, 0, 0)), *visit(0, 1, 2, 3, units=2), close(9), stop(9, 2, 0, 0))
    assert found["tokens_idle"] is found["token_path"] is None


@pytest.mark.parametrize("begin", [start(trace="cs"), start(shares="permissions", units=(0, 0, 0), capacity=1)])
def test_nothing_is_known_of_tokens(begin: Event) -> None:
    """A log without messages, and an algorithm without tokens. On line, a `cs` log does not limit what is measured."""
    history = (begin, request(0, 1), ("enter", 2, 1, 1), close(9), stop(9, 0, 1, 0))
    assert set(feed(TokenMetrics(), *history).result().values()) == {None}


def test_a_run_without_entries_has_no_paths() -> None:
    """The metric has its columns, and no values."""
    assert measure(start(), stop(9, 1, 0, 0)) == {"token_fairness": None, "tokens_idle": 0, "token_path": NO_PATH}


# -- height_changes_per_cs --------------------------------------------------------------------------------------------


def says(t: float, node: int, *height: int, type: str = "LinkInfo") -> Event:
    """A message with the sender's height, as a log holds it."""
    return ("send", t, node, 1 - node, 1, type, 0, 0, 6, 0, [[*height, node]])


def changes(*events: Event, entries: int | None = 1) -> float | None:
    """Height changes per entry."""
    found = feed(HeightMetrics(), *events).result(entries)["height_changes_per_cs"]
    assert found is None or isinstance(found, float)
    return found


def test_height_changes() -> None:
    """Node 0 says three heights, two of them twice, which are two changes; node 1 says one; two entries."""
    history = [says(1, 0, 0, 1), says(1, 0, 0, 1), says(2, 1, 0, 5), says(3, 0, 1, 1, type="Request")]
    history += [says(4, 0, 1, 1, type="Token"), says(5, 0, 0, 1), says(6, 1, 0, 5)]
    assert changes(start(), *history, entries=2) == 1


def test_which_height_changes_count() -> None:
    """None before the warmup, none of a node that can reach no unit, and not the first message after a restart."""
    history = [says(1, 0, 0, 1), says(2, 0, 0, 2), says(4, 0, 0, 3)]
    assert changes(start(warmup=3), *history) == 1
    cut_off = [says(1, 0, 0, 1), ("partition", 2, None, 2, [0]), says(3, 0, 0, 2), ("partition", 4, None, 1, [])]
    assert changes(start(), *cut_off, says(5, 0, 0, 2)) == 0
    assert changes(start(), says(1, 0, 0, 1), ("crash", 2, 0, 0, 0), ("restart", 3, 0, 1), says(4, 0, 0, 2)) == 0


def test_heights_that_are_not_known() -> None:
    """None without messages, without heights, and without entries."""
    history = [says(1, 0, 0, 1), says(2, 0, 0, 2)]
    assert changes(start(trace="cs"), *history) is changes(start(), *history, entries=0) is None
    assert changes(start(), send(1, 0, 1, 1), ("send", 1, 0, 1, 1, "Ask", 0, 0, 6, 0, [[1, 2, 3], 4])) is None
    lists = [("send", 1, 0, 1, 1, "Ask", 0, 0, 6, 0, [one]) for one in ([1, 2, 0], [2, 1, 0], [1, 2])]
    assert changes(start(), *lists) is None, "a list of nodes is no height, though it may look like one"


def test_heights_on_line_are_those_of_a_log() -> None:
    """On line a message is an object, and a height a tuple."""
    height = LinkInfo((0, 1, 0))
    on_line = [("send", 1, 0, 1, 1, "LinkInfo", 0, 0, 6, 0, one) for one in (height, LinkInfo((0, 2, 0)))]
    assert changes(start(), *on_line) == changes(start(), says(1, 0, 0, 1), says(1, 0, 0, 2)) == 1
    assert changes(start(), says(1, 0, 0, 1), on_line[0]) == 0


def test_real_time_backends_see_every_message() -> None:
    """Whatever the trace level of their log."""
    history = (start(trace="metrics"), says(1, 0, 0, 1), says(2, 0, 0, 2), *visit(0, 3, 3, 4))
    assert feed(EventAudit(), *history).metrics()["height_changes_per_cs"] == 1
    assert feed(BatchedAudit(), *history).metrics()["height_changes_per_cs"] is None


# -- in simulations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_log_of_a_run_gives_the_same(algorithm: str, tmp_path: Path) -> None:
    """On line and from the log of every event, for every algorithm; heights only where the algorithm has some."""
    topology = {"kind": "random", "connectivity": 0.4, "link_change_rate": 0.02}
    run = prepare(algorithm=algorithm, topology=topology if algorithm == "rl" else "complete", **groups_for(algorithm))
    scenario = run.simulation.scenario.model_copy(update={"trace": "events"})
    with EventLog(tmp_path / "events.jsonl", "events") as log:
        audit = BatchedAudit(log)
        Simulation(scenario, Streams(1, 0), audit).run_all(lambda share: None)
    on_line, read = audit.metrics(), audit_log(tmp_path / "events.jsonl").metrics()
    assert {name: on_line[name] for name in NAMES} == {name: read[name] for name in NAMES}
    has_heights = any("height" in message.__dataclass_fields__ for message in ALGORITHMS[algorithm].messages)
    assert (on_line["height_changes_per_cs"] is not None) is has_heights


def test_without_a_log_of_messages_heights_are_not_measured() -> None:
    """In virtual time messages are counted, so there is no row for height changes; tokens are followed all the same."""
    scenario = prepare(nodes=8).simulation.scenario
    audit = BatchedAudit()
    Simulation(scenario, Streams(1, 0), audit).run_all(lambda share: None)
    labels = [row[0] for row in metrics_table(summarise([audit.metrics()])).rows]
    assert audit.metrics()["height_changes_per_cs"] is None
    assert "height changes per CS" not in labels
    assert {"token hops between CS", "token fairness (Jain)"} <= set(labels)
