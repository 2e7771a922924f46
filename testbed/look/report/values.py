"""Values from files that anyone may have written, as a page can show them: short texts, finite numbers.

Scenarios, logs and messages may hold any text: HTML, letters that turn the direction of reading, ten megabytes. A page
shows all of it as text, and only the beginning of what is long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.errors import one_line

MOST = 600
"""Letters of one text, such as an offence."""
MOST_NAME = 60
"""Letters of a name: of an algorithm, a message type, a column."""


def line(value: Any, most: int = MOST) -> str:
    """Any value on one line. Letters that cannot be seen are written as escapes, and what is too long is cut."""
    text = value if isinstance(value, str) else str(value)
    if len(text) <= most:
        return one_line(text)
    return f"{one_line(text[:most])}… ({len(text):,} characters)"


def name(value: Any) -> str:
    """The same for a name."""
    return line(value, MOST_NAME)


def lines(text: str, most: int) -> str:
    """The same for a text of several lines."""
    kept = "\n".join(one_line(one) for one in text[:most].split("\n"))
    return kept if len(text) <= most else f"{kept}…\n({len(text):,} characters; this is the beginning)"


def finite(value: Any) -> float | None:
    """A number; None for anything else, also for infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def compact(value: Any) -> float | None:
    """A number for a chart: six digits, since no pixel shows more."""
    number = finite(value)
    return None if number is None else float(f"{number:.6g}")


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> Sequence[Any]:
    """A list; an empty one for anything else."""
    return value if isinstance(value, list | tuple) else ()
