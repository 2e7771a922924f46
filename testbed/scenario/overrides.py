"""`--set key=value`: changes to a scenario's data before it is checked."""

from __future__ import annotations

from typing import Any

from testbed.errors import ScenarioError
from testbed.input_errors import KeyPath, split_key
from testbed.scenario.yaml_reader import parse

KINDS = ("topology", "placement", "mobility", "propagation", "mean", "links")
"""Keys whose value is a mapping with a `kind`."""
_SHORT = {"algorithm": "name", **dict.fromkeys(KINDS, "kind")}
"""Keys whose value may be one word, short for a mapping with this key."""


def apply_override(data: dict[str, Any], override: str) -> KeyPath:
    """Carry out one `a.b=value` in place; returns the path it set."""
    where, equals, text = override.partition("=")
    source = f"--set {override}"
    if not equals or not all(where.split(".")):
        raise ScenarioError(source, None, "", "no key=value", "for example nodes=10 or workload.rate=0.1")
    path = split_key(where)
    try:
        value = parse(text, source).data
    except ScenarioError as error:
        error.line = None  # an override has only one line
        error.key = f"{where}.{error.key}" if error.key else ""
        raise
    target: Any = data
    for index, part in enumerate(path):
        if not _has_place(target, part):
            key = ".".join(map(str, path[: index + 1]))
            raise ScenarioError(source, None, key, "no such place", "a key, or the index of a list item")
        if index == len(path) - 1:
            target[part] = value
        elif isinstance(target, dict) and target.get(part) is None:
            target[part] = {}
        elif part in _SHORT and isinstance(target[part], str):
            target[part] = {_SHORT[part]: target[part]}
        target = target[part]
    return path


def _has_place(target: Any, part: str | int) -> bool:
    if isinstance(target, list):
        return isinstance(part, int) and part < len(target)
    return isinstance(target, dict) and isinstance(part, str)
