"""Where something that holds on one side ceases to hold: every range and every sensitivity is found this way."""

from __future__ import annotations

from collections.abc import Callable


def boundary(holds: Callable[[float], bool], *, inside: float, outside: float) -> float:
    """The last value that holds on the way from `inside`, which does, to `outside`, which does not.

    Exact to the last bit if there is one change between the two; one of the changes if there are more.
    """
    while (middle := (inside + outside) / 2) not in (inside, outside):
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside
