"""The driver: what it reports, and what it refuses."""

from itertools import pairwise

import pytest

from agents.contract import Agent
from agents.message import Message
from agents.outputs import EVICT
from agents.rl import LinkInfo, ReverseLink
from testbed.runtime.breach import AgentError
from tests.agents.rl_variants import registered
from tests.analysis.histories import feed, start
from tests.testbed.simulate import prepare, simulate


def test_a_message_out_of_order_is_reported():
    """Number 2 before number 1 on a channel: delivered, and an offence against order."""
    run = prepare(nodes=2, topology="complete")
    feed(run.audit, start(units=(1, 0), links=[(0, 1)], trace="metrics"))
    driver = run.simulation.driver
    channel = driver.channels[1][0]
    for number in (2, 1):
        driver.receive([driver.post(channel, LinkInfo((0, 5, 1)), number)])
    verdict = run.audit.verdicts()["order"]
    assert verdict["verdict"] == "failed"
    assert "node 0 receives LinkInfo 1 from 1 after 2" in verdict["offenders"][0]


class Undeclared(Message):
    """Not among RL's messages."""


class Chatty(ReverseLink):
    """Sends a message that its algorithm does not declare."""

    def on_request(self, demand) -> None:
        super().on_request(demand)
        self.send(next(iter(self.height)), Undeclared())


def test_an_undeclared_message_is_refused():
    """Messages are declared, or there would be no codec for them."""
    with (
        registered(Chatty),
        pytest.raises(
            AgentError, match=r"in on_request\(.*: send\(.*: Undeclared is not declared in the algorithm's `messages`"
        ),
    ):
        simulate()


class Timed(ReverseLink):
    """Sets a timer with every request, sets it again, and cancels another."""

    def on_request(self, demand) -> None:
        super().on_request(demand)
        self.set_timer("late", 5 * 10**9)
        self.set_timer("late", 2 * 10**9)
        self.set_timer("never", 10**9)
        self.cancel_timer("never")

    def on_timer(self, name: str) -> None:
        assert name == "late"


def test_timers_run_out_once_and_as_last_set():
    """A timer set again starts over; one that is cancelled never runs out."""
    with registered(Timed):
        run = simulate(workload={"rate": 0.01})
    requests = {(event["node"], round(event["t"] + 2, 6)) for event in run.diary.of("request")}
    timers = [(event["node"], round(event["t"], 6)) for event in run.diary.of("timer")]
    assert timers
    assert len(timers) == len(set(timers))
    assert set(timers) <= requests


def test_the_base_class_says_what_is_missing():
    """A method that an algorithm must define and does not raises an error."""
    with pytest.raises(NotImplementedError, match="must say how many a node holds"):
        _ = Agent(0).units


class Evicting(ReverseLink):
    """Leaves its critical section at once, as algorithms in neighbourhoods do when their node leaves."""

    def enter(self) -> None:
        super().enter()
        self.outbox.append((EVICT, None, None))


def test_only_algorithms_in_neighbourhoods_evict():
    """Elsewhere no node leaves."""
    with registered(Evicting), pytest.raises(AgentError, match=r"^node \d in .*: evict: that needs neighbourhoods"):
        simulate()


def test_an_evicted_node_stays_its_full_time_when_it_enters_again():
    """It asks anew when it arrives, and the end of the first stay is not that of the second."""
    churn = {"groups": 1, "departures": 0.1, "away": 1.0}
    run = simulate(algorithm={"name": "klme", "k": 1}, nodes=1, topology="complete", churn=churn,
                   workload={"rate": 1.0, "cs_time": 10.0})  # fmt: skip
    course = [event for event in run.diary.events if event["kind"] in ("request", "enter", "evict", "join", "exit")]
    evicted = [place for place, event in enumerate(course) if event["kind"] == "evict"]
    assert len(evicted) > 10
    for place in evicted:
        _, request, join, enter = course[place : place + 4]
        assert [one["kind"] for one in (request, join, enter)] == ["request", "join", "enter"]
        assert request["t"] == join["t"] == enter["t"]
    ends = [(one["t"], other["t"]) for one, other in pairwise(course) if other["kind"] == "exit"]
    assert len(ends) > 5
    assert all(left == pytest.approx(entered + 10) for entered, left in ends)
