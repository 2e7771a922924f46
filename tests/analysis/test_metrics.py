"""Every metric on a history short enough to compute it by hand."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.metrics import Metrics, summarise
from tests.analysis.histories import Event, feed, request, send, start, stop, visit

NOTHING = {"mean": None, "p50": None, "p95": None, "max": None}


def measure(*events: Event) -> dict[str, Any]:
    """The metrics of a history."""
    return feed(Metrics(), *events).result()


def test_empty_run() -> None:
    """Where nothing happened nothing is measured; zero is said only of what was counted."""
    assert measure(start(), stop(10, 1, 0, 0)) == {
        "entries": 0,
        "waiting_time": NOTHING,
        "waiting_time_with_pending": None,
        "pending": 0,
        "response_time": NOTHING,
        "synchronization_delay": NOTHING,
        "messages_per_cs": None,
        "messages_per_cs_by_type": None,
        "messages": {},
        "messages_cut_off": 0,
        "words_per_message": None,
        "sent_words_per_message": None,
        "words_per_cs": None,
        "token_hops_per_cs": None,
        "fairness": None,
        "concurrency": None,
        "peak_units": 0,
        "throughput": 0,
        "time": 10,
    }


def test_waiting_and_response_time() -> None:
    """Waiting runs from request to entry, response from request to exit."""
    result = measure(start(), *visit(0, 1, 2, 5), *visit(1, 4, 7, 8))
    assert result["entries"] == 2
    assert result["waiting_time"] == {"mean": 2, "p50": 2, "p95": pytest.approx(2.9), "max": 3}  # 1 and 3
    assert result["response_time"] == {"mean": 4, "p50": 4, "p95": 4, "max": 4}  # 4 and 4


def test_pending_request_is_not_waiting_time() -> None:
    """A request that was not served has no waiting time yet."""
    result = measure(start(), *visit(0, 1, 2, 5), request(3, 1), stop(9, 1, 0, 0))
    assert (result["entries"], result["waiting_time"]["max"]) == (1, 1)


def test_pending_requests_count_with_their_age() -> None:
    """One request waited for 1, one is 6 old at the end and one 2; a node that crashed asks for nothing."""
    asked = [*visit(0, 1, 2, 5), request(3, 1), request(4, 2), ("crash", 5, 2, 0), request(7, 2)]
    result = measure(start(), *asked, stop(9, 1, 0, 0))
    assert (result["pending"], result["waiting_time_with_pending"]) == (2, 3)
    assert result["waiting_time"]["mean"] == 1


def test_waiting_time_of_a_run_that_served_none() -> None:
    """There is no waiting time, and with the pending requests a lower bound; a poor log knows neither."""
    result = measure(start(), request(3, 1), stop(9, 1, 0, 0))
    assert (result["waiting_time"]["mean"], result["waiting_time_with_pending"], result["pending"]) == (None, 6, 1)
    poor = measure(start(trace="metrics"), stop(9, 1, 0, 0))
    assert (poor["waiting_time_with_pending"], poor["pending"]) == (None, None)


def test_waiting_time_with_pending_where_none_is() -> None:
    """It is the waiting time."""
    result = measure(start(), *visit(0, 1, 2, 5), *visit(1, 4, 7, 8), stop(9, 1, 0, 0))
    assert result["waiting_time_with_pending"] == result["waiting_time"]["mean"] == 2


def test_token_hops_are_of_messages_that_carry_tokens() -> None:
    """Whatever their type is called, and also of a token without units; a relay carries what was sent."""
    empty_token = ("send", 2, 0, 1, 2, "Grant", 0, 1, 4, 0, None)
    unit_less = ("send", 2, 0, 1, 3, "Token", 0, 0, 4, 0, None)
    relays = [("relay", 3, 2, 0, 1, id, "Grant", 4, 0) for id in (1, 2, 3)]
    result = measure(start(), send(1, 0, 1, 1, "Grant"), empty_token, unit_less, *relays, *visit(0, 3, 3, 4))
    assert result["messages"] == {"Grant": 5, "Token": 1}
    assert result["token_hops_per_cs"] == 4


def test_synchronization_delay() -> None:
    """From an exit to the next entry, if a node waits at that exit."""
    history = [request(1, 0), ("enter", 1, 0, 1), request(2, 1), ("exit", 3, 0, 1), ("enter", 3.5, 1, 1)]
    result = measure(start(), *history, ("exit", 4, 1, 1), *visit(2, 5, 6, 7))  # no node waits at t=4
    assert result["synchronization_delay"] == {"mean": 0.5, "p50": 0.5, "p95": 0.5, "max": 0.5}


def test_synchronization_delay_from_the_last_exit() -> None:
    """With several units the gap begins at the last exit before the entry, and is counted once."""
    inside = [request(1, 0), ("enter", 1, 0, 1), request(1, 1), ("enter", 1, 1, 1), request(2, 2)]
    result = measure(start(units=(2, 0, 0)), *inside, ("exit", 3, 0, 1), ("exit", 4, 1, 1), ("enter", 6, 2, 1))
    assert result["synchronization_delay"]["mean"] == result["synchronization_delay"]["max"] == 2


def test_messages_by_type() -> None:
    """Five messages for two entries, of two types."""
    sends = [send(1, 0, 1, id, "Request", 0) for id in (1, 2, 3)] + [send(2, 0, 1, id) for id in (4, 5)]
    result = measure(start(), *sends, *visit(0, 3, 3, 4), *visit(1, 5, 5, 6))
    assert result["messages"] == {"Request": 3, "Token": 2}
    assert result["messages_per_cs"] == 2.5
    assert result["messages_per_cs_by_type"] == {"Request": 1.5, "Token": 1}
    assert result["token_hops_per_cs"] == 1


def test_messages_without_entries() -> None:
    """Messages without an entry are counted, but there is no number of messages per entry."""
    result = measure(start(), send(1, 0, 1, 1))
    assert result["messages"] == {"Token": 1}
    assert result["messages_per_cs"] is result["token_hops_per_cs"] is None
    assert result["messages_per_cs_by_type"] is None


def test_words_per_message() -> None:
    """Words are counted over all messages: 3 and 8 words make 5.5."""
    assert measure(start(), send(1, 0, 1, 1, words=3), send(2, 0, 1, 2, words=8))["words_per_message"] == 5.5


def test_fairness() -> None:
    """Entries 2, 1, 0: (2 + 1)² / (3 · (4 + 1)) = 0.6; nodes that never entered count."""
    visits = [*visit(0, 1, 1, 2), *visit(0, 3, 3, 4), *visit(1, 5, 5, 6)]
    assert measure(start(), *visits)["fairness"] == pytest.approx(0.6)


def test_concurrency() -> None:
    """Units in use, 1 for 4 units of time and 3 for 1, over the time any was in use."""
    history = [request(1, 0), ("enter", 1, 0, 1), *visit(1, 2, 3, 4, units=2), ("exit", 6, 0, 1), stop(99, 3, 0, 0)]
    result = measure(start(units=(3, 0, 0)), *history)
    assert result["concurrency"] == pytest.approx((1 * 4 + 3 * 1) / 5)
    assert result["peak_units"] == 3


def test_concurrency_until_the_stop() -> None:
    """A critical section that the end of the run cuts short counts up to there."""
    history = [*visit(0, 0, 0, 1), request(1, 0), ("enter", 1, 0, 2), stop(4, 2, 0, 0)]
    assert measure(start(units=(2, 0, 0)), *history)["concurrency"] == pytest.approx((1 * 1 + 2 * 3) / 4)


def test_throughput() -> None:
    """Two entries in eight units of time."""
    result = measure(start(), *visit(0, 1, 1, 2), *visit(1, 3, 3, 4), stop(8, 1, 0, 0))
    assert (result["throughput"], result["time"]) == (0.25, 8)


def test_throughput_without_stop() -> None:
    """A killed run lasted until its last entry or exit."""
    result = measure(start(), *visit(0, 1, 1, 2), *visit(1, 3, 3, 4))
    assert (result["throughput"], result["time"]) == (0.5, 4)


def test_messages_of_nodes_that_are_cut_off() -> None:
    """They are counted apart, and only while their nodes can reach no unit."""
    history = [
        send(1, 0, 1, 1), ("partition", 2, None, 2, [2]), send(3, 0, 1, 2), send(3, 2, 1, 1),
        ("partition", 4, None, 1, []), send(5, 2, 1, 2),
    ]  # fmt: skip
    result = measure(start(), *visit(0, 1, 1, 2), *history)
    assert (result["messages_per_cs"], result["messages_cut_off"]) == (3, 1)


def test_warmup_is_left_out() -> None:
    """Only the entry and the message at t=10 or later count; waiting may begin before."""
    before = [send(1, 0, 1, 1, "Request", 0, words=9), *visit(0, 1, 2, 3)]
    across = [request(8, 1), ("enter", 10, 1, 1), ("exit", 12, 1, 1)]
    after = [send(10, 0, 1, 2, words=3)]
    result = measure(start(warmup=10), *before, *across, *after, stop(14, 0, 1, 0))
    assert result["entries"] == 1
    assert result["waiting_time"]["max"] == 2
    assert result["response_time"]["max"] == 4
    assert result["messages"] == {"Token": 1}
    assert result["words_per_message"] == 3
    assert result["fairness"] == pytest.approx(1 / 3)
    assert (result["time"], result["throughput"]) == (4, 0.25)


def test_warmup_and_use() -> None:
    """Of a critical section across the end of the warmup, only what comes after it counts as use."""
    history = [request(5, 0), ("enter", 5, 0, 2), request(5, 1), ("enter", 11, 1, 1), ("exit", 12, 0, 2)]
    result = measure(start(units=(3, 0, 0), warmup=10), *history, stop(14, 3, 0, 0))
    assert result["concurrency"] == pytest.approx((2 * 1 + 3 * 1 + 1 * 2) / 4)


def test_warmup_and_synchronization_delay() -> None:
    """A gap counts by the entry that ends it."""
    history = [request(1, 0), ("enter", 1, 0, 1), request(2, 1), ("exit", 9, 0, 1), ("enter", 11, 1, 1)]
    assert measure(start(warmup=10), *history)["synchronization_delay"]["max"] == 2
    assert measure(start(warmup=12), *history)["synchronization_delay"] == NOTHING


def test_a_crash_of_the_waiting_node_ends_a_gap() -> None:
    """If the node that waited crashes, the time until another asks is no synchronization delay."""
    history = [*visit(0, 1, 1, 10)[:-1], request(2, 1), ("exit", 10, 0, 1), ("crash", 11, 1, 0)]
    assert measure(start(), *history, *visit(2, 100, 101, 102))["synchronization_delay"] == NOTHING


def test_what_the_log_does_not_hold_is_not_measured() -> None:
    """Zero is said of what was counted, never of what was not logged."""
    result = measure(start(trace="cs"), *visit(0, 1, 1, 2), stop(9, 1, 0, 0))
    assert result["entries"] == 1
    assert result["messages_per_cs"] is result["messages"] is result["messages_cut_off"] is None
    result = measure(start(trace="metrics"), stop(9, 1, 0, 0))
    assert result["entries"] is result["throughput"] is result["peak_units"] is None


def test_run_shorter_than_its_warmup() -> None:
    """It measured nothing, and has no throughput."""
    result = measure(start(warmup=10), *visit(0, 1, 2, 3), stop(5, 1, 0, 0))
    assert (result["entries"], result["time"], result["throughput"]) == (0, 0, None)


def test_crash_inside() -> None:
    """A node that crashes in its critical section has entered but never left, and uses nothing from then on."""
    history = [request(1, 0), ("enter", 2, 0, 1), ("crash", 4, 0, 1), *visit(1, 8, 8, 9), stop(20, 0, 1, 0)]
    result = measure(start(), *history)
    assert result["entries"] == 2
    assert result["response_time"] == {"mean": 1, "p50": 1, "p95": 1, "max": 1}
    assert result["concurrency"] == 1


def test_crash_while_waiting() -> None:
    """The request is gone with its node, and no delay is measured for it."""
    history = [request(1, 0), ("enter", 1, 0, 1), request(2, 1), ("crash", 3, 1, 0), ("exit", 4, 0, 1)]
    result = measure(start(), *history, *visit(1, 6, 7, 8))
    assert result["waiting_time"]["max"] == 1  # from the request of the new incarnation
    assert result["synchronization_delay"] == NOTHING


def test_evict() -> None:
    """An evicted node uses nothing and has no response time; when it asks anew, its times run from then."""
    evicted = [request(1, 0), ("enter", 2, 0, 1), ("evict", 4, 0)]
    result = measure(start(), *evicted, *visit(1, 5, 5, 6), *visit(0, 7, 9, 10), stop(20, 1, 0, 0))
    assert result["entries"] == 3
    assert result["waiting_time"] == {"mean": 1, "p50": 1, "p95": pytest.approx(1.9), "max": 2}  # 1, 0 and 2
    assert (result["response_time"]["mean"], result["response_time"]["max"]) == (2, 3)  # of 1 and 3
    assert result["synchronization_delay"] == NOTHING
    assert result["concurrency"] == 1


def test_synchronization_delay_from_an_eviction() -> None:
    """A unit is free again when its node is evicted, as after an exit, if a node waits then."""
    evicted = [request(1, 0), ("enter", 2, 0, 1), request(3, 1), ("evict", 4, 0), ("enter", 4.5, 1, 1)]
    assert measure(start(), *evicted)["synchronization_delay"]["max"] == 0.5


def test_abandoned_request() -> None:
    """A node that leaves its neighbourhood waits no longer: no delay is measured for it, and its next wait is new."""
    history = [
        request(1, 0),
        ("enter", 1, 0, 1),
        request(2, 1),
        ("exit", 3, 0, 1),
        ("left", 4, 1, 0, False, True, 0, 0),
    ]
    result = measure(start(), *history, *visit(1, 6, 7, 8))
    assert result["waiting_time"]["max"] == 1
    assert result["synchronization_delay"] == NOTHING


# -- over repetitions ----------------------------------------------------------------------------------------------


def spread(mean: float | None, p50: float | None, p95: float | None, largest: float | None) -> dict[str, float | None]:
    """A metric of one repetition."""
    return {"mean": mean, "p50": p50, "p95": p95, "max": largest}


def test_summarise_numbers() -> None:
    """Of 1, 2, 3: mean 2, standard deviation 1, t = 4.303 with two degrees of freedom."""
    summary = summarise([{"throughput": value} for value in (1.0, 2.0, 3.0)])["throughput"]
    assert summary["mean"] == 2
    assert summary["ci95"] == pytest.approx(4.303 / 3**0.5)


def test_summarise_spreads() -> None:
    """The interval is of the means; p50 and p95 are averaged; max is the greatest of all."""
    summary = summarise([{"waiting_time": spread(1, 1, 4, 9)}, {"waiting_time": spread(3, 2, 6, 7)}])["waiting_time"]
    assert summary == {"mean": 2, "ci95": pytest.approx(12.706), "p50": 1.5, "p95": 5, "max": 9}


def test_summarise_keeps_every_percentile() -> None:
    """Averaged, whichever a metric has."""
    summary = summarise([{"lateness": spread(1, 1, 4, 9) | {"p99": p99}} for p99 in (5, 8)])["lateness"]
    assert (summary["p99"], summary["p95"]) == (6.5, 4)


def test_summarise_one_repetition() -> None:
    """One repetition has a mean but no interval."""
    assert summarise([{"entries": 5}]) == {"entries": {"mean": 5, "ci95": None}}


def test_summarise_leaves_out_what_was_not_measured() -> None:
    """A repetition without a value does not count for the mean."""
    repetitions = [{"fairness": 0.5, "waiting_time": spread(2, 2, 2, 2)}, {"fairness": None, "waiting_time": NOTHING}]
    assert summarise(repetitions) == {
        "fairness": {"mean": 0.5, "ci95": None},
        "waiting_time": {"mean": 2, "ci95": None, "p50": 2, "p95": 2, "max": 2},
    }
    assert summarise([{"waiting_time": NOTHING}])["waiting_time"] == NOTHING | {"ci95": None}


def test_summarise_by_type() -> None:
    """A type that a repetition never sent counts as none of it."""
    summary = summarise([{"messages": {"Token": 4}}, {"messages": {"Token": 6, "LinkInfo": 2}}])["messages"]
    assert list(summary) == ["LinkInfo", "Token"]
    assert summary["Token"] == {"mean": 5, "ci95": pytest.approx(12.706)}
    assert summary["LinkInfo"] == {"mean": 1, "ci95": pytest.approx(12.706)}


def test_summarise_what_was_measured() -> None:
    """What a repetition measures can be summarised as it is, and no metric gets lost."""
    one = measure(start(), send(1, 0, 1, 1), *visit(0, 1, 2, 5), stop(10, 0, 1, 0))
    two = measure(start(), *visit(0, 1, 4, 5), *visit(1, 6, 7, 8), stop(10, 1, 0, 0))
    summary = summarise([one, two])
    assert list(summary) == list(one)
    assert summary["waiting_time"]["mean"] == 1.5
    assert summary["throughput"] == {"mean": pytest.approx(0.15), "ci95": pytest.approx(12.706 * 0.05)}
    assert summary["messages_per_cs_by_type"]["Token"]["mean"] == 0.5


def test_so_far() -> None:
    """While a run goes on: how many entries have counted, and how many nodes wait."""
    metrics = feed(Metrics(), start(), *visit(0, 1, 2, 3), request(4, 1), request(5, 2))
    assert (metrics.entries, metrics.waiting) == (1, 2)
