"""Suzuki and Kasami's algorithm, claim by claim."""

import pytest

from agents.contract import ONE_UNIT
from agents.outputs import Enter, Send
from agents.suzuki_kasami import Initial, Request, SuzukiKasami, Token
from tests.agents.random_runs import is_caught
from tests.testbed.simulate import ALL_OK, simulate

NAME = "suzuki-kasami"


def node(number: int, *, holds_token: bool = False) -> SuzukiKasami:
    """A node of four."""
    return SuzukiKasami(number, Initial(4, holds_token))


def test_the_holder_enters_without_a_message():
    agent = node(0, holds_token=True)
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Enter()]


def test_a_request_goes_to_all_others():
    agent = node(2)
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Send(peer, Request(1)) for peer in (0, 1, 3)]
    agent.on_receive(0, Token((3,), (5, 0, 0, 0)))
    assert agent.take_outputs() == [Enter()]
    agent.on_release()
    assert agent.take_outputs() == [Send(3, Token((), (5, 0, 1, 0)))], "its own request is served, and 3 is first"


def test_an_idle_token_goes_to_a_new_request_only():
    agent = node(0, holds_token=True)
    agent.on_receive(3, Request(1))
    assert agent.take_outputs() == [Send(3, Token((), (0, 0, 0, 0)))]
    agent.on_receive(3, Token((), (0, 0, 0, 1)))
    agent.on_receive(3, Request(1))
    assert agent.take_outputs() == [], "an old request"


def test_requests_during_the_critical_section_are_queued_from_the_next_number_on():
    agent = node(1, holds_token=True)
    agent.on_request(ONE_UNIT)
    for peer in (0, 3, 2):
        agent.on_receive(peer, Request(1))
    agent.take_outputs()
    agent.on_release()
    assert agent.take_outputs() == [Send(2, Token((3, 0), (0, 0, 0, 0)))]


def test_none_or_n_messages():
    """Per entry, where every node is a neighbour of every other: N - 1 requests and the token, or nothing."""
    run = simulate(algorithm=NAME, topology="complete", nodes=7, workload={"rate": 0.02}, duration=2000.0)
    assert run.verdicts == ALL_OK
    messages = run.audit.metrics()["messages"]
    assert messages["Request"] == 6 * messages["Token"]
    assert messages["Token"] < run.audit.metrics()["entries"], "some found the token at home"


class KeptToken(SuzukiKasami):
    """The token is sent and kept."""

    def send_token(self, j: int) -> None:
        super().send_token(j)
        self.holds_token = True


class LostQueue(SuzukiKasami):
    """The token forgets that a request was served, so that it is served again and others are not."""

    def on_token(self, j: int, message: Token) -> None:
        super().on_token(j, Token((), tuple(number + 1 for number in message.served)))


class EagerHolder(SuzukiKasami):
    """Gives the token away in its critical section."""

    def on_request_message(self, j: int, message: Request) -> None:
        super().on_request_message(j, message)
        if self.holds_token and self.is_unserved(j):
            self.send_token(j)


@pytest.mark.parametrize("mutant", [KeptToken, LostQueue, EagerHolder], ids=lambda one: one.__name__)
def test_mutants_are_caught(mutant):
    assert is_caught(mutant, NAME), mutant.__doc__
