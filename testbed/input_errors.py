"""From what the checker of types and values found to one line a user can act on."""

from __future__ import annotations

import difflib
import reprlib
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from testbed.errors import ScenarioError
from testbed.scenario.yaml_reader import Document, KeyPath, parse


def unknown_key(known: list[str], *path: str) -> PydanticCustomError:
    """A key that nobody knows, with the one that may have been meant; its path from where the error is raised."""
    return _custom("unknown key", f"one of {', '.join(known)}", path, _nearest(path[-1], known))


def not_one_of(known: list[str], value: Any, key: str = "") -> PydanticCustomError:
    """A name that is not registered."""
    found = "nothing" if value is None else shown(value)
    return _custom(found, f"one of {', '.join(known)}", split_key(key) if key else (), _nearest(value, known))


def found_instead(found: str, allowed: str, key: str = "") -> PydanticCustomError:
    """A value that does not fit, with the key it is under relative to where the error is raised."""
    return _custom(found, allowed, split_key(key) if key else ())


def _custom(found: str, allowed: str, path: KeyPath, nearest: str | None = None) -> PydanticCustomError:
    context = {"found_text": found, "allowed": allowed, "path": path, "nearest": nearest}
    return PydanticCustomError("allowed", "{allowed}", context)


def _nearest(word: Any, known: list[str]) -> str | None:
    matches = difflib.get_close_matches(word.lower(), known, 1) if isinstance(word, str) else []
    return matches[0] if matches else None


_KINDS_OF_VALUE = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "model_attributes_type": "a mapping of keys",
}


def allowed_by(error: ErrorDetails) -> str:
    """What a checker's error says is allowed, in our words."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "allowed":
        return str(context["allowed"])
    if kind in _KINDS_OF_VALUE:
        return _KINDS_OF_VALUE[kind]
    bounds = {"greater_than": ("gt", "more than"), "greater_than_equal": ("ge", "at least"),
              "less_than": ("lt", "less than"), "less_than_equal": ("le", "at most")}  # fmt: skip
    if kind in bounds:
        name, words = bounds[kind]
        return f"{words} {context[name]:g}"
    if kind in ("literal_error", "union_tag_invalid"):
        return f"one of {context.get('expected') or context.get('expected_tags')}"
    message = error["msg"].removeprefix("Input should ").removeprefix("Value should ")
    return message[0].lower() + message[1:]


def explain(error: ValidationError, document: Document, origins: dict[KeyPath, str]) -> ScenarioError:
    """The first thing that is wrong, as one line."""
    first = error.errors()[0]
    context = first.get("ctx", {})
    path: KeyPath = (*_stripped(first["loc"]), *context.get("path", ()))
    nearest = context.get("nearest")
    if first["type"] in ("missing", "union_tag_not_found"):
        path = path if first["type"] == "missing" else (*path, "kind")
        found, allowed = "nothing", "a value: this key is required"
    elif first["type"] == "union_tag_invalid":
        path, found, allowed = (*path, "kind"), shown(context["tag"]), allowed_by(first)
        nearest = _nearest(context["tag"], context["expected_tags"].replace("'", "").split(", "))
    else:
        found = context.get("found_text") or shown(first["input"])
        allowed = allowed_by(first)
    key = ".".join(map(str, path))
    for start, override in origins.items():
        if path and (path[: len(start)] == start or start[: len(path)] == path or _is_made_by(start, path, document)):
            return ScenarioError(f"--set {override}", None, key, found, allowed, nearest)
    return ScenarioError(document.file, _line(document, path), key, found, allowed, nearest)


def _is_made_by(start: KeyPath, path: KeyPath, document: Document) -> bool:
    """Whether what is wrong is in a mapping that the file does not have, and an override of `start` has made."""
    mapping = path[:-1]
    return bool(mapping) and start[: len(mapping)] == mapping and mapping not in document.lines


def _stripped(path: KeyPath) -> KeyPath:
    """The checker puts the kind of a topology, a model and such into the path; the file has no such level."""
    kept: list[str | int] = []
    is_kind = False
    for part in path:
        if not is_kind:
            kept.append(part)
        is_kind = not is_kind and (len(kept) == 1 or kept[0] == "radio") and part in _KINDS
    return tuple(kept)


def split_key(key: str) -> KeyPath:
    """`faults.0.at` as a path; what looks like an index is one."""
    return tuple(int(part) if part.isascii() and part.isdigit() else part for part in key.split("."))


def _line(document: Document, path: KeyPath) -> int | None:
    while path and path not in document.lines:
        path = path[:-1]
    return document.lines.get(path)


_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = _SHOWN.maxlong = 60


def shown(value: Any) -> str:
    """A value for an error line, cut short if it is long, and without first writing all of it out."""
    return _SHOWN.repr(value)


_KINDS = ("topology", "placement", "mobility", "propagation", "mean", "links")
"""Keys of a mapping that has a kind."""
_SHORT = {"algorithm": "name", **dict.fromkeys(_KINDS, "kind")}
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
        error.line = None  # there is only one
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
