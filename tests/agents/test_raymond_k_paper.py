"""Raymond's algorithm for k entries, claim by claim."""

import pytest

from agents.contract import ONE_UNIT
from agents.outputs import Enter, Output, Send
from agents.raymond_k import RaymondK, RaymondKParameters, Reply, Request
from testbed.errors import ScenarioError
from testbed.scenario.loader import loads
from tests.agents.random_runs import is_caught
from tests.agents.rl_variants import registered
from tests.testbed.simulate import all_ok, simulate

NAME = "raymond-k"
PEERS = (1, 2, 7, 9)


def node(k: int = 2, deferred: str = "index") -> RaymondK:
    """Node 5 of five nodes."""
    return RaymondK(5, PEERS, RaymondKParameters(k, deferred))  # type: ignore[arg-type]


def inside(k: int = 2, deferred: str = "index") -> RaymondK:
    """Node 5 in its critical section, which it asked for with clock 1; the last k - 1 nodes have not replied yet."""
    agent = node(k, deferred)
    asks(agent)
    for peer in PEERS[: 5 - k]:
        agent.on_receive(peer, Reply(1))
    assert agent.take_outputs() == [Enter()]
    return agent


def asks(agent: RaymondK) -> list[Output]:
    agent.on_request(ONE_UNIT)
    return agent.take_outputs()


def received(agent: RaymondK, peer: int, message: Request | Reply) -> list[Output]:
    agent.on_receive(peer, message)
    return agent.take_outputs()


def leaves(agent: RaymondK) -> list[Output]:
    agent.on_release()
    return agent.take_outputs()


def test_it_enters_with_n_minus_k_replies():
    agent = node(k=2)
    assert asks(agent) == [Send(peer, Request(1)) for peer in PEERS]
    assert received(agent, 9, Reply(1)) == []
    assert received(agent, 1, Reply(1)) == []
    assert agent.awaits() == {2, 7}
    assert agent.spares == 1
    assert received(agent, 7, Reply(1)) == [Enter()]
    assert agent.awaits() == frozenset(), "it waits no more, though a reply is outstanding"


def test_with_as_many_units_as_nodes_it_enters_at_once():
    assert asks(node(k=5))[-1] == Enter()


@pytest.mark.parametrize(("peer", "clock", "replies"), [(1, 1, True), (9, 1, False), (9, 0, True), (1, 2, False)])
def test_the_lower_request_goes_first(peer: int, clock: int, replies: bool):
    """By its clock, and of equal ones by the node's number."""
    agent = node()
    asks(agent)
    assert received(agent, peer, Request(clock)) == ([Send(peer, Reply(1))] if replies else [])


def test_a_node_inside_defers_lower_requests_too():
    """Unlike in Ricart and Agrawala's algorithm, these can come: their senders are not among those that replied."""
    agent = inside()
    assert received(agent, 9, Request(0)) == []
    assert leaves(agent) == [Send(9, Reply(1))]


def test_a_request_is_above_all_that_its_node_has_seen():
    agent = node()
    assert received(agent, 1, Request(7)) == [Send(1, Reply(1))]
    assert asks(agent)[0] == Send(1, Request(8))


def test_late_replies_still_count():
    """A second request awaits two replies of a node that owes one for the first."""
    agent = inside()
    leaves(agent)
    asks(agent)
    for peer in (1, 2):
        assert received(agent, peer, Reply(1)) == []
    assert received(agent, 9, Reply(1)) == [], "this one is for the first request"
    assert agent.awaits() == {7, 9}
    assert received(agent, 9, Reply(1)) == [Enter()]


def test_a_second_request_after_a_late_reply_awaits_one_reply_of_each():
    agent = inside()
    assert received(agent, 9, Reply(1)) == []
    leaves(agent)
    asks(agent)
    for peer in (9, 1):
        assert received(agent, peer, Reply(1)) == []
    assert received(agent, 2, Reply(1)) == [Enter()]


def test_several_requests_of_a_node_are_answered_by_one_reply():
    """A node that can spare this one's reply asks, enters, leaves and asks again while it is inside."""
    agent = inside()
    for clock in (2, 4):
        assert received(agent, 9, Request(clock)) == []
    assert leaves(agent) == [Send(9, Reply(2))]
    other = inside()
    leaves(other)
    asks(other)
    for peer in (1, 2):
        received(other, peer, Reply(1))
    assert received(other, 9, Reply(2)) == [Enter()], "and it counts for both"


def test_replies_that_count_for_several_requests_occur():
    run = simulate(algorithm=NAME, topology="complete", workload={"rate": 1.0, "cs_time": {"exponential": 2.0}})
    metrics = run.audit.metrics()
    assert run.verdicts == all_ok(NAME)
    assert metrics["messages"]["Reply"] < metrics["messages"]["Request"]


@pytest.mark.parametrize(("deferred", "order"), [("index", [1, 2, 7, 9]), ("oldest", [7, 1, 9, 2])])
def test_the_order_of_deferred_replies(deferred: str, order: list[int]):
    """By node number, or the oldest request first: the lower clock, and of equal ones the lower node."""
    agent = inside(deferred=deferred)
    for peer, clock in ((9, 3), (2, 4), (7, 2), (1, 3), (7, 5)):
        received(agent, peer, Request(clock))
    assert [output.peer for output in leaves(agent) if isinstance(output, Send)] == order


@pytest.mark.parametrize("rate", [0.01, 0.3, 10.0])
def test_2n_minus_k_minus_1_to_2n_minus_2_messages(rate: float):
    """Per entry, where every node is a neighbour of every other, with all replies in."""
    n, k = 9, 4
    choice = {"name": NAME, "k": k}
    run = simulate(algorithm=choice, topology="complete", nodes=n, workload={"rate": rate})
    assert run.verdicts == all_ok(NAME)
    assert 2 * n - k - 1 <= run.audit.metrics()["messages_per_cs"] <= 2 * (n - 1)


def test_with_one_unit_it_is_ricart_and_agrawalas_algorithm():
    """The same messages, entry for entry."""
    runs = [
        simulate(algorithm=choice, topology="complete", nodes=7, workload={"rate": 0.2}, delays={"hop": 0.3})
        for choice in ({"name": NAME, "k": 1}, "ricart-agrawala")
    ]
    one, other = (run.audit.metrics() for run in runs)
    assert one["messages"] == other["messages"]
    assert one["messages_per_cs"] == 2 * (7 - 1)
    one_order, other_order = ([(e["t"], e["node"]) for e in run.diary.of("enter")] for run in runs)
    assert one_order == other_order


def test_at_most_k_inside_and_sometimes_k():
    run = simulate(algorithm={"name": NAME, "k": 4}, workload={"rate": 1.0})
    assert run.verdicts == all_ok(NAME)
    inside = most = 0
    for event in run.diary.of("enter", "exit"):
        inside += 1 if event["kind"] == "enter" else -1
        most = max(most, inside)
    assert most == 4


@pytest.mark.parametrize(
    ("parameters", "error"),
    [("k: 6", "k at most the number of nodes, 5"), ("k: 0", "k at least 1"), ("deferred: last", "index.*oldest")],
)
def test_parameters_that_cannot_work_are_refused(parameters: str, error: str):
    text = f"""
name: x
algorithm: {{name: {NAME}, {parameters}}}
nodes: 5
topology: complete
workload: {{rate: 1}}
duration: 100
"""
    with pytest.raises(ScenarioError, match=error) as raised:
        loads(text)
    assert "\n" not in str(raised.value)


# -- crashes -----------------------------------------------------------------------------------------------------------


def crashes(count: int):
    """A run with k = 3 in which the first nodes crash before any node asks, so none of them is inside."""
    faults = [{"at": 0.001, "kind": "crash", "node": number} for number in range(count)]
    return simulate(algorithm={"name": NAME, "k": 3}, topology="complete", faults=faults, drain=300.0)


def test_a_node_spares_the_replies_of_two():
    """With k = 3, two nodes may crash: all others are served, and no request needs an excuse."""
    run = crashes(2)
    assert run.verdicts == all_ok(NAME)
    assert run.details["starvation"] == "every request served"
    assert run.audit.metrics()["entries"] > 20


def test_the_crash_of_three_excuses_all():
    """Then no node ever enters, which shows nothing of progress."""
    run = crashes(3)
    assert run.verdicts == {**all_ok(NAME), "progress": "inconclusive"}
    assert "waits for a node that crashed" in run.details["starvation"]
    assert run.audit.metrics()["entries"] == 0


def test_the_crash_of_two_excuses_none():
    """A request that waits for other nodes as well has no excuse."""
    with registered(Forgetful, NAME):
        run = crashes(2)
    assert run.verdicts["starvation"] == "failed"


# -- mutants -----------------------------------------------------------------------------------------------------------


class Impatient(RaymondK):
    """Enters with one reply less than it needs."""

    def enter_if_permitted(self) -> None:
        self.spares += 1
        super().enter_if_permitted()
        self.spares -= 1


class NeverDeferring(RaymondK):
    """Replies to every request at once."""

    def on_request_message(self, j: int, message: Request) -> None:
        self.clock = max(self.clock, message.clock)
        self.send(j, Reply(1))


class Forgetful(RaymondK):
    """Leaves its critical section without the replies that it owes."""

    def on_release(self) -> None:
        self.deferred = {}
        super().on_release()


MUTANTS = (Impatient, NeverDeferring, Forgetful)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.__name__)
def test_mutants_are_caught(mutant: type[RaymondK]):
    assert is_caught(mutant, NAME), mutant.__doc__
