"""The algorithm of a scenario: a registered name or a file, and the parameters that its class declares."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from pydantic import PlainSerializer, PlainValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from agents.contract import Agent, Parameters
from agents.registry import ALGORITHMS, OWN
from testbed.input_errors import allowed_by, found_instead, not_one_of, shown
from testbed.scenario.algorithm_class import AlgorithmError, find_algorithm
from testbed.scenario.algorithm_file import AlgorithmFile, load_algorithm_file
from testbed.section import refuse_unknown


@dataclass(frozen=True)
class AlgorithmChoice:
    """An algorithm by its name, with its parameters."""

    name: str
    parameters: Parameters
    file: str | None = None
    """The file that it is in; None for a registered algorithm."""
    loaded: AlgorithmFile | None = dataclasses.field(default=None, repr=False)
    """The file as it was when the scenario was checked: what runs is what was checked, also if it changes meanwhile."""

    @property
    def agent(self) -> type[Agent]:
        """The class to make agents of."""
        return ALGORITHMS[self.name] if self.loaded is None else self.loaded.agent(self.name)


def parse_algorithm(value: Any) -> AlgorithmChoice:
    """The algorithm that a scenario asks for, checked."""
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, dict):
        raise PydanticCustomError("allowed", "{allowed}", {"allowed": "{name: ..., and its parameters}"})
    name: Any = value.get("name")
    keys, loaded = ["name"], None
    if "file" in value:
        keys.append("file")
        name, loaded = _name_beside_file(name), _load(value["file"])
    elif not isinstance(name, str) or name not in ALGORITHMS:
        raise not_one_of(list(ALGORITHMS), name, "name")
    try:
        agent = find_algorithm(name) if loaded is None else loaded.agent(name)
    except AlgorithmError as error:
        raise found_instead(str(error), "", keys[-1]) from None
    known = parameter_types(agent)
    given = {key: item for key, item in value.items() if key not in keys}
    refuse_unknown(value, [*keys, *known])
    for key, item in given.items():
        given[key] = _parse_parameter(known[key], key, item)
    try:
        parameters = agent.parameters(**given)
    except (ValueError, TypeError) as error:
        raise PydanticCustomError("allowed", "{allowed}", {"allowed": str(error)}) from None
    if why := _wrong_declaration(agent, parameters):
        raise found_instead(f"{name}, whose {why}", "", keys[-1])
    return AlgorithmChoice(name, parameters, None if loaded is None else str(loaded.path), loaded)


def _wrong_declaration(agent: type[Agent], parameters: Parameters) -> str | None:
    """What is wrong with what an algorithm declares of itself, if anything."""
    declared: dict[str, tuple[type, str]] = {
        "capacity": (int, "a whole number from 1"),
        "largest_demand": (int, "a whole number from 1"),
        "promises_bound": (bool, "true or false"),
        "uses_priorities": (bool, "true or false"),
        "starts_permuted": (bool, "true or false"),
    }
    for method, (kind, allowed) in declared.items():
        try:
            value = getattr(agent, method)(parameters)
        except Exception as error:  # noqa: BLE001  (whatever its code does)
            return f"{method} raises {type(error).__name__}: {error}"
        if type(value) is not kind or (isinstance(value, int) and kind is int and value < 1):
            return f"{method} is {shown(value)}, not {allowed}"
    return None


def _name_beside_file(name: Any) -> str:
    """Any name will do for an algorithm in a file, except those of other algorithms."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        allowed = "what results call the algorithm: letters, digits, dots, dashes and underscores"
        raise found_instead("nothing" if name is None else shown(name), allowed, "name")
    if name in OWN:
        allowed = "another name for the algorithm of a file, since results would mix up the two"
        raise found_instead(f"{name}, which is an algorithm of the testbed itself", allowed, "name")
    return name


def _load(file: Any) -> AlgorithmFile:
    if not isinstance(file, str) or not file:
        raise found_instead(shown(file), "the path of a Python file", "file")
    try:
        return load_algorithm_file(Path(file))
    except AlgorithmError as error:
        raise found_instead(str(error), "", "file") from None


def chosen_class(value: Any) -> type[Agent] | None:
    """The class that unchecked data choose; None if they choose none that can be used, which the check reports."""
    chosen = {"name": value} if isinstance(value, str) else value
    name = chosen.get("name") if isinstance(chosen, dict) else None
    if not isinstance(name, str):
        return None
    try:
        if "file" in chosen:
            return _load(chosen["file"]).agent(name)
        return find_algorithm(name) if name in ALGORITHMS else None
    except (AlgorithmError, PydanticCustomError):
        return None


def parameter_types(agent: type[Agent]) -> dict[str, Any]:
    """The types of an algorithm's parameters, in the order in which they are declared."""
    hints = get_type_hints(agent.parameters)
    return {field.name: hints[field.name] for field in dataclasses.fields(agent.parameters)}


def _parse_parameter(hint: Any, key: str, item: Any) -> Any:
    try:
        return TypeAdapter(hint).validate_python(item, strict=True)
    except ValidationError as error:
        raise found_instead(shown(item), allowed_by(error.errors()[0]), key) from None


def _dump(choice: AlgorithmChoice) -> dict[str, Any]:
    file = {} if choice.file is None else {"file": choice.file}
    return {"name": choice.name, **file, **dataclasses.asdict(choice.parameters)}


Algorithm = Annotated[AlgorithmChoice, PlainValidator(parse_algorithm), PlainSerializer(_dump)]
