"""`--set key=value`: changes to a scenario's data before it is checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from agents.registry import ALGORITHMS
from testbed.errors import ScenarioError
from testbed.input_errors import KeyPath, split_key
from testbed.scenario.algorithm import chosen_class, parameter_types
from testbed.scenario.schema import Scenario
from testbed.scenario.yaml_reader import parse
from testbed.section import Section

KINDS = ("topology", "placement", "mobility", "propagation", "mean", "links")
"""Keys whose value is a mapping with a `kind`."""
_SHORT = {"algorithm": "name", **dict.fromkeys(KINDS, "kind")}
"""Keys whose value may be one word, short for a mapping with this key."""


@dataclass(frozen=True, eq=False)
class _Override:
    """One `a.b=value` of the command line."""

    text: str
    path: KeyPath
    value: Any

    @classmethod
    def parse(cls, text: str) -> _Override:
        """Read the key and the value, which is YAML."""
        where, equals, written = text.partition("=")
        source = f"--set {text}"
        if not equals or not all(where.split(".")):
            raise ScenarioError(source, None, "", "no key=value", "for example nodes=10 or workload.rate=0.1")
        try:
            return cls(text, split_key(where), parse(written, source).data)
        except ScenarioError as error:
            error.line = None  # an override has only one line
            error.key = f"{where}.{error.key}" if error.key else ""
            raise

    @property
    def chooses(self) -> bool:
        """Whether it sets the kind or the name of a mapping, and nothing else of it."""
        return len(self.path) > 1 and _SHORT.get(str(self.path[-2])) == self.path[-1]


@dataclass(frozen=True)
class Applied:
    """What overrides have done to a scenario's data."""

    origins: dict[KeyPath, str]
    """The overrides, by the paths that they set."""
    notes: list[str]
    """A line for every override that chose another kind and left out keys of the former one."""


def apply_overrides(data: dict[str, Any], overrides: Iterable[str]) -> Applied:
    """Carry out every `a.b=value` in place, those of a whole mapping before those of a key in it.

    An override of a kind or of an algorithm's name leaves out those keys of the former choice that the new one does not
    know: they were written for the former one. Keys that overrides set stay.
    """
    parsed = sorted(map(_Override.parse, overrides), key=lambda one: len(one.path))
    choosing = {one.path: one for one in parsed if one.chooses}
    former = {path: _mapping_at(data, path[:-1], str(path[-1])) for path in choosing}
    for one in parsed:
        _set(data, one)
    paths = [one.path for one in parsed if not one.chooses]
    notes = [_leave_out(data, one, former[path], paths) for path, one in choosing.items()]
    return Applied({one.path: one.text for one in parsed}, [note for note in notes if note])


def _set(data: dict[str, Any], override: _Override) -> None:
    target: Any = data
    path = override.path
    for index, part in enumerate(path):
        if not _has_place(target, part):
            key = ".".join(map(str, path[: index + 1]))
            raise ScenarioError(
                f"--set {override.text}", None, key, "no such place", "a key, or the index of a list item"
            )
        if index == len(path) - 1:
            target[part] = override.value
        elif isinstance(target, dict) and target.get(part) is None:
            target[part] = {}
        elif part in _SHORT and isinstance(target[part], str):
            target[part] = {_SHORT[part]: target[part]}
        target = target[part]


def _has_place(target: Any, part: str | int) -> bool:
    if isinstance(target, list):
        return isinstance(part, int) and part < len(target)
    return isinstance(target, dict) and isinstance(part, str)


# -- another choice ----------------------------------------------------------------------------------------------------


def _mapping_at(data: Any, path: KeyPath, chooser: str) -> dict[str, Any]:
    """A copy of the mapping that unchecked data have at a path; one with the choice alone may be written as a word."""
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return dict(data) if isinstance(data, dict) else {} if data is None else {chooser: data}


def _leave_out(
    data: dict[str, Any], override: _Override, former: dict[str, Any], paths: Sequence[KeyPath]
) -> str | None:
    """Take out the keys that only the former choice knows; returns a line on them if there are any."""
    where, chooser = override.path[:-1], str(override.path[-1])
    if not isinstance(override.value, str) or former.get(chooser) == override.value:
        return None
    mapping: Any = data
    for part in where:
        mapping = mapping[part]
    now = {key: value for key, value in mapping.items() if key != "file" or _is_set((*where, key), paths)}
    if override.value not in ALGORITHMS:  # the file of the former choice may have several algorithms
        now = mapping
    known, known_now = _known_keys(where, former), _known_keys(where, now)
    if known is None or known_now is None:
        return None  # a choice that does not exist is reported by the check
    left_out = [
        key
        for key in mapping
        if key != chooser and key in known and known[key] != known_now.get(key) and not _is_set((*where, key), paths)
    ]
    for key in left_out:
        del mapping[key]
    return f"--set {override.text}: left out {', '.join(left_out)} of {former[chooser]}" if left_out else None


def _is_set(place: KeyPath, paths: Iterable[KeyPath]) -> bool:
    """Whether an override sets a key, something in it, or the whole mapping that it is in."""
    return any(path[: len(place)] == place or place[: len(path)] == path for path in paths)


def _known_keys(where: KeyPath, mapping: dict[str, Any]) -> dict[str, Any] | None:
    """The keys that the choice of a mapping has, with their types; None if there is no such choice."""
    if where == ("algorithm",):
        agent = chosen_class(mapping)
        file = {"file": Path} if "file" in mapping else {}
        return None if agent is None else {**file, **parameter_types(agent)}
    sections: list[type[Section]] = [Scenario]
    for part in where:
        fields = [section.model_fields.get(str(part)) for section in sections]
        sections = [one for field in fields if field is not None for one in _sections_in(field.annotation)]
    for section in sections:
        kind = section.model_fields.get("kind")
        if kind is not None and mapping.get("kind") in get_args(kind.annotation):
            return {name: field.annotation for name, field in section.model_fields.items()}
    return None


def _sections_in(annotation: Any) -> list[type[Section]]:
    """The sections of a union, however it is annotated."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for part in get_args(annotation) for section in _sections_in(part)]
