"""The reconstruction of Srimani and Reddy's algorithm: what is published about it, and rule by rule."""

import pytest

from agents.contract import CRITICAL, ONE_UNIT, Agent, MultipleEntries
from agents.outputs import Enter, Send
from agents.srimani_reddy import Initial, Request, SrimaniReddy, Token
from testbed.errors import ScenarioError
from testbed.scenario.loader import loads
from tests.agents.random_runs import is_caught
from tests.testbed.simulate import ALL_OK, Simulated, simulate

NAME = "srimani-reddy"
COMPLETE = {"algorithm": {"name": NAME, "k": 3}, "topology": "complete", "nodes": 30}
NONE_SERVED = (0, 0, 0, 0)


def node(number: int, *, holds_token: bool = False) -> SrimaniReddy:
    """A node of four."""
    return SrimaniReddy(number, Initial(4, holds_token))


def inside(number: int) -> SrimaniReddy:
    """A node of four in its critical section, with a token that it had from the start."""
    agent = node(number, holds_token=True)
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Enter()]
    return agent


# -- the rules ---------------------------------------------------------------------------------------------------------


def test_the_first_k_nodes_start_with_a_token_each():
    starts = SrimaniReddy.initial({i: [] for i in range(5)}, MultipleEntries(2))
    assert [start.holds_token for start in starts] == [True, True, False, False, False]


def test_a_holder_enters_without_a_message():
    agent = inside(0)
    agent.on_release()
    assert agent.take_outputs() == []
    assert agent.units == 1


def test_a_request_goes_to_all_others():
    agent = node(2)
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Send(peer, Request(1)) for peer in (3, 0, 1)]
    agent.on_receive(0, Token((3,), (5, 0, 0, 0)))
    assert agent.take_outputs() == [Enter()]


def test_an_idle_token_goes_to_a_new_request_only():
    agent = node(0, holds_token=True)
    agent.on_receive(3, Request(1))
    assert agent.take_outputs() == [Send(3, Token((), NONE_SERVED))]
    agent.on_receive(2, Token((), NONE_SERVED))
    assert agent.take_outputs() == [], "node 3 was sent a token, and gets no second one"
    agent.on_receive(3, Request(2))
    assert agent.take_outputs() == [Send(3, Token((), (0, 0, 0, 1)))]


def test_requests_during_the_critical_section_are_queued_from_the_next_number_on():
    agent = inside(1)
    for peer in (0, 3, 2):
        agent.on_receive(peer, Request(1))
    assert agent.take_outputs() == []
    agent.on_release()
    assert agent.take_outputs() == [Send(2, Token((3, 0), (0, 1, 0, 0)))]


def test_a_second_token_is_passed_on_from_within_the_critical_section():
    """To the first of its queue that is known to wait and not to be served."""
    agent = inside(0)
    agent.on_receive(1, Request(1))
    agent.on_receive(3, Request(1))
    agent.on_receive(2, Token((0, 1, 3), (0, 1, 0, 0)))
    assert agent.take_outputs() == [Send(3, Token((), (0, 1, 0, 0)))], "nodes 0 and 1 have been served"
    assert agent.units == 1


def test_a_second_token_stays_where_no_node_is_known_to_wait():
    agent = inside(0)
    agent.on_receive(2, Token((), NONE_SERVED))
    agent.on_release()
    assert agent.take_outputs() == []
    assert agent.units == 2
    for peer in (1, 2):
        agent.on_receive(peer, Request(1))
    assert [output.peer for output in agent.take_outputs()] == [1, 2]
    assert agent.units == 0


def test_what_two_tokens_know_of_served_requests_is_merged():
    """The highest number counts, except of the node's own requests, which it knows best."""
    agent = node(0)
    agent.on_receive(1, Token((), (9, 4, 0, 2)))
    agent.on_receive(2, Token((), (9, 3, 1, 3)))
    assert agent.served == [0, 4, 1, 3]


# -- what is published -------------------------------------------------------------------------------------------------


def complete(rate: float, **keys) -> Simulated:
    """30 nodes, 3 tokens, every node a neighbour of every other."""
    workload = {"rate": rate, "cs_time": 0.0002}
    run = simulate(**{**COMPLETE, "entries": 2000, "workload": workload, **keys})
    assert run.verdicts == ALL_OK
    return run


@pytest.mark.parametrize(("rate", "messages"), [(0.001, 28.9), (0.1, 30.9), (1.0, 30.1)])
def test_close_to_n_minus_one_messages(rate: float, messages: float):
    """Bulgannawar and Vaidya 1995: "close to N-1" per entry at any load, for N = 30 and k = 3."""
    metrics = complete(rate).audit.metrics()
    assert metrics["messages_per_cs"] == pytest.approx(messages, rel=0.03)
    assert metrics["messages_per_cs"] == pytest.approx(29, rel=0.07)
    assert metrics["messages_per_cs"] <= 29 + 3, "N-1 requests, and at most k tokens in answer"


def test_with_a_token_for_every_node_no_message_is_sent():
    run = simulate(algorithm={"name": NAME, "k": 10}, topology="complete")
    assert run.verdicts == ALL_OK
    assert run.audit.metrics()["messages"] == {}


def test_up_to_k_are_inside():
    """Never more, and at times k."""
    run = complete(1.0, entries=300, workload={"rate": 1.0, "cs_time": 1.0})
    count = most = 0
    for event in run.diary.of("enter", "exit"):
        count += 1 if event["kind"] == "enter" else -1
        most = max(most, count)
    assert most == 3


@pytest.mark.parametrize(("k", "allowed"), [(6, "k at most the number of nodes, 5"), (0, "k at least 1")])
def test_a_wrong_k_is_refused_in_one_line(k: int, allowed: str):
    text = f"name: x\nalgorithm: {{name: {NAME}, k: {k}}}\nnodes: 5\ntopology: complete\nworkload: {{rate: 1}}\n"
    with pytest.raises(ScenarioError, match=allowed) as error:
        loads(text + "duration: 100\n")
    assert "\n" not in str(error.value)


# -- mutants -----------------------------------------------------------------------------------------------------------


class KeptToken(SrimaniReddy):
    """A token is sent and kept."""

    def send_spare_tokens(self) -> None:
        before = self.units
        super().send_spare_tokens()
        if self.units < before:
            self.queues.append([])


class SkippedRequests(SrimaniReddy):
    """A node that has sent a token takes all that wait for served."""

    def send_spare_tokens(self) -> None:
        before = self.units
        super().send_spare_tokens()
        if self.units < before:
            self.served = list(self.requested)


class LostToken(SrimaniReddy):
    """A second token that comes during the critical section is dropped."""

    def on_token(self, j: int, message: Token) -> None:
        if self.status is not CRITICAL:
            super().on_token(j, message)


MUTANTS: tuple[type[Agent], ...] = (KeptToken, SkippedRequests, LostToken)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.__name__)
def test_mutants_are_caught(mutant):
    assert is_caught(mutant, NAME), mutant.__doc__
