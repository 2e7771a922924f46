"""The protocol between the host and the guest's first process: frames of a kind, a length and a body over one port.

The guest sends MESSAGE {"ready": true} once. Then the host sends one request at a time, and the guest answers:

    MESSAGE {"do": "begin", "time", "seed"}       MESSAGE {"error": null}
    MESSAGE {"do": "warm"}                        MESSAGE {"error": null}
    MESSAGE {"do": "run", "argv", "cwd", "env",   OUT and ERR frames while it runs, then MESSAGE {"exit": code}
             "reads"}
    MESSAGE {"do": "signal", "number"}            nothing; only while a command runs
    IN frames of what is typed, an empty one last nothing; only while a command runs that reads
    MESSAGE {"do": "put"}, then DATA frames of    MESSAGE {"error": text or null}
    a tar archive, an empty one last
    MESSAGE {"do": "get", "path"}                 DATA frames of a tar archive, then MESSAGE {"error": text or null}

This module runs on both sides and imports little, because imports take long in a guest.
"""

from __future__ import annotations

import json
import struct
from typing import Any

MESSAGE, DATA, OUT, ERR, IN = b"M", b"D", b"O", b"E", b"I"
HEADER = struct.Struct(">cI")
CHUNK = 1 << 16
"""The most bytes of a stream in one frame."""


def frame(kind: bytes, body: bytes) -> bytes:
    """The bytes of a frame."""
    return HEADER.pack(kind, len(body)) + body


def message(**fields: Any) -> bytes:
    """The bytes of a MESSAGE frame."""
    return frame(MESSAGE, json.dumps(fields).encode())


class Frames:
    """Puts frames together from the bytes of a stream, which may arrive in pieces of any size."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        self._bytes += data

    def next(self) -> tuple[bytes, bytes] | None:
        """The next frame as (kind, body), or None if it is not complete yet."""
        held = self._bytes
        if len(held) < HEADER.size:
            return None
        kind, length = HEADER.unpack_from(held)
        end = HEADER.size + length
        if len(held) < end:
            return None
        body = bytes(held[HEADER.size : end])
        del held[:end]
        return kind, body
