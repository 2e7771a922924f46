"""Naimi and Tréhel's algorithm, claim by claim."""

from math import log2

import pytest

from agents.contract import ONE_UNIT
from agents.naimi_trehel import Initial, NaimiTrehel, Request, Token
from agents.outputs import Enter, Send
from tests.agents.random_runs import is_caught
from tests.testbed.simulate import ALL_OK, simulate

NAME = "naimi-trehel"


def test_a_request_goes_to_the_father_and_makes_the_node_the_last():
    agent = NaimiTrehel(3, Initial(father=0, holds_token=False))
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Send(0, Request(3))]
    assert agent.father is None
    agent.on_receive(0, Token())
    assert agent.take_outputs() == [Enter()]


def test_paths_are_reversed():
    """A node on the way forwards the request, and points at the requester."""
    agent = NaimiTrehel(3, Initial(father=0, holds_token=False))
    agent.on_receive(7, Request(5))
    assert agent.take_outputs() == [Send(0, Request(5))]
    assert agent.father == 5


def test_an_idle_root_sends_the_token():
    agent = NaimiTrehel(0, Initial(father=None, holds_token=True))
    agent.on_receive(4, Request(4))
    assert agent.take_outputs() == [Send(4, Token())]
    assert (agent.father, agent.units) == (4, 0)


def test_a_root_that_waits_or_is_inside_remembers_its_successor():
    agent = NaimiTrehel(0, Initial(father=None, holds_token=True))
    agent.on_request(ONE_UNIT)
    agent.on_receive(4, Request(9))
    assert agent.take_outputs() == [Enter()]
    agent.on_release()
    assert agent.take_outputs() == [Send(9, Token())]
    assert agent.next is None


def test_messages_grow_with_the_logarithm():
    """O(log N) on average, where every node is a neighbour of every other."""
    for nodes in (8, 64):
        run = simulate(
            algorithm=NAME, topology="complete", nodes=nodes, workload={"rate": 0.001}, duration=100_000 / nodes
        )
        assert run.verdicts == ALL_OK
        assert 0.4 * log2(nodes) < run.audit.metrics()["messages_per_cs"] < 1.4 * log2(nodes)


class KeptToken(NaimiTrehel):
    """The token is sent and kept."""

    def send_token(self, j: int) -> None:
        super().send_token(j)
        self.holds_token = True


class ForgottenSuccessor(NaimiTrehel):
    """A node that leaves does not pass the token on."""

    def on_release(self) -> None:
        self.next = None
        super().on_release()


class TwoRoots(NaimiTrehel):
    """A node that was the last to ask goes on believing so."""

    def on_request_message(self, j: int, message: Request) -> None:
        was_root = self.father is None
        super().on_request_message(j, message)
        if was_root:
            self.father = None


@pytest.mark.parametrize("mutant", [KeptToken, ForgottenSuccessor, TwoRoots], ids=lambda one: one.__name__)
def test_mutants_are_caught(mutant):
    assert is_caught(mutant, NAME), mutant.__doc__
