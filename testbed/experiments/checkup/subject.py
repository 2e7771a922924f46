"""The algorithm that is checked: in a file, or registered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agents.contract import Agent
from agents.registry import ALGORITHMS
from testbed.errors import InputError
from testbed.input_errors import KeyPath, nearest
from testbed.scenario import yaml_reader
from testbed.scenario.algorithm import Algorithm, parameter_types
from testbed.scenario.algorithm_class import find_algorithm
from testbed.scenario.algorithm_file import AlgorithmFile, load_algorithm_file
from testbed.scenario.loader import explain
from testbed.scenario.schema import Scenario
from testbed.scenario.yaml_reader import Document

LARGEST = 60
"""Nodes: an algorithm whose parameters need more is not checked."""


@dataclass(frozen=True)
class Subject:
    """An algorithm, and the parameters that the user has fixed."""

    name: str
    agent: type[Agent]
    fixed: dict[str, Any] = field(default_factory=dict)
    loaded: AlgorithmFile | None = None
    """The file that it is in, as it was at the beginning of the check-up."""

    def allows(self, nodes: int, **parameters: Any) -> bool:
        """Whether its parameters can work with so many nodes."""
        try:
            self.agent.parameters(**{**self.fixed, **parameters}).check(nodes)
        except (ValueError, TypeError):
            return False
        return True

    def sizes(self, least: int, most: int) -> list[int]:
        """The sizes of networks that it can run in: those in the range, or the next greater one."""
        sizes = [nodes for nodes in range(least, most + 1) if self.choices_of_k(nodes)]
        more = (nodes for nodes in range(most + 1, LARGEST + 1) if self.choices_of_k(nodes))
        found = sizes or [nodes for nodes in [next(more, None)] if nodes is not None]
        if not found:
            raise InputError(f"{self.name}: its parameters allow no network of {least} to {LARGEST} nodes")
        return found

    def choices_of_k(self, nodes: int) -> list[dict[str, int]]:
        """The values of k to try in a network of that size; if k is fixed or is no parameter, nothing to choose."""
        if "k" in self.fixed or parameter_types(self.agent).get("k") is not int:
            return [{}] if self.allows(nodes) else []
        return [{"k": k} for k in range(1, 5) if self.allows(nodes, k=k)]

    def scenario(self, parameters: dict[str, Any], **keys: Any) -> Scenario:
        """A scenario with it, checked like any other."""
        file = {} if self.loaded is None else {"file": str(self.loaded.path)}
        algorithm = {"name": self.name, **file, **self.fixed, **parameters}
        scenario = Scenario.model_validate({"algorithm": algorithm, **keys})
        if self.loaded is None:
            return scenario
        choice = replace(scenario.algorithm, loaded=self.loaded)  # also if the file has changed meanwhile
        return scenario.model_copy(update={"algorithm": choice})


def find_subject(what: str, name: str | None = None, settings: Sequence[str] = ()) -> Subject:
    """The algorithm that a user means by a file or a name, with parameters set as `key=value`."""
    loaded = load_algorithm_file(Path(what)) if what.endswith(".py") or "/" in what else None
    if loaded is not None:
        name = _name_in(loaded, name)
        agent = loaded.agent(name)
    else:
        if name is not None and name != what:
            raise InputError(f"--name {name}: found with {what}; allowed: with a file of several algorithms")
        name = what
        agent = _registered(what)
    fixed = _parse_settings(settings)
    _check_parameters(name, loaded, fixed, settings)
    return Subject(name, agent, fixed, loaded)


def _name_in(loaded: AlgorithmFile, name: str | None) -> str:
    if name is not None:
        return name
    if len(loaded.names) > 1:
        allowed = f"one of them, by --name: {', '.join(loaded.names)}"
        raise InputError(f"{loaded.path.name}: found {len(loaded.names)} algorithms; allowed: {allowed}")
    return loaded.names[0]


def _registered(name: str) -> type[Agent]:
    if name in ALGORITHMS:
        return find_algorithm(name)
    meant = nearest(name, list(ALGORITHMS))
    hint = f" (did you mean {meant}?)" if meant else ""
    raise InputError(f"check: found {name!r}; allowed: a file (.py), or one of {', '.join(ALGORITHMS)}{hint}")


def _parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    parsed = {}
    for text in settings:
        key, separator, written = text.partition("=")
        if not separator or not key:
            raise InputError(f"--set {text}: found no key=value; allowed: a parameter of the algorithm, such as k=3")
        parsed[key] = yaml_reader.parse(written, f"--set {text}").data
    return parsed


def _check_parameters(name: str, loaded: AlgorithmFile | None, fixed: dict[str, Any], settings: Sequence[str]) -> None:
    """Raise one line that says which of the parameters is wrong, if one is."""
    file = {} if loaded is None else {"file": str(loaded.path)}
    try:
        TypeAdapter(Algorithm).validate_python({"name": name, **file, **fixed})
    except ValidationError as error:
        origins: dict[KeyPath, str] = {(text.partition("=")[0],): text for text in settings}
        source = name if loaded is None else loaded.path.name
        raise explain(error, Document(source, {}), origins) from None
