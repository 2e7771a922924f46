"""What is wrong with a value that a user wrote: what was found, what is allowed, and what was perhaps meant.

Models and schema raise these while pydantic checks a scenario. `testbed.scenario.loader` adds the file and the line.
"""

from __future__ import annotations

import difflib
import reprlib
from typing import Any

from pydantic_core import ErrorDetails, PydanticCustomError

KeyPath = tuple[str | int, ...]
"""A key of a scenario, as the keys and list indices that lead to it."""


def unknown_key(known: list[str], *path: str) -> PydanticCustomError:
    """A key that does not exist, with the nearest one that does; its path from where the error is raised."""
    return _custom("unknown key", f"one of {', '.join(known)}", path, nearest(path[-1], known))


def not_one_of(known: list[str], value: Any, key: str = "") -> PydanticCustomError:
    """A name that is not registered."""
    found = "nothing" if value is None else shown(value)
    return _custom(found, f"one of {', '.join(known)}", split_key(key) if key else (), nearest(value, known))


def found_instead(found: str, allowed: str, key: str = "") -> PydanticCustomError:
    """A value that does not fit, with the key it is under relative to where the error is raised."""
    return _custom(found, allowed, split_key(key) if key else ())


def _custom(found: str, allowed: str, path: KeyPath, nearest: str | None = None) -> PydanticCustomError:
    context = {"found_text": found, "allowed": allowed, "path": path, "nearest": nearest}
    return PydanticCustomError("allowed", "{allowed}", context)


def nearest(word: Any, known: list[str]) -> str | None:
    """The known word that is most like a word, if any is."""
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
    """What is allowed, according to an error of pydantic, in the words of our error lines."""
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


def split_key(key: str) -> KeyPath:
    """`faults.0.at` as a path; a number in it is an index."""
    return tuple(int(part) if part.isascii() and part.isdigit() else part for part in key.split("."))


_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = _SHOWN.maxlong = 60


def shown(value: Any) -> str:
    """A value for an error line, cut short if it is long; the whole text is never made."""
    return _SHOWN.repr(value)
