"""Long lists of whole numbers as short text, and values that occur often as numbers into a table.

A column holds the differences of neighbouring numbers, each as a zigzag varint (as in Protocol Buffers), in base64.
Times in a log grow slowly and nodes repeat, so a number takes few characters, and a browser decodes a million of them
in a fraction of a second.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

MAX_TEXT = 20_000
"""A longer value, as JSON, is cut off: no reader reads it, and a message can be as long as its sender likes."""


def column(numbers: Iterable[int]) -> str:
    """Whole numbers as text."""
    packed, before = bytearray(), 0
    append = packed.append
    for number in numbers:
        difference = number - before
        before = number
        rest = difference << 1 if difference >= 0 else (-difference << 1) - 1
        while rest > 0x7F:
            append(rest & 0x7F | 0x80)
            rest >>= 7
        append(rest)
    return base64.b64encode(packed).decode()


def numbers(text: str) -> list[int]:
    """The inverse of `column`."""
    found, before, rest, shift = [], 0, 0, 0
    for byte in base64.b64decode(text):
        rest |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            before += rest >> 1 if rest % 2 == 0 else -((rest + 1) >> 1)
            found.append(before)
            rest = shift = 0
    return found


class Table:
    """Values for JSON, each once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.size = 0
        """How many characters all values have, as JSON."""
        self._known: dict[str, int] = {}

    def add(self, value: Any) -> int:
        """The value's place in the table."""
        text = _text(value)
        place = self._known.get(text)
        if place is None:
            place = self._known[text] = len(self.values)
            self.size += min(len(text), MAX_TEXT)
            self.values.append(value if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text)} characters)")
        return place


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def finite(value: Any) -> Any:
    """The value with those numbers as text that JSON cannot express, or a browser cannot hold exactly."""
    if isinstance(value, float) and value - value != 0.0:
        return repr(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return str(value)
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    if isinstance(value, dict):
        return {str(key): finite(one) for key, one in value.items()}
    return value
