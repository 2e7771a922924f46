"""The reconstruction of the algorithm of Makki et al.: what is published about it, and rule by rule."""

import pytest

from agents.contract import ONE_UNIT, TICKS, Agent
from agents.makki import Grant, Initial, Makki, MakkiParameters, NewTail, Request, Return, Token
from agents.outputs import Enter, Send, SetTimer
from testbed.errors import ScenarioError
from testbed.scenario.loader import loads
from tests.agents.random_runs import is_caught
from tests.testbed.simulate import ALL_OK, Simulated, simulate

NAME = "makki"
COMPLETE = {"algorithm": {"name": NAME, "k": 3}, "topology": "complete", "nodes": 30}


def node(number: int, *, k: int = 2, window: float = 0.0) -> Makki:
    """A node of six; node 0 has the token and is the tail of batch 0."""
    peers = tuple(peer for peer in range(6) if peer != number)
    return Makki(number, Initial(peers, number == 0), MakkiParameters(k=k, window=window))


def waiting(number: int) -> Makki:
    """A node other than 0 that has asked."""
    agent = node(number)
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Send(0, Request(number, 0))]
    return agent


def tail_that_has_sent(batch: tuple[int, ...], *, semaphore: int) -> Makki:
    """Node 0 as tail of batch 0, after it has sent the token with so many units along batch 1."""
    agent = node(0, k=3, window=1.0)
    agent.free = semaphore
    for origin in batch:
        agent.on_receive(origin, Request(origin, 0))
    agent.on_timer("window")
    agent.take_outputs()
    return agent


# -- requests, and the tail that collects them -------------------------------------------------------------------------


def test_a_tail_collects_requests_for_a_window():
    """The time of a message and its answer, 2 T."""
    agent = node(0, window=2.0)
    agent.on_receive(4, Request(4, 0))
    assert agent.take_outputs() == [SetTimer("window", 2 * TICKS)]
    agent.on_receive(2, Request(2, 0))
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [], "its own request takes no message"
    agent.on_receive(3, Request(3, 0))
    agent.on_timer("window")
    told = [Send(peer, NewTail(3, 1)) for peer in (1, 5)]
    assert agent.take_outputs() == [*told, Send(4, Token((2, 0, 3), 2, 1))], "the new tail is named outside the batch"
    assert agent.units == 0


def test_without_a_window_the_first_request_is_a_batch():
    agent = node(0)
    agent.on_receive(4, Request(4, 0))
    assert agent.take_outputs() == [*(Send(peer, NewTail(4, 1)) for peer in (1, 2, 3, 5)), Send(4, Token((), 2, 1))]


def test_a_tail_that_asks_may_be_the_next_tail():
    agent = node(0)
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [*(Send(peer, NewTail(0, 1)) for peer in range(1, 6)), Enter()]
    assert (agent.holds_token, agent.free, agent.units) == (True, 1, 2)
    agent.on_release()
    assert agent.take_outputs() == []
    assert agent.free == 2


def test_a_request_goes_to_the_latest_tail():
    agent = node(1)
    agent.on_receive(0, NewTail(5, 2))
    agent.on_receive(0, NewTail(4, 1))
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Send(5, Request(1, 2))]


def test_a_former_tail_forwards_requests():
    agent = node(0)
    agent.on_receive(4, Request(4, 0))
    agent.take_outputs()
    agent.on_receive(2, Request(2, 0))
    assert agent.take_outputs() == [Send(4, Request(2, 1))]


def test_a_node_may_learn_from_a_request_that_it_is_the_tail():
    """Before the token has come to it."""
    agent = waiting(4)
    agent.on_receive(0, Request(2, 1))
    assert agent.take_outputs() == []
    agent.on_receive(0, Token((), 2, 1))
    told = [Send(peer, NewTail(2, 2)) for peer in (0, 1, 3, 5)]
    assert agent.take_outputs() == [Enter(), *told, Send(2, Token((), 1, 2))]


# -- the semaphore -----------------------------------------------------------------------------------------------------


def test_a_node_enters_if_the_semaphore_is_positive():
    """And passes the token on at once, with one unit less."""
    agent = waiting(4)
    agent.on_receive(0, Token((2, 3), 2, 1))
    assert agent.take_outputs() == [Enter(), Send(2, Token((3,), 1, 1))]
    assert agent.units == 1


def test_a_node_enters_on_a_later_release_of_an_earlier_node():
    """If the semaphore is 0."""
    agent = waiting(4)
    agent.on_receive(0, Token((2, 3), 0, 1))
    assert agent.take_outputs() == [Send(2, Token((3,), 0, 1))]
    agent.on_receive(5, Grant())
    assert agent.take_outputs() == [Enter()]


def test_a_release_that_overtakes_the_token_counts():
    agent = waiting(4)
    agent.on_receive(5, Grant())
    assert agent.take_outputs() == []
    assert agent.units == 1
    agent.on_receive(0, Token((2, 3), 0, 1))
    assert agent.take_outputs() == [Enter(), Send(2, Token((3,), 0, 1))]


@pytest.mark.parametrize(
    ("queue", "released"),
    [((2, 3, 5), Send(3, Grant())), ((2, 3), Send(3, Grant())), ((2,), Send(2, Return(1)))],
    ids=["to the second after it", "which may be the last", "to the tail"],
)
def test_a_release_goes_to_the_kth_node_after_it(queue: tuple[int, ...], released: Send):
    """In its batch; or to the tail, if there are fewer. Here k is 2."""
    agent = waiting(4)
    agent.on_receive(0, Token(queue, 1, 1))
    agent.take_outputs()
    agent.on_release()
    assert agent.take_outputs() == [released]
    assert agent.units == 0


def test_units_returned_before_the_token_join_the_semaphore():
    agent = waiting(4)
    agent.on_receive(5, Return(1))
    assert agent.units == 1
    agent.on_receive(0, Token((), 0, 1))
    assert agent.take_outputs() == [], "its own unit is another, which its predecessor k places before grants"
    assert (agent.holds_token, agent.free) == (True, 1)


def test_units_returned_after_the_token_go_to_the_first_that_lack_one():
    """One unit went with the token, to node 4; the next two are for nodes 2 and 5. Then the tail has had all three."""
    agent = tail_that_has_sent((4, 2, 5, 1), semaphore=1)
    for peer in (1, 3):
        agent.on_receive(peer, Return(0))
    assert agent.take_outputs() == [Send(2, Grant()), Send(5, Grant())]
    assert agent.sent == {}


def test_units_that_the_next_batch_does_not_need_go_to_its_tail():
    agent = tail_that_has_sent((4, 2), semaphore=1)
    for peer in (1, 3):
        agent.on_receive(peer, Return(0))
    assert agent.take_outputs() == [Send(2, Grant()), Send(2, Return(1))]


# -- what is published -------------------------------------------------------------------------------------------------


def complete(rate: float, **keys) -> Simulated:
    """30 nodes, k = 3, every node a neighbour of every other."""
    workload = {"rate": rate, "cs_time": 0.0002}
    run = simulate(**{**COMPLETE, "entries": 3000, "workload": workload, **keys})
    assert run.verdicts == ALL_OK
    return run


def test_three_messages_under_heavy_load():
    """A request, the token and a release; the token takes a hop per node, so that waiting takes about N hops."""
    metrics = complete(1.0).audit.metrics()
    assert metrics["messages_per_cs"] == pytest.approx(3, rel=0.03)
    assert metrics["waiting_time"]["mean"] == pytest.approx(30, rel=0.05)


@pytest.mark.parametrize(("rate", "entries", "messages"), [(0.001, 3000, 28.4), (0.03, 10000, 7.6), (0.1, 3000, 3.4)])
def test_many_messages_under_light_load(rate: float, entries: int, messages: float):
    """Most name a new tail to all nodes. The numbers are the reconstruction's own."""
    metrics = complete(rate, entries=entries).audit.metrics()
    assert metrics["messages_per_cs"] == pytest.approx(messages, rel=0.03)


@pytest.mark.parametrize("window", [0, 0.1, 20])
def test_correct_whatever_the_window(window: float):
    """And the tails forget a batch when they have had all units of it."""
    run = complete(0.1, algorithm={"name": NAME, "k": 3, "window": window}, entries=500)
    agents = run.simulation.driver.agents.values()
    assert sum(len(agent.sent) for agent in agents) <= 3


def test_up_to_k_are_inside():
    """Never more, and at times k."""
    run = complete(1.0, entries=300, workload={"rate": 1.0, "cs_time": 10.0})
    count = most = 0
    for event in run.diary.of("enter", "exit"):
        count += 1 if event["kind"] == "enter" else -1
        most = max(most, count)
    assert most == 3


@pytest.mark.parametrize(
    ("parameter", "allowed"),
    [("k: 6", "k at most the number of nodes, 5"), ("k: 0", "k at least 1"), ("window: -1", "window from 0 to")],
)
def test_wrong_parameters_are_refused_in_one_line(parameter: str, allowed: str):
    text = f"name: x\nalgorithm: {{name: {NAME}, {parameter}}}\nnodes: 5\ntopology: complete\nworkload: {{rate: 1}}\n"
    with pytest.raises(ScenarioError, match=allowed) as error:
        loads(text + "duration: 100\n")
    assert "\n" not in str(error.value)


# -- mutants -----------------------------------------------------------------------------------------------------------


class EagerNode(Makki):
    """Enters with the token although the semaphore is 0."""

    def on_token(self, peer: int, message: Token) -> None:
        if not message.semaphore:
            self.granted += 1
        super().on_token(peer, message)


class NearHeir(Makki):
    """Grants its unit to the next node of the batch instead of the k-th."""

    def on_token(self, peer: int, message: Token) -> None:
        super().on_token(peer, message)
        if len(message.queue) >= self.k:
            self.heir = (message.queue[0], Grant())


class ForgetfulTail(Makki):
    """Keeps units that are returned after it has sent the token."""

    def on_return_message(self, peer: int, message: Return) -> None:
        self.sent.clear()
        super().on_return_message(peer, message)


MUTANTS: tuple[type[Agent], ...] = (EagerNode, NearHeir, ForgetfulTail)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.__name__)
def test_mutants_are_caught(mutant):
    assert is_caught(mutant, NAME), mutant.__doc__
