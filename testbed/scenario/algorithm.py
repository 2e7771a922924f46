"""The algorithm of a scenario: a registered name, and the parameters that its class declares."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from pydantic import PlainSerializer, PlainValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from agents.contract import Agent, Parameters
from agents.registry import ALGORITHMS
from testbed.input_errors import allowed_by, found_instead, not_one_of, shown
from testbed.section import refuse_unknown


@dataclass(frozen=True)
class AlgorithmChoice:
    """An algorithm by its registered name, with its parameters."""

    name: str
    parameters: Parameters

    @property
    def agent(self) -> type[Agent]:
        """The class to make agents of."""
        return ALGORITHMS[self.name]


def parse_algorithm(value: Any) -> AlgorithmChoice:
    """The algorithm that a scenario asks for, checked."""
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, dict):
        raise PydanticCustomError("allowed", "{allowed}", {"allowed": "{name: ..., and its parameters}"})
    name = value.get("name")
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise not_one_of(list(ALGORITHMS), name, "name")
    declared = ALGORITHMS[name].parameters
    known = {field.name: field.type for field in dataclasses.fields(declared)}
    given = {key: item for key, item in value.items() if key != "name"}
    refuse_unknown(value, ["name", *known])
    for key, item in given.items():
        given[key] = _parse_parameter(declared, key, item)
    try:
        return AlgorithmChoice(name, declared(**given))
    except (ValueError, TypeError) as error:
        raise PydanticCustomError("allowed", "{allowed}", {"allowed": str(error)}) from None


def _parse_parameter(declared: type[Parameters], key: str, item: Any) -> Any:
    hint = get_type_hints(declared)[key]
    try:
        return TypeAdapter(hint).validate_python(item, strict=True)
    except ValidationError as error:
        raise found_instead(shown(item), allowed_by(error.errors()[0]), key) from None


def _dump(choice: AlgorithmChoice) -> dict[str, Any]:
    return {"name": choice.name, **dataclasses.asdict(choice.parameters)}


Algorithm = Annotated[AlgorithmChoice, PlainValidator(parse_algorithm), PlainSerializer(_dump)]
