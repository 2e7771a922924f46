"""Ricart and Agrawala's algorithm, claim by claim, and what permissions are to the checks."""

import pytest

from agents.contract import ONE_UNIT, Agent, Demand
from agents.outputs import Enter, Send
from agents.ricart_agrawala import Reply, Request, RicartAgrawala
from testbed.errors import ScenarioError
from testbed.scenario.loader import loads
from tests.agents.rl_variants import registered
from tests.testbed.simulate import all_ok, simulate

NAME = "ricart-agrawala"
OK = all_ok(NAME)


def waiting(node: int = 5) -> RicartAgrawala:
    """A node of three that has asked with sequence number 1."""
    agent = RicartAgrawala(node, (1, 9))
    agent.on_request(ONE_UNIT)
    agent.take_outputs()
    return agent


def test_it_enters_with_the_permission_of_all():
    agent = RicartAgrawala(5, (1, 9))
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Send(1, Request(1)), Send(9, Request(1))]
    agent.on_receive(1, Reply())
    assert agent.take_outputs() == []
    assert agent.awaits() == {9}
    agent.on_receive(9, Reply())
    assert agent.take_outputs() == [Enter()]


@pytest.mark.parametrize(
    ("peer", "sequence_number", "replies"), [(1, 1, True), (9, 1, False), (9, 0, True), (1, 2, False)]
)
def test_the_lower_request_goes_first(peer: int, sequence_number: int, replies: bool):
    """By its sequence number, and of equal ones by the node's."""
    agent = waiting()
    agent.on_receive(peer, Request(sequence_number))
    assert agent.take_outputs() == ([Send(peer, Reply())] if replies else [])


def test_deferred_replies_are_sent_at_the_release():
    agent = waiting()
    agent.on_receive(9, Request(7))
    for peer in (1, 9):
        agent.on_receive(peer, Reply())
    agent.take_outputs()
    agent.on_release()
    assert agent.take_outputs() == [Send(9, Reply())]
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs()[0] == Send(1, Request(8)), "above all that it has seen"


def test_a_node_alone_enters_at_once():
    agent = RicartAgrawala(0, ())
    agent.on_request(ONE_UNIT)
    assert Enter() in agent.take_outputs()


def test_two_times_n_minus_one_messages():
    """The paper's count, exactly, where every node is a neighbour of every other."""
    run = simulate(algorithm=NAME, topology="complete", nodes=7, workload={"rate": 0.2})
    assert run.verdicts == OK
    assert run.audit.metrics()["messages_per_cs"] == 2 * (7 - 1)


def test_over_radio_links():
    """The router's guarantee is enough: lost and doubled datagrams, changing links."""
    run = simulate(
        algorithm=NAME,
        links={"kind": "radio", "loss": 0.1, "duplicate": 0.05},
        delays={"hop": {"uniform": [0.01, 0.1]}},
        topology={"kind": "random", "connectivity": 0.4, "link_change_rate": 0.02},
        warmup=10.0,
        duration=80.0,
    )
    assert run.verdicts == OK
    assert run.audit.metrics()["entries"] > 20


# -- what permissions are to the checks --------------------------------------------------------------------------------


class Deadlocked(RicartAgrawala):
    """Defers every reply while it waits: two nodes that ask at the same time wait for each other."""

    def on_request_message(self, j: int, message: Request) -> None:
        super().on_request_message(j, Request(10**6) if self.awaited else message)


class Impatient(RicartAgrawala):
    """Enters with one reply missing."""

    def enter_if_permitted(self) -> None:
        if len(self.awaited) == 1:
            self.awaited.clear()
        super().enter_if_permitted()


def test_a_deadlock_is_starvation():
    with registered(Deadlocked, NAME):
        run = simulate(algorithm=NAME, workload={"rate": 1.0}, duration=100.0, drain=200.0)
    assert run.verdicts["starvation"] == "failed"
    assert "for the permission of [" in run.audit.verdicts()["starvation"]["offenders"][0]


def test_two_inside_are_unsafe():
    with registered(Impatient, NAME):
        assert simulate(algorithm=NAME, workload={"rate": 1.0}).verdicts["safety"] == "failed"


def test_a_crashed_node_excuses_those_that_wait_for_its_permission():
    run = simulate(algorithm=NAME, faults=[{"at": 100.0, "kind": "crash", "node": 3}], drain=500.0)
    assert run.verdicts == OK
    assert "waits for a node that crashed" in run.details["starvation"]


def test_a_crash_excuses_no_one_else():
    """A node that does not wait for the crashed one has no excuse."""

    class Forgetful(RicartAgrawala):
        """Node 0 never replies, and the others do not wait for node 3."""

        def on_request(self, demand: Demand) -> None:
            self.peers = tuple(peer for peer in self.peers if peer != 3)
            super().on_request(demand)

        def on_request_message(self, j: int, message: Request) -> None:
            if self.node != 0:
                super().on_request_message(j, message)

    with registered(Forgetful, NAME):
        run = simulate(algorithm=NAME, faults=[{"at": 10.0, "kind": "crash", "node": 3}], drain=300.0)
    assert run.verdicts["starvation"] == "failed"


def test_a_partition_excuses_while_it_lasts():
    cut = {"at": 100.0, "kind": "cut", "group": [0, 1, 2]}
    run = simulate(algorithm=NAME, faults=[cut], drain=300.0)
    assert run.verdicts == OK
    assert "network partitioned" in run.details["starvation"]
    assert run.audit.metrics()["messages_cut_off"] == 0
    healed = simulate(algorithm=NAME, faults=[cut, {"at": 150.0, "kind": "heal"}])
    assert healed.details["starvation"] == "every request served"


def test_a_fault_at_the_holder_is_refused():
    text = f"""
name: x
algorithm: {NAME}
nodes: 5
topology: complete
workload: {{rate: 1}}
duration: 100
faults: [{{at: 10, kind: crash, holder: true}}]
"""
    with pytest.raises(ScenarioError, match="holder: found holder; allowed: a node by its number"):
        loads(text)


def test_it_is_written_in_55_lines():
    """What a newcomer reads: lines of code, without docstrings, comments and blank lines."""
    import ast
    import inspect

    import agents.ricart_agrawala as module

    source = inspect.getsource(module)
    skipped = set()
    for part in ast.walk(ast.parse(source)):
        if isinstance(part, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(part) is not None:
            skipped.update(range(part.body[0].lineno, part.body[0].end_lineno + 1))
    lines = [line for number, line in enumerate(source.splitlines(), 1) if number not in skipped and line.strip()]
    assert len(lines) <= 55
    assert not {"initial", "blank", "start", "units"} & vars(RicartAgrawala).keys()
    assert issubclass(RicartAgrawala, Agent)
