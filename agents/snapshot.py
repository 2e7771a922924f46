"""Copies and canonical forms of an agent's attributes, so that `clone` and `state` work for any algorithm.

Attributes are numbers, strings, None, enum members, frozen dataclasses (messages among them), random generators, and
lists, deques, sets, dicts and tuples of these.
"""

from collections import deque
from dataclasses import fields, is_dataclass
from enum import Enum
from random import Random
from typing import Any

_ATOMS = (int, str, bool, float, bytes, type(None), Enum)


def copied(value: Any) -> Any:
    """An independent copy; what cannot change is shared."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, (list, set, deque)):
        return type(value)(copied(item) for item in value)
    if isinstance(value, Random):
        twin = Random()
        twin.setstate(value.getstate())
        return twin
    return value


def frozen(value: Any) -> Any:
    """A hashable form that is equal for equal values, whatever the order a set or a dict was filled in."""
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, dict):
        return tuple(sorted((key, frozen(item)) for key, item in value.items()))
    if isinstance(value, (set, frozenset)):
        return tuple(sorted(map(frozen, value)))
    if isinstance(value, (list, tuple, deque)):
        return tuple(map(frozen, value))
    if isinstance(value, Random):
        return value.getstate()
    if is_dataclass(value):
        return (type(value).__name__, *(frozen(getattr(value, field.name)) for field in fields(value)))
    raise TypeError(f"an agent may not keep a {type(value).__name__}: it has no canonical form")
