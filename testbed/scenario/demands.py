"""The demands that a scenario asks for: units, priorities, and requests by script."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator
from pydantic_core import PydanticCustomError

from testbed.durations import MAX_UNITS, to_ticks
from testbed.runtime.application import ScriptedRequest
from testbed.runtime.demands import PriorityChoice, UnitsChoice
from testbed.scenario.topology import Node
from testbed.section import Section

MAX_PRIORITY = 10**9
UNITS_ALLOWED = (
    "a whole number from 1, {uniform: [low, high]} or {weights: {1: 3, 2: 1}} with weights of which some are positive"
)
PRIORITY_ALLOWED = (
    f"a whole number up to {MAX_PRIORITY:g}, a list with one for every node, {{uniform: [low, high]}}, deadline or "
    "fewest-first"
)


def _refused(allowed: str) -> PydanticCustomError:
    return PydanticCustomError("allowed", "{allowed}", {"allowed": allowed})


def _is_whole(value: Any, least: int = -MAX_PRIORITY) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_PRIORITY


def _is_range(value: Any, least: int = -MAX_PRIORITY) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2 and all(_is_whole(one, least) for one in value)
    return is_pair and value[0] <= value[1]


def _parse_units(value: Any) -> UnitsChoice:
    if isinstance(value, UnitsChoice):
        return value
    if _is_whole(value, 1):
        return UnitsChoice((value,), (1.0,))
    if isinstance(value, dict) and len(value) == 1:
        ((kind, argument),) = value.items()
        if kind == "uniform" and _is_range(argument, 1) and argument[1] <= 10_000:
            values = tuple(range(argument[0], argument[1] + 1))
            return UnitsChoice(values, (1.0,) * len(values))
        if kind == "weights" and isinstance(argument, dict):
            units, weights = [_as_whole(key) for key in argument], list(argument.values())
            are_units = len(set(units)) == len(units) and all(_is_whole(one, 1) for one in units)
            if are_units and all(map(_is_weight, weights)) and sum(weights) > 0:
                return _weighted(units, weights)
    raise _refused(UNITS_ALLOWED)


def _as_whole(key: Any) -> Any:
    """A key of a mapping as a number, if it is one: keys are read from a file as text."""
    return int(key) if isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) < 12 else key


def _is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_UNITS


def _weighted(units: list[int], weights: list[float]) -> UnitsChoice:
    """In ascending order, without what is never drawn: what means the same is the same, and draws the same."""
    drawn = sorted((number, float(weight)) for number, weight in zip(units, weights, strict=True) if weight)
    if len(drawn) == 1:
        return UnitsChoice((drawn[0][0],), (1.0,))
    return UnitsChoice(tuple(number for number, _ in drawn), tuple(weight for _, weight in drawn))


def _dump_units(choice: UnitsChoice) -> Any:
    if len(choice.values) == 1:
        return choice.values[0]
    low, high = choice.values[0], choice.values[-1]
    if set(choice.weights) == {1.0} and choice.values == tuple(range(low, high + 1)):
        return {"uniform": [low, high]}
    return {"weights": dict(zip(choice.values, choice.weights, strict=True))}


def _parse_priority(value: Any) -> PriorityChoice:
    if isinstance(value, PriorityChoice):
        return value
    if _is_whole(value):
        return PriorityChoice("fixed", (value,))
    if isinstance(value, list) and value and all(map(_is_whole, value)):
        return PriorityChoice("per node", tuple(value))
    if value == "deadline":
        return PriorityChoice("deadline")
    if value == "fewest-first":
        return PriorityChoice("fewest-first")
    if isinstance(value, dict) and list(value) == ["uniform"] and _is_range(value["uniform"]):
        return PriorityChoice("uniform", tuple(value["uniform"]))
    raise _refused(PRIORITY_ALLOWED)


def _dump_priority(choice: PriorityChoice) -> Any:
    if choice.kind == "fixed":
        return choice.values[0]
    if choice.kind == "per node":
        return list(choice.values)
    return {"uniform": list(choice.values)} if choice.kind == "uniform" else choice.kind


UnitsOfDemand = Annotated[UnitsChoice, PlainValidator(_parse_units), PlainSerializer(_dump_units)]
PriorityOfDemand = Annotated[PriorityChoice, PlainValidator(_parse_priority), PlainSerializer(_dump_priority)]


class RequestSection(Section):
    """One request of a script. What it leaves out is drawn as for any other request."""

    node: Node
    at: Annotated[float, Field(ge=0, le=MAX_UNITS)]
    units: Annotated[int, Field(ge=1)] | None = None
    priority: Annotated[int, Field(ge=-MAX_PRIORITY, le=MAX_PRIORITY)] | None = None
    deadline: Annotated[float, Field(ge=0, le=MAX_UNITS)] | None = None
    """Time units after the request."""
    cs_time: Annotated[float, Field(ge=0, le=MAX_UNITS)] | None = None

    def request(self) -> ScriptedRequest:
        """The request in the form that an application takes."""
        deadline = None if self.deadline is None else to_ticks(self.deadline)
        cs_ticks = None if self.cs_time is None else to_ticks(self.cs_time)
        return ScriptedRequest(self.node, to_ticks(self.at), self.units, self.priority, deadline, cs_ticks)
