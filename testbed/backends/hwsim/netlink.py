"""Netlink by hand: messages as bytes, and sockets that send them.

For the medium, which handles every frame, for families that pyroute2 lacks (hwsim, batadv), and for the control plane
of guests (`netlink_control`).
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from types import TracebackType

from testbed.backends.hwsim.control_plane import ControlError
from testbed.errors import BackendError

NETLINK_ROUTE, NETLINK_GENERIC = 0, 16
SOL_NETLINK, NETLINK_CAP_ACK, NETLINK_EXT_ACK = 270, 10, 11
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST, MULTI, ACK, DUMP, CREATE, REPLACE = 0x1, 0x2, 0x4, 0x300, 0x400, 0x100
_CTRL, _CTRL_GETFAMILY, _CTRL_FAMILY_ID, _CTRL_FAMILY_NAME = 16, 3, 1, 2
_ERROR_TEXT, _ACK_TLVS = 1, 0x200

HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_GENERIC = struct.Struct("=BBH")  # command, version, reserved
_ATTRIBUTE = struct.Struct("=HH")  # length, type
_TYPE_MASK = 0x3FFF  # less the bits that say "nested" and "in network order"

Attributes = dict[int, bytes]


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute, padded to four bytes."""
    return _ATTRIBUTE.pack(4 + len(value), kind) + value + bytes(-len(value) % 4)


def u8(value: int) -> bytes:
    """A byte."""
    return struct.pack("=B", value)


def u32(value: int) -> bytes:
    """Four bytes in the machine's order."""
    return struct.pack("=I", value & 0xFFFFFFFF)


def text(value: str) -> bytes:
    """A string with a zero at its end, as the kernel expects it."""
    return value.encode() + b"\0"


def message(kind: int, flags: int, payload: bytes, sequence: int = 0) -> bytes:
    """A whole message."""
    return HEADER.pack(HEADER.size + len(payload), kind, flags, sequence, 0) + payload


def generic(command: int, *attributes: bytes, version: int = 1) -> bytes:
    """The payload of a generic message."""
    return _GENERIC.pack(command, version, 0) + b"".join(attributes)


def attributes_of(data: bytes | memoryview, offset: int = 0) -> Attributes:
    """Attributes by their kind; of two of a kind, the last."""
    found: Attributes = {}
    end = len(data)
    while offset + 4 <= end:
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < 4 or offset + length > end:
            raise ValueError(f"an attribute of {length} bytes where {end - offset} are left")
        found[kind & _TYPE_MASK] = bytes(data[offset + 4 : offset + length])
        offset += (length + 3) & ~3
    return found


def messages_of(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Type, flags, sequence and payload of every message in what was received."""
    offset = 0
    while offset + HEADER.size <= len(data):
        length, kind, flags, sequence, _ = HEADER.unpack_from(data, offset)
        if length < HEADER.size or offset + length > len(data):
            raise ValueError(f"a message of {length} bytes where {len(data) - offset} are left")
        yield kind, flags, sequence, data[offset + HEADER.size : offset + length]
        offset += (length + 3) & ~3


class Socket:
    """A netlink socket in the network namespace in which it was made, wherever its process goes afterwards."""

    def __init__(self, protocol: int, port: int = 0) -> None:
        self.raw = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        self.raw.bind((port, 0))
        for option in (NETLINK_CAP_ACK, NETLINK_EXT_ACK):
            self.raw.setsockopt(SOL_NETLINK, option, 1)
        self._sequence = 0

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closing twice does no harm."""
        self.raw.close()

    def ask(self, kind: int, payload: bytes, flags: int = 0) -> list[bytes]:
        """Send a request and wait for its answers; a refusal is a `ControlError`."""
        self._sequence += 1
        self.raw.send(message(kind, REQUEST | ACK | flags, payload, self._sequence))
        answers: list[bytes] = []
        while True:
            for got, got_flags, sequence, body in messages_of(self.raw.recv(1 << 18)):
                if sequence != self._sequence:
                    continue
                if got == NLMSG_ERROR:
                    _raise_error(body, got_flags)
                    return answers
                if got == NLMSG_DONE:
                    return answers
                answers.append(body)

    def tell(self, requests: Sequence[tuple[int, int, bytes]]) -> None:
        """Send many requests (type, flags, payload) at once; the first refusal is a `ControlError`."""
        first = self._sequence + 1
        self._sequence += len(requests)
        self.raw.send(
            b"".join(
                message(kind, REQUEST | ACK | flags, payload, first + index)
                for index, (kind, flags, payload) in enumerate(requests)
            )
        )
        left = len(requests)
        while left:
            for got, got_flags, sequence, body in messages_of(self.raw.recv(1 << 18)):
                if got == NLMSG_ERROR and first <= sequence <= self._sequence:
                    _raise_error(body, got_flags)
                    left -= 1

    def ask_number(self, kind: int, payload: bytes) -> int:
        """Send a request that is answered with a number in place of an error: hwsim tells ids of new radios so."""
        self._sequence += 1
        self.raw.send(message(kind, REQUEST | ACK, payload, self._sequence))
        while True:
            for got, got_flags, sequence, body in messages_of(self.raw.recv(1 << 18)):
                if got == NLMSG_ERROR and sequence == self._sequence:
                    code: int = struct.unpack_from("=i", body)[0]
                    if code < 0:
                        _raise_error(body, got_flags)
                    return code


def _raise_error(body: bytes, flags: int) -> None:
    code: int = -struct.unpack_from("=i", body)[0]
    if not code:
        return
    reason = os.strerror(code)
    if flags & _ACK_TLVS:
        said = attributes_of(body, 4 + HEADER.size).get(_ERROR_TEXT)
        if said:
            reason += f" ({said.rstrip(bytes(1)).decode(errors='replace')})"
    raise ControlError(code, reason)


def family(generic_socket: Socket, name: str) -> int:
    """The number of a generic family."""
    payload = generic(_CTRL_GETFAMILY, attribute(_CTRL_FAMILY_NAME, text(name)))
    try:
        answers = generic_socket.ask(_CTRL, payload)
    except ControlError as error:
        if error.errno == errno.ENOENT:
            raise BackendError(f"the kernel does not have the netlink family {name}: is its module loaded?") from None
        raise
    return int.from_bytes(attributes_of(answers[0], _GENERIC.size)[_CTRL_FAMILY_ID], "little")
