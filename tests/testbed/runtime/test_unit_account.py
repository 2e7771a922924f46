"""What a node says it holds is compared with its messages: step by step in a log of every event, else now and then."""

from __future__ import annotations

from typing import Any

import pytest

from agents.contract import Agent
from agents.rl import ReverseLink, Token
from testbed.experiments.measure import measure
from testbed.scenario.schema import Scenario
from tests.agents.rl_variants import registered
from tests.testbed.simulate import WITHOUT_GROUPS, all_ok, simulate


class Drops(ReverseLink):
    """Node 3 loses the token when it leaves its critical section for the second time."""

    exits = 0

    def on_release(self) -> None:
        super().on_release()
        self.exits += 1
        if (self.node, self.exits) == (3, 2):
            self.token_holder = False
            self.outbox = [output for output in self.outbox if not isinstance(output[2], Token)]


class Copies(ReverseLink):
    """Node 3 has another token when it has sent one."""

    def give_token_to_next(self) -> None:
        super().give_token_to_next()
        if self.node == 3:
            self.token_holder = True


class Boasts(ReverseLink):
    """Says while it waits that it holds a token, and never sends it."""

    @property
    def units(self) -> int:
        return int(self.token_holder or bool(self.queue and self.queue[0] == self.node))


class Hides(ReverseLink):
    """Does not say that it holds the token while it is inside."""

    @property
    def units(self) -> int:
        return int(self.token_holder and self.status.name != "CRITICAL")


def conservation(agent: type[Agent], **keys: Any) -> dict[str, Any]:
    """What the check says of a run without a log: agents are asked now and then."""
    data = {"name": "s", "algorithm": "rl", "nodes": 10, "topology": {"kind": "random", "connectivity": 0.4},
            "workload": {"rate": 0.1}, "duration": 300.0, "drain": 100.0, **keys}  # fmt: skip
    with registered(agent):
        verdict: dict[str, Any] = measure(Scenario.model_validate(data), 0)["checks"]["conservation"]
    return verdict


def step_by_step(agent: type[Agent]) -> tuple[str, list[dict[str, Any]]]:
    """The first offence of a run in which every message is looked at, and its exits by node 3."""
    with registered(agent):
        run = simulate(drain=100.0)
    assert run.verdicts["conservation"] == "failed"
    exits = [event for event in run.diary.of("exit") if event["node"] == 3]
    return run.audit.verdicts()["conservation"]["offenders"][0], exits


def test_a_token_that_is_dropped_is_told_with_its_step() -> None:
    """The time, the node and the event."""
    offence, exits = step_by_step(Drops)
    assert offence == f"t={exits[1]['t']:g}: node 3 loses 1 unit in on_release(): it now holds 0 units"


def test_a_token_that_is_made_is_told_with_its_step() -> None:
    """In the step in which the other was sent away."""
    offence, _ = step_by_step(Copies)
    assert ": node 3 makes 1 unit in on_" in offence
    assert offence.endswith(": it now holds 1 unit")


@pytest.mark.parametrize("agent", [Drops, Copies, Boasts, Hides])
@pytest.mark.parametrize("trace", ["metrics", "events"])
def test_both_ways_find_it(agent: type[Agent], trace: str) -> None:
    """Also a node that says too much or too little for a while, and is right at the end."""
    assert conservation(agent, trace=trace)["verdict"] == "failed"


class Again(ReverseLink):
    """Comes back from a crash with a token."""

    @classmethod
    def blank(cls, node: int, initial: Any, parameters: Any) -> Any:
        blank = super().blank(node, initial, parameters)
        return type(blank)(blank.height, blank.neighbours, holds_token=True)


@pytest.mark.parametrize("trace", ["metrics", "events"])
def test_a_node_that_restarts_holds_nothing(trace: str) -> None:
    """What it had is lost."""
    faults = [{"at": 50.0, "kind": "crash", "node": 5}, {"at": 60.0, "kind": "restart", "node": 5}]
    verdict = conservation(Again, faults=faults, trace=trace)
    assert verdict["verdict"] == "failed"
    assert verdict["offenders"][0].startswith("t=60: node 5 makes 1 unit in ")


def test_a_holder_that_crashes_and_comes_back() -> None:
    """It held the token, and holds nothing now, which is no loss in a step of its own."""
    faults = [{"at": 0.5, "kind": "crash", "node": 0}, {"at": 20.0, "kind": "restart", "node": 0}]
    run = simulate(faults=faults, drain=50.0)
    assert run.diary.of("crash")[0]["tokens"] == 1
    assert run.diary.of("miscount") == []
    assert run.verdicts["conservation"] == "ok"


@pytest.mark.parametrize("name", WITHOUT_GROUPS)
def test_registered_algorithms_count_as_their_messages_do(name: str) -> None:
    """After every step, with link changes or over the router; a unit in transit is with no node."""
    run = simulate(algorithm=name, topology={"kind": "random", "connectivity": 0.4, "link_change_rate": 0.1})
    assert run.diary.of("miscount") == []
    assert run.verdicts == all_ok(name)
