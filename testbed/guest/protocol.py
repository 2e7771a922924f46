"""What host and agent say to each other over one virtio-serial port: frames of a kind, a length and a body.

The agent says MESSAGE {"ready": true} once. Then the host asks, one thing at a time, and the agent answers:

    MESSAGE {"do": "begin", "time", "seed"}       MESSAGE {"error": null}
    MESSAGE {"do": "warm"}                        MESSAGE {"error": null}
    MESSAGE {"do": "run", "argv", "cwd", "env",   OUT and ERR frames while it runs, then MESSAGE {"exit": code}
             "reads"}
    MESSAGE {"do": "signal", "number"}            nothing; only while a command runs
    IN frames of what is typed, an empty one last nothing; only while a command runs that reads
    MESSAGE {"do": "put"}, then DATA frames of    MESSAGE {"error": text or null}
    a tar archive, an empty one last
    MESSAGE {"do": "get", "path"}                 DATA frames of a tar archive, then MESSAGE {"error": text or null}

This module runs on both sides and imports next to nothing, because imports are what a guest is slow at.
"""

from __future__ import annotations

import json
import struct
from typing import Any

MESSAGE, DATA, OUT, ERR, IN = b"M", b"D", b"O", b"E", b"I"
HEADER = struct.Struct(">cI")
CHUNK = 1 << 16
"""How much of a stream goes into one frame."""


def frame(kind: bytes, body: bytes) -> bytes:
    """The bytes of a frame."""
    return HEADER.pack(kind, len(body)) + body


def message(**fields: Any) -> bytes:
    """The bytes of a MESSAGE frame."""
    return frame(MESSAGE, json.dumps(fields).encode())


class Frames:
    """Puts frames together from the bytes of a stream, however they are cut."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        self._bytes += data

    def next(self) -> tuple[bytes, bytes] | None:
        """The next frame as (kind, body), or None if not all of it is there yet."""
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
