"""RR: Raymond's algorithm as the RL paper runs it, one test per claim."""

from random import Random

import pytest

from agents.contract import ONE_UNIT, Status
from agents.errors import PeerError
from agents.message import Message
from agents.outputs import Enter, Send
from agents.raymond_tree import RaymondTree, Request, Token, TreeParameters
from testbed.network.graph import random_connected
from testbed.runtime.breach import AgentError
from tests.agents.random_runs import run_once
from tests.agents.rl_variants import registered
from tests.testbed.simulate import ALL_OK, simulate


def outputs(agent: RaymondTree) -> list[tuple]:
    return [(one.peer, type(one.message)) if isinstance(one, Send) else one for one in agent.take_outputs()]


def test_the_tree_is_breadth_first_from_node_0():
    """Section 6 of the RL paper: breadth-first search forms the spanning tree."""
    graph = {0: (1, 2), 1: (0, 2, 3), 2: (0, 1, 4), 3: (1, 4), 4: (2, 3)}
    assert RaymondTree.initial(graph, TreeParameters()) == [0, 0, 0, 1, 2]


@pytest.mark.parametrize("seed", range(5))
def test_every_branch_leads_to_the_token(seed):
    """Following HOLDER from any node ends at the token, which node 0 has."""
    graph = random_connected(20, 30, Random(seed)).adjacency()
    parents = RaymondTree.initial(graph, TreeParameters())
    for node in range(20):
        for _ in range(20):
            node = parents[node]
        assert node == 0
    assert [RaymondTree(node, parent).units for node, parent in enumerate(parents)] == [1] + [0] * 19


def test_one_request_stands_for_all_behind_it():
    """MAKE_REQUEST: a node that has asked does not ask again until the token has come."""
    agent = RaymondTree(5, holder=1)
    agent.on_request(ONE_UNIT)
    agent.on_receive(7, Request())
    assert outputs(agent) == [(1, Request)]
    assert agent.queue == [5, 7]


def test_the_token_goes_to_the_head_and_is_asked_back():
    """ASSIGN_PRIVILEGE, then MAKE_REQUEST for those who still wait."""
    agent = RaymondTree(5, holder=1)
    agent.on_receive(7, Request())
    agent.on_request(ONE_UNIT)
    outputs(agent)
    agent.on_receive(1, Token())
    assert outputs(agent) == [(7, Token), (7, Request)]
    assert (agent.holder, agent.units, agent.queue) == (7, 0, [5])


def test_a_holder_that_asks_enters_and_keeps_requests_waiting():
    """The holder enters at once; a node that asks meanwhile gets the token when it leaves."""
    agent = RaymondTree(0, holder=0)
    agent.on_request(ONE_UNIT)
    assert outputs(agent) == [Enter()]
    agent.on_receive(3, Request())
    assert outputs(agent) == []
    agent.on_release()
    assert outputs(agent) == [(3, Token)]
    assert agent.status is Status.REMAINDER


def test_an_idle_holder_gives_the_token_at_once():
    """A REQUEST at an idle holder is answered with PRIVILEGE."""
    agent = RaymondTree(0, holder=0)
    agent.on_receive(3, Request())
    assert outputs(agent) == [(3, Token)]


def test_a_foreign_message_is_refused():
    """And changes nothing."""
    agent = RaymondTree(0, holder=0)
    before = agent.state()
    with pytest.raises(PeerError):
        agent.on_receive(3, Message())
    assert agent.state() == before


def test_random_runs():
    """Over changing routes: safe, one token, in order, every request served, in 300 random runs."""
    for seed in range(300):
        run = run_once(seed, algorithm="raymond-tree")
        assert not run.failures, f"seed {seed}: {run.failures}"


class Forgetful(RaymondTree):
    """Never asks for the token back."""

    def on_receive(self, peer: int, message: Message) -> None:
        super().on_receive(peer, message)
        if isinstance(message, Token):
            self.outbox = [output for output in self.outbox if not isinstance(output[2], Request)]


class Generous(RaymondTree):
    """Gives the token away and keeps it."""

    def assign_privilege(self) -> None:
        super().assign_privilege()
        self.holder = self.node


class Impatient(RaymondTree):
    """Forgets that it has asked."""

    def proceed(self) -> None:
        super().proceed()
        self.asked = self.asked and len(self.queue) > 1


@pytest.mark.parametrize("mutant", [Forgetful, Generous, Impatient])
def test_mutants_are_caught(mutant):
    """Random runs tell a broken agent from a whole one."""

    def fails(seed: int) -> bool:
        try:
            return run_once(seed, algorithm="raymond-tree").has_failed
        except AgentError:
            return True

    with registered(mutant, "raymond-tree"):
        assert any(fails(seed) for seed in range(20))


def test_a_node_that_comes_back_has_forgotten_who_asked_it():
    """Raymond's recovery is left out: the node held nothing, no unit and no message is lost, and others starve."""
    faults = [{"at": 100.0, "kind": "crash", "node": 4}, {"at": 110.0, "kind": "restart", "node": 4}]
    run = simulate(algorithm={"name": "raymond-tree", "permuted": False}, seed=2, faults=faults, drain=1000.0)
    crash = run.diary.of("crash")[0]
    assert crash["units"] == 0
    assert run.verdicts == {**ALL_OK, "starvation": "failed"}
