"""BV, claim by claim: the figures of the paper, its three messages, its three decisions."""

from random import Random
from typing import Any

import pytest

from agents.bv import BV, BVParameters, Inform, Initial, Request, Token
from agents.contract import CRITICAL, ONE_UNIT
from agents.outputs import Enter, Send
from testbed.errors import ScenarioError
from testbed.scenario.loader import loads
from tests.agents.bv_variants import MUTANTS
from tests.agents.random_runs import is_caught
from tests.agents.test_bv_defects import stage_of
from tests.testbed.simulate import ALL_OK, simulate
from tests.testbed.tiny import tiny

# Nodes and tokens have the paper's numbers here, from 1; node 0 and token 0 take no part.


def node(number: int, *, token: int | None = None, pointers: tuple[int, ...] = (0, 1, 2), **keys: Any) -> BV:
    """A node of ten, with two tokens besides token 0."""
    return BV(number, Initial(10, pointers, token), BVParameters(k=3, **keys), Random(1))


FIGURE_1 = {"queue": (3, 7, 5, 9, 6), "modifiers": (2, None, 4, None, 4)}
"""A token-queue; of the nodes, 3, 7 and 9 are the paper's."""


def holder(queue: list[tuple[int, int | None]]) -> BV:
    """Node 1 in its critical section, with token 2 and its queue."""
    agent = node(1, token=2)
    agent.on_request(ONE_UNIT)
    agent.take_outputs()
    agent.token_queue = queue
    return agent


def test_figure_1_last_unmodified_node():
    """ "The last-unmodified node is node 9. If [...] tags for nodes 7 and 9 were not null, [...] 3." """
    queue = list(zip(*FIGURE_1.values(), strict=True))
    assert holder(queue).last_unmodified() == 9
    assert holder([(other, tag or 8) for other, tag in queue]).last_unmodified() == 3


def test_figure_1_at_an_exit():
    """ "It sends the token to node 3 and sets pointer[2] equal to 9." """
    agent = holder(list(zip(*FIGURE_1.values(), strict=True)))
    agent.on_release()
    assert agent.take_outputs() == [Send(3, Token(2, *FIGURE_1.values(), epochs=(0, 0, 1)))]
    assert agent.pointer[2] == 9
    assert agent.units == 0


def test_figure_1_at_a_receiver():
    """ "If node 3 receives token 2 [...], but had requested token 1, node 3 sets pointer[1] to 2." """
    agent = node(3)
    agent.last_seen = 1
    agent.on_request(ONE_UNIT)
    agent.on_receive(8, Request(8, 1, 0))
    agent.take_outputs()
    agent.on_receive(1, Token(2, *FIGURE_1.values(), epochs=(0, 0, 1)))
    assert agent.take_outputs() == [Enter()]
    assert agent.pointer == [0, 2, 3]
    # Case 1: the node-queue is appended with the modifier of this node's own request.
    assert agent.token_queue == [(7, None), (5, 4), (9, None), (6, 4), (8, 2)]
    assert agent.node_queue == []


def test_case_2_the_requested_token_comes():
    """Handle_TOKEN: the tags of the node-queue are null."""
    agent = node(3, choice="last-seen")
    agent.last_seen = 2
    agent.on_request(ONE_UNIT)
    agent.on_receive(8, Request(8, 2, 0))
    agent.take_outputs()
    agent.on_receive(1, Token(2, (3, 4), (None, 1), (0, 0, 1)))
    assert agent.token_queue == [(4, 1), (8, None)]
    assert (agent.token, agent.last_seen, agent.pointer, agent.status) == (2, 2, [0, 1, 3], CRITICAL)


FIGURE_2 = {1: 3, 2: 2, 3: 5, 4: 3, 5: 5, 6: 2}
"""pointer[1] of every node."""


def test_figure_2_a_request_climbs_its_tree():
    """ "If node 4 wants to request token 1, it sends REQUEST(4, 1) to node 3 [...] forwards the request to node 5." """
    four, three = (node(number, pointers=(0, FIGURE_2[number], 2)) for number in (4, 3))
    four.last_seen = 1
    four.on_request(ONE_UNIT)
    assert four.take_outputs() == [Send(3, Request(4, 1, 0))]
    assert four.waiting_for == 1
    three.on_receive(4, Request(4, 1, 0))
    assert three.take_outputs() == [Send(5, Request(4, 1, 0))]
    assert three.pointer[1] == 4


def test_an_idle_token_leaves_at_once():
    """HandleREQUEST: for the token itself, and for another token, with this node as the modifier."""
    for asked, modifier in ((2, None), (1, 5)):
        agent = node(5, token=2)
        agent.on_receive(7, Request(7, asked, 0))
        assert agent.take_outputs() == [Send(7, Token(2, (7,), (modifier,), (0, 0, 1)))]
        assert agent.pointer == [0, 1, 7], "pointer[token-id], whichever token was requested"


def test_a_token_in_use_queues_requests():
    """HandleREQUEST in the critical section."""
    agent = holder([])
    agent.on_receive(7, Request(7, 2, 0))
    agent.on_receive(4, Request(8, 1, 0))
    assert agent.take_outputs() == []
    assert agent.token_queue == [(7, None), (8, 1)]


def test_a_waiting_node_keeps_requests_for_its_token_only():
    """HandleREQUEST, cases 2 and 3."""
    agent = node(5)
    agent.last_seen = 1
    agent.on_request(ONE_UNIT)
    agent.take_outputs()
    agent.on_receive(7, Request(7, 1, 0))
    assert (agent.take_outputs(), agent.node_queue) == ([], [7])
    agent.on_receive(7, Request(8, 2, 0))
    assert agent.take_outputs() == [Send(2, Request(8, 2, 0))]
    assert agent.pointer[2] == 8


def test_the_temporary_cycle():
    """Section 2: B changes A's request into one for its own token u and sends u to A, from which a path leads to B."""
    stage = stage_of(3, BVParameters(k=2, v=0))
    a, b = stage.agents[2], stage.agents[1]  # B holds token 1, which is u; A asks for token 0, which is t
    a.pointer[0] = 1
    stage.request(1)
    stage.request(2)
    stage.deliver(2, 1)
    assert b.token_queue == [(2, 1)], "A, modified by B"
    stage.release(1)
    assert (b.pointer[1], a.pointer[1]) == (2, 1), "a cycle in the forest of u"
    stage.deliver(1, 2)
    assert stage.inside == {2}
    assert a.pointer == [1, 2], "the cycle is broken, and the way to t leads through B"


# -- decisions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inform_to", ["random", "stalest"])
@pytest.mark.parametrize("v", [0, 2, 9])
def test_v_different_nodes_are_informed(v, inform_to):
    """Never the node itself; only if the queue is empty."""
    agent = node(1, token=2, v=v, inform_to=inform_to)
    for _ in range(20):
        agent.on_request(ONE_UNIT)
        agent.on_release()
        told = [output for output in agent.take_outputs() if output != Enter()]
        assert all(output.message == Inform(2, 0) for output in told)
        assert len({output.peer for output in told} - {1}) == len(told) == v
    assert agent.token == 2


def test_the_stalest_are_those_heard_of_longest_ago():
    """They take turns, and a node whose request passed by is left for later."""
    agent = node(1, token=2, v=3, inform_to="stalest")
    assert agent.to_inform() == [0, 2, 3]
    agent.hear_of(4)
    assert agent.to_inform() == [5, 6, 7]
    assert agent.to_inform() == [8, 9, 0]


def test_an_inform_moves_the_pointer_and_is_seen():
    """HandleINFORM, and the heuristic of section 3."""
    agent = node(5)
    agent.on_receive(8, Inform(1, 0))
    assert agent.pointer == [0, 8, 2]
    assert agent.last_seen == 1
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Send(8, Request(5, 1, 0))]


def test_a_random_choice_takes_every_token():
    """Section 3: "choose the token randomly"."""
    agent = node(5, choice="random")
    assert {agent.chosen_token() for _ in range(100)} == {0, 1, 2}


def test_a_node_that_restarted_passes_a_token_on():
    """Deviation 4: it has forgotten its request, and the next node waits."""
    parameters = BVParameters(k=2)
    blank = BV.blank(1, BV.initial({i: [] for i in range(4)}, parameters)[1], parameters)
    agent = BV(1, blank, parameters, Random(1))
    assert agent.pointer == [0, 2], "it does not point at itself"
    agent.on_receive(0, Token(0, (1, 3), (None, None), (1, 0)))
    assert agent.take_outputs() == [Send(3, Token(0, (3,), (None,), (2, 0)))]


# -- what it costs -----------------------------------------------------------------------------------------------------


def test_words_are_counted_as_the_paper_counts_them():
    """Source, destination and type, then the fields; epochs are of a correction, and are counted apart."""
    assert [(message.words, message.added_words) for message in (
        Request(4, 1, 0), Inform(1, 0), Token(2, (3, 7), (2, None), (0, 0, 1)),
    )] == [(5, 1), (4, 1), (8, 3)]  # fmt: skip
    run = simulate(algorithm="bv", topology="complete", nodes=6, entries=100, workload={"rate": 1.0})
    metrics = run.audit.metrics()
    assert metrics["words_per_message"] + 1 < metrics["sent_words_per_message"] < metrics["words_per_message"] + 3
    assert metrics["words_per_cs"] == pytest.approx(metrics["words_per_message"] * metrics["messages_per_cs"])


PAPER = {
    "nodes": 30,
    "topology": "complete",
    "delays": {"send": 0.1, "hop": 0.8, "receive": 0.1},
    "entries": 5000,
}


@pytest.mark.parametrize(
    ("choice", "rate", "messages", "waiting"),
    [
        ("random", 0.01, 5.13, 3.30),
        ("random", 1.0, 2.87, 9.04),
        ("last-seen", 0.01, 4.77, 3.05),
        ("last-seen", 1.0, 2.04, 8.99),
    ],
)
def test_the_setting_of_section_4(choice, rate, messages, waiting):
    """Values of an independent implementation, within 3 %; `reproduce bv` has the whole figures."""
    metrics = []
    for seed in (1, 2):
        run = simulate(
            algorithm={"name": "bv", "choice": choice}, workload={"rate": rate, "cs_time": 0.0002}, seed=seed, **PAPER
        )
        assert run.verdicts == ALL_OK
        metrics.append(run.audit.metrics())
    assert sum(one["messages_per_cs"] for one in metrics) / 2 == pytest.approx(messages, rel=0.03)
    assert sum(one["waiting_time"]["mean"] for one in metrics) / 2 == pytest.approx(waiting, rel=0.03)


@pytest.mark.parametrize(
    ("keys", "allowed"),
    [
        ("k: 0", "k at least 1"),
        ("k: 6", "k at most the number of nodes, 5"),
        ("v: -1", "v at least 0"),
        ("v: 5", "v at most the number of other nodes, 4"),
        ("choice: best", "one of 'random'"),
    ],
)
def test_parameters_that_cannot_work_are_refused(keys, allowed):
    """One line that says what is allowed; the network has five nodes."""
    with pytest.raises(ScenarioError, match=allowed):
        loads(tiny(algorithm=f"{{name: bv, {keys}}}"))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.__name__)
def test_mutants_are_caught(mutant):
    """A random run tells a broken agent from a whole one."""
    assert is_caught(mutant, "bv"), mutant.__doc__
