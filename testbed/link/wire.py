"""The bytes of a datagram: version, run, sender, its incarnation, a frame, what the frame carries, and a checksum.

Bytes of another version or run, or that are not exactly one datagram, raise `Junk`, which says why; the layer counts
them and goes on.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from agents.codec import Codec
from agents.errors import PeerError
from agents.message import Message
from testbed.link.frames import FRAMES, Data, Packet, Relay

VERSION = 1
MAX_BYTES = 1400
"""The largest datagram: with headers it fits into one frame of every medium of the testbed."""
_RUN_BYTES, _CHECKSUM_BYTES = 8, 4


@dataclass(frozen=True, slots=True)
class _Sender(Message):
    node: int
    incarnation: int


_SENDER, _FRAME = Codec((_Sender,)), Codec(FRAMES)


class Junk(Exception):
    """Bytes that are not a datagram for this layer; the text says what is wrong with them."""


class Datagram(NamedTuple):
    """The sender, its incarnation, and what it sent."""

    sender: int
    incarnation: int
    frame: Message
    body: bytes = b""
    """The message in a Data or a Packet, or the datagram in a Relay."""


class Wire:
    """Encodes and decodes the datagrams of one run."""

    def __init__(self, run: str, messages: tuple[type[Message], ...]) -> None:
        self._head = bytes((VERSION,)) + hashlib.sha256(run.encode()).digest()[:_RUN_BYTES]
        self._codec = Codec(messages)

    def spell(self, datagram: Datagram) -> bytes:
        """The bytes of a datagram."""
        sender = _SENDER.encode(_Sender(datagram.sender, datagram.incarnation))
        data = self._head + sender + _FRAME.encode(datagram.frame) + datagram.body
        data += crc32(data).to_bytes(_CHECKSUM_BYTES)
        if len(data) > MAX_BYTES:
            raise ValueError(f"a datagram of {len(data)} bytes: at most {MAX_BYTES} are allowed")
        return data

    def read(self, data: bytes) -> Datagram:
        """Decode a datagram; raises `Junk`."""
        if len(data) > MAX_BYTES:
            raise Junk("oversized")
        if data[:1] != self._head[:1]:
            raise Junk("of another version")
        if data[: len(self._head)] != self._head:
            raise Junk("of another run")
        data, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
        if crc32(data).to_bytes(_CHECKSUM_BYTES) != checksum:
            raise Junk("malformed")
        try:
            sender, position = _SENDER.decode_from(data, len(self._head))
            frame, position = _FRAME.decode_from(data, position)
        except PeerError as error:
            raise Junk("malformed") from error
        body = data[position:]
        if body and not isinstance(frame, Data | Relay | Packet):
            raise Junk("malformed")
        assert isinstance(sender, _Sender)
        return Datagram(sender.node, sender.incarnation, frame, body)

    def spell_message(self, message: Message) -> bytes:
        """The bytes of an agent's message."""
        return self._codec.encode(message)

    def read_message(self, data: bytes) -> Message:
        """Decode an agent's message; raises `Junk`."""
        try:
            return self._codec.decode(data)
        except PeerError as error:
            raise Junk("malformed") from error
