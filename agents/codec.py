"""The bytes of a message, derived from its declaration.

A message is its index in the algorithm's `messages` (one byte) followed by its fields in order. An integer is a
zigzag varint, a boolean one byte, an optional value a presence byte and the value, a tuple of fixed shape its items,
a tuple of any length its length and its items. Nothing else can be declared, so nothing else can arrive: bytes that
do not spell exactly one message raise `PeerError`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from agents.errors import PeerError
from agents.message import Message

MAX_BITS = 128  # of one integer: far above any counter, far below what would let a peer make us work
MAX_ITEMS = 65_535  # of one tuple

Writer = Callable[[bytearray, Any], None]
Reader = Callable[[bytes, int], tuple[Any, int]]


class Codec:
    """Encodes and decodes the messages of one algorithm."""

    def __init__(self, messages: tuple[type[Message], ...]) -> None:
        self._index = {message: index for index, message in enumerate(messages)}
        self._shapes = [(message, [_shape(hint) for hint in _field_types(message)]) for message in messages]
        self._names = [[field.name for field in fields(message)] for message in messages]  # type: ignore[arg-type]

    def encode(self, message: Message) -> bytes:
        """The bytes of a message."""
        index = self._index[type(message)]
        out = bytearray((index,))
        for name, (write, _) in zip(self._names[index], self._shapes[index][1], strict=True):
            write(out, getattr(message, name))
        return bytes(out)

    def decode(self, data: bytes) -> Message:
        """The message that the bytes spell, or `PeerError`."""
        message, position = self.decode_from(data, 0)
        if position != len(data):
            raise PeerError(f"{len(data) - position} bytes after the end of a {type(message).__name__}")
        return message

    def decode_from(self, data: bytes, position: int) -> tuple[Message, int]:
        """The message that the bytes from a position on begin with, and where it ends; or `PeerError`."""
        if position >= len(data) or data[position] >= len(self._shapes):
            raise PeerError("no such message type")
        message, shapes = self._shapes[data[position]]
        position, values = position + 1, []
        for _, read in shapes:
            value, position = read(data, position)
            values.append(value)
        return message(*values), position


def _field_types(message: type[Message]) -> list[Any]:
    hints = get_type_hints(message)
    return [hints[field.name] for field in fields(message)]  # type: ignore[arg-type]


def _shape(hint: Any) -> tuple[Writer, Reader]:
    """How a declared type is written and read."""
    if hint is bool:
        return _write_bool, _read_bool
    if hint is int:
        return _write_int, _read_int
    arguments = get_args(hint)
    if get_origin(hint) in (Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        return _optional(*_shape(next(argument for argument in arguments if argument is not type(None))))
    if get_origin(hint) is tuple and arguments:
        if arguments[-1] is Ellipsis:
            return _sequence(*_shape(arguments[0]))
        return _fixed([_shape(argument) for argument in arguments])
    raise TypeError(f"a message field may be int, bool, an optional or a tuple of these, not {hint}")


def _write_bool(out: bytearray, value: bool) -> None:
    out.append(value)


def _read_bool(data: bytes, position: int) -> tuple[bool, int]:
    if position >= len(data) or data[position] > 1:
        raise PeerError("not a boolean")
    return bool(data[position]), position + 1


def _write_int(out: bytearray, value: int) -> None:
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    if rest.bit_length() > MAX_BITS:
        raise ValueError(f"{value} does not fit in {MAX_BITS} bits")
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def _read_int(data: bytes, position: int) -> tuple[int, int]:
    rest = shift = 0
    while True:
        if position >= len(data) or shift > MAX_BITS:
            raise PeerError("not an integer")
        byte = data[position]
        position += 1
        rest |= (byte & 0x7F) << shift
        if byte <= 0x7F:
            break
        shift += 7
    if rest.bit_length() > MAX_BITS or (shift and not byte):
        raise PeerError("not an integer in its shortest form")
    return (rest >> 1 if not rest & 1 else -(rest + 1 >> 1)), position


def _optional(write: Writer, read: Reader) -> tuple[Writer, Reader]:
    def write_optional(out: bytearray, value: Any) -> None:
        out.append(value is not None)
        if value is not None:
            write(out, value)

    def read_optional(data: bytes, position: int) -> tuple[Any, int]:
        present, position = _read_bool(data, position)
        return read(data, position) if present else (None, position)

    return write_optional, read_optional


def _fixed(shapes: list[tuple[Writer, Reader]]) -> tuple[Writer, Reader]:
    def write_fixed(out: bytearray, value: Any) -> None:
        for (write, _), item in zip(shapes, value, strict=True):
            write(out, item)

    def read_fixed(data: bytes, position: int) -> tuple[Any, int]:
        items = []
        for _, read in shapes:
            item, position = read(data, position)
            items.append(item)
        return tuple(items), position

    return write_fixed, read_fixed


def _sequence(write: Writer, read: Reader) -> tuple[Writer, Reader]:
    def write_sequence(out: bytearray, value: Any) -> None:
        if len(value) > MAX_ITEMS:
            raise ValueError(f"{len(value)} items are more than {MAX_ITEMS}")
        _write_int(out, len(value))
        for item in value:
            write(out, item)

    def read_sequence(data: bytes, position: int) -> tuple[Any, int]:
        length, position = _read_int(data, position)
        if not 0 <= length <= len(data) - position:  # every item takes at least a byte
            raise PeerError("not a length")
        items = []
        for _ in range(length):
            item, position = read(data, position)
            items.append(item)
        return tuple(items), position

    return write_sequence, read_sequence
