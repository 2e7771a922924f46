"""From what the checker of types and values found to one line a user can act on."""

from __future__ import annotations

import difflib
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from testbed.errors import ScenarioError
from testbed.yamlfile import Document, KeyPath, parse_value


def unknown_key(key: str, known: list[str]) -> PydanticCustomError:
    """A key that nobody knows, with the one that may have been meant."""
    return _custom("unknown key", f"one of {', '.join(known)}", key=key, nearest=_nearest(key, known))


def not_one_of(key: str, value: Any, known: list[str]) -> PydanticCustomError:
    """A name that is not registered."""
    found = "nothing" if value is None else repr(value)
    return _custom(found, f"one of {', '.join(known)}", key=key, nearest=_nearest(str(value), known))


def found_instead(found: str, allowed: str, key: str | None = None) -> PydanticCustomError:
    """A value that does not fit, with the key it is under relative to where the error is raised."""
    return _custom(found, allowed, key=key)


def _custom(found: str, allowed: str, **more: Any) -> PydanticCustomError:
    return PydanticCustomError("allowed", "{allowed}", {"found_text": found, "allowed": allowed, **more})


def _nearest(word: str, known: list[str]) -> str | None:
    matches = difflib.get_close_matches(word.lower(), known, 1)
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
    path = _key_path(first, context)
    if first["type"] in ("missing", "union_tag_not_found"):
        path = (*path, "kind") if first["type"] == "union_tag_not_found" else path
        found, allowed = "nothing", "a value: this key is required"
    else:
        found = context.get("found_text") or _shown(context.get("found", first["input"]))
        allowed = allowed_by(first)
    nearest = context.get("nearest")
    key = ".".join(map(str, path))
    for start, override in origins.items():
        if path[: len(start)] == start:
            return ScenarioError(f"--set {override}", None, key, found, allowed, nearest)
    return ScenarioError(document.file, _line(document, path), key, found, allowed, nearest)


def _key_path(error: ErrorDetails, context: dict[str, Any]) -> KeyPath:
    path: KeyPath = tuple(error["loc"])
    if path[:1] == ("topology",) and len(path) > 1:  # the checker puts the kind into the path
        path = (path[0], *path[2:])
    relative = context.get("key")
    parts = relative.split(".") if isinstance(relative, str) and error["loc"] != ("expect", "metrics") else [relative]
    more = tuple(int(part) if part.isdigit() else part for part in parts if part)
    return (*path, *more)


def _line(document: Document, path: KeyPath) -> int | None:
    while path and path not in document.lines:
        path = path[:-1]
    return document.lines.get(path)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def apply_override(data: dict[str, Any], override: str) -> KeyPath:
    """Carry out one `a.b=value` in place; returns the path it set."""
    where, equals, text = override.partition("=")
    source = f"--set {override}"
    if not equals or not all(where.split(".")):
        raise ScenarioError(source, None, "", "no key=value", "for example nodes=10 or workload.rate=0.1")
    path: KeyPath = tuple(int(part) if part.isdigit() else part for part in where.split("."))
    value = parse_value(text)
    target: Any = data
    for index, part in enumerate(path):
        last = index == len(path) - 1
        if isinstance(target, list) and isinstance(part, int) and part < len(target):
            if last:
                target[part] = value
            target = target[part]
        elif isinstance(target, dict) and isinstance(part, str):
            if last:
                target[part] = value
            elif not isinstance(target.get(part), (dict, list)):
                # `algorithm: rl` and `topology: complete` are short for a mapping with one key
                short = {"algorithm": "name", "topology": "kind"}.get(part)
                target[part] = {short: target[part]} if short and isinstance(target.get(part), str) else {}
            target = target[part]
        else:
            raise ScenarioError(
                source, None, ".".join(map(str, path[: index + 1])), "no such place", "a key or an index"
            )
    return path
