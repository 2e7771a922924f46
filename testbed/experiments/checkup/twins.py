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
from analysis.contract import Contract
from testbed.experiments.measure import RepetitionJob, run_job
from testbed.runtime.breach import OutboxRules, shown
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


def run_with_twins(job: RepetitionJob, report: Callable[[float, str], None]) -> dict[str, Any]:
    """Run a repetition so, in a worker process; of its checks only that of the contract is the question here."""
    result = run_job(RepetitionJob(with_twins(job.scenario), job.repetition), report)
    return {**result, "checks": {Contract.name: result["checks"][Contract.name]}}


_made: dict[type[Agent], type[Agent]] = {}


def twin_class(algorithm: type[Agent]) -> type[Agent]:
    """A subclass whose handlers check themselves."""
    if algorithm not in _made:
        messages = _Messages(algorithm)
        handlers = {name: getattr(algorithm, name) for name in HANDLERS if hasattr(algorithm, name)}
        checked = {name: _checked(handler, messages) for name, handler in handlers.items()}
        origin = {
            "__module__": algorithm.__module__,
            "__qualname__": algorithm.__qualname__,
            "__doc__": algorithm.__doc__,
        }
        _made[algorithm] = type(algorithm.__name__, (algorithm,), {**origin, **checked})
    return _made[algorithm]


def _checked(handler: Callable[..., None], messages: _Messages) -> Callable[..., None]:
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
        messages.check(agent.outbox)

    return step


def _compare(one: tuple[Any, ...], other: tuple[Any, ...], why: str) -> None:
    if one == other:
        return
    values, others = dict(one), dict(other)
    name = next((key for key in values | others if values.get(key) != others.get(key)), "state()")
    raise NotTheSame(f"{why} ({name}: {shown(values.get(name))} and {shown(others.get(name))})")


class _Messages:
    """Encodes and decodes everything that an agent sends."""

    def __init__(self, algorithm: type[Agent]) -> None:
        self._rules = OutboxRules(algorithm, (), any_node=True)
        self._codec = Codec(tuple(algorithm.messages))

    def check(self, outbox: Any) -> None:
        """`NotTheSame` for a message that a station could not send. What is no output at all, the driver finds."""
        entries = outbox if isinstance(outbox, list) else []
        for entry in entries:
            if isinstance(entry, tuple) and len(entry) == 3 and entry[0] in (SEND, BROADCAST, DEPOSIT):
                self._check_one(entry[2])

    def _check_one(self, message: Any) -> None:
        why = self._rules.bad_message(message)
        if why:
            raise NotTheSame(f"{shown(message)}: {why}")
        try:
            arrived = self._codec.decode(self._codec.encode(message))
        except (ValueError, TypeError, PeerError) as error:
            raise NotTheSame(f"{shown(message)} cannot be sent as bytes: {error}") from error
        if arrived != message:
            raise NotTheSame(f"{shown(message)} arrives as {shown(arrived)}")
