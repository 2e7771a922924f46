"""Every step of an agent a second time, by a clone: both must do the same.

So a clone is exact and shares nothing with its original, `state` holds everything that matters, and no step depends on
a clock, on random numbers from elsewhere or on the memory of another node. What the agent sends is also encoded and
decoded, as a station would do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from agents.codec import Codec
from agents.contract import Agent
from agents.errors import PeerError
from agents.outputs import BROADCAST, DEPOSIT, SEND
from testbed.runtime.breach import shown
from testbed.scenario.algorithm import AlgorithmChoice
from testbed.scenario.schema import Scenario

HANDLERS = (
    "on_request", "on_release", "on_receive", "on_link_up", "on_link_down", "on_return", "on_timer", "on_join",
    "on_leaving", "on_left",
)  # fmt: skip


class NotTheSame(Exception):
    """A step of a clone differs, or a message is not the same after a journey as bytes. The text says how."""


@dataclass(frozen=True)
class TwinChoice(AlgorithmChoice):
    """The same algorithm, with every step made twice."""

    @property
    def agent(self) -> type[Agent]:
        """A subclass of the algorithm's class."""
        return twin_class(super().agent)


def with_twins(scenario: Scenario) -> Scenario:
    """The scenario with every step of every agent made twice."""
    choice = scenario.algorithm
    twins = TwinChoice(choice.name, choice.parameters, choice.file, choice.loaded)
    return scenario.model_copy(update={"algorithm": twins})


_made: dict[type[Agent], type[Agent]] = {}


def twin_class(algorithm: type[Agent]) -> type[Agent]:
    """A subclass whose handlers check themselves."""
    if algorithm not in _made:
        codec = Codec(tuple(algorithm.messages))
        handlers = {name: getattr(algorithm, name) for name in HANDLERS if hasattr(algorithm, name)}
        checked = {name: _checked(handler, codec) for name, handler in handlers.items()}
        _made[algorithm] = type(algorithm.__name__, (algorithm,), checked)
    return _made[algorithm]


def _checked(handler: Callable[..., None], codec: Codec) -> Callable[..., None]:
    @wraps(handler)
    def step(agent: Agent, *given: Any) -> None:
        before, twin = agent.state(), agent.clone()
        hash(before)  # a state is hashable, or `TypeError` says what is not
        _compare(before, twin.state(), "a clone has another state than its original")
        handler(agent, *given)
        _compare(before, twin.state(), "a clone changes when its original takes a step, so they share memory")
        handler(twin, *given)
        why = "a clone does something else: the step depends on more than the agent's state and its input"
        _compare(agent.state(), twin.state(), why)
        _check_messages(agent, codec)

    return step


def _compare(one: tuple[Any, ...], other: tuple[Any, ...], why: str) -> None:
    if one == other:
        return
    values, others = dict(one), dict(other)
    name = next((key for key in values | others if values.get(key) != others.get(key)), "state()")
    raise NotTheSame(f"{why} ({name}: {shown(values.get(name))} and {shown(others.get(name))})")


def _check_messages(agent: Agent, codec: Codec) -> None:
    for op, _, message in agent.outbox:
        if op not in (SEND, BROADCAST, DEPOSIT):
            continue
        try:
            arrived = codec.decode(codec.encode(message))
        except (KeyError, ValueError, TypeError, AttributeError, PeerError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise NotTheSame(f"{shown(message)} cannot be sent as bytes: {reason}") from error
        if arrived != message:
            raise NotTheSame(f"{shown(message)} arrives as {shown(arrived)}")
