"""State in a class is state of all nodes: a run in which it changes breaks the contract."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

import pytest

from agents.contract import Agent, Demand
from agents.rl import ReverseLink
from testbed.runtime.breach import AgentError
from tests.agents.rl_variants import registered
from tests.testbed.simulate import ALL_OK, simulate


class CommonList(ReverseLink):
    """A list of its class, which is one list for all nodes."""

    asked: ClassVar[list[int]] = []

    def on_request(self, demand: Demand) -> None:
        self.asked.append(self.node)
        super().on_request(demand)


class CommonDict(ReverseLink):
    """The same with a dict, and in a class that is derived from."""

    known: ClassVar[dict[int, int]] = {}

    def on_request(self, demand: Demand) -> None:
        self.known[self.node] = 1
        super().on_request(demand)


class Derived(CommonDict):
    """Has nothing of its own."""


class CommonQueue(ReverseLink):
    """A deque, inside something that cannot change itself."""

    queues: ClassVar[tuple[deque[int], ...]] = (deque(),)

    def on_request(self, demand: Demand) -> None:
        self.queues[0].append(self.node)
        super().on_request(demand)


class CommonNumber(ReverseLink):
    """A number of its class, which it replaces there."""

    requests = 0

    def on_request(self, demand: Demand) -> None:
        type(self).requests += 1
        super().on_request(demand)


class NewName(ReverseLink):
    """What its class did not have before."""

    def on_request(self, demand: Demand) -> None:
        type(self).last = self.node  # type: ignore[attr-defined]
        super().on_request(demand)


class Constants(ReverseLink):
    """Tables in the class, and state of its own that begins with a value of the class."""

    table: ClassVar[list[int]] = [1, 2, 3]
    limits: ClassVar[dict[str, Any]] = {"high": 7}
    requests = 0

    def on_request(self, demand: Demand) -> None:
        self.requests += self.table[0]
        super().on_request(demand)


@pytest.mark.parametrize(
    ("agent", "where"),
    [
        (CommonList, "CommonList.asked"),
        (Derived, "CommonDict.known"),
        (CommonQueue, "CommonQueue.queues"),
        (CommonNumber, "CommonNumber.requests"),
        (NewName, "NewName.last"),
    ],
)
def test_state_in_a_class(agent: type[Agent], where: str) -> None:
    """It would be another one on every station."""
    said = rf"^{where} has changed during the run: nodes share no memory, so state is in `self`$"
    with registered(agent), pytest.raises(AgentError, match=said):
        simulate()


def test_what_does_not_change_may_be_in_a_class() -> None:
    """Constants are what classes are for."""
    with registered(Constants):
        assert simulate().verdicts == ALL_OK
