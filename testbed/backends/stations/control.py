"""Control messages between the processes of a run: small JSON objects over inherited socket pairs.

A pair has no name, so there is nothing to clean up after a kill. When a process ends, the process at the other end
notices at once: it reads the end of the stream.
"""

from __future__ import annotations

import ctypes
import errno
import json
import socket
from typing import Any

from testbed.errors import TestbedError
from testbed.interrupts import leave_interrupts_to_parent
from testbed.processes import die_with_parent

_PR_SET_NAME = 15
MAX_BYTES = 1 << 20


class MessageTooLongError(TestbedError):
    """The message would arrive cut off, or not at all: the network is too large for it."""

    def __init__(self, data: bytes) -> None:
        start = data[:40].decode()  # JSON as Python writes it is ASCII
        super().__init__(f"a message of {len(data)} bytes to another process of the run is too long: {start}...")


class Control:
    """One end of a pair. Messages are JSON objects; file descriptors may be sent with them."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end

    @classmethod
    def pair(cls) -> tuple[Control, Control]:
        """Both ends."""
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_BYTES)
        return cls(ends[0]), cls(ends[1])

    @classmethod
    def inherited(cls, fd: int) -> Control:
        """The end that this process inherited from its parent."""
        return cls(socket.socket(fileno=fd))

    def fileno(self) -> int:
        """For selectors."""
        return self.socket.fileno()

    def send(self, message: dict[str, Any], *fds: int) -> None:
        """Send a message; `ConnectionError` if the other end is closed."""
        data = json.dumps(message).encode()
        if len(data) > MAX_BYTES:
            raise MessageTooLongError(data)
        try:
            socket.send_fds(self.socket, [data], fds)
        except OSError as error:
            if error.errno == errno.EMSGSIZE:  # the kernel may allow less than MAX_BYTES
                raise MessageTooLongError(data) from error
            raise

    def receive(self) -> tuple[dict[str, Any] | None, list[int]]:
        """The next message, and the descriptors that came with it; None at the end of the stream."""
        try:
            data, fds, _, _ = socket.recv_fds(self.socket, MAX_BYTES, 4)
        except ConnectionError:
            return None, []
        return (json.loads(data) if data else None), list(fds)

    def close(self) -> None:
        """Close this end; the other end notices."""
        self.socket.close()


def become_child(name: str) -> None:
    """End with the parent, leave interrupts to it, and have a name of its own in lists of processes."""
    die_with_parent()
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15])
    leave_interrupts_to_parent()
