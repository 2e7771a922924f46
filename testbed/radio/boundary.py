"""Bisection for the boundary of a condition: it finds every range and every sensitivity."""

from __future__ import annotations

from collections.abc import Callable


def boundary(holds: Callable[[float], bool], *, inside: float, outside: float) -> float:
    """The last value that fulfils the condition between `inside`, which does, and `outside`, which does not.

    Exact to the last bit if there is one change between the two; one of the changes if there are several.
    """
    while (middle := (inside + outside) / 2) not in (inside, outside):
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside
