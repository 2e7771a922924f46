"""What the processes of a run say to each other besides datagrams: small JSON messages over inherited socket pairs.

A pair has no name, so there is nothing to clean up after a kill, and whoever is at the other end of it learns at once
that a process has gone: it reads the end of the stream.
"""

from __future__ import annotations

import ctypes
import errno
import json
import signal
import socket
from typing import Any

from testbed.errors import TestbedError
from testbed.processes import die_with_parent

_PR_SET_NAME = 15
MAX_BYTES = 1 << 20


class MessageTooLongError(TestbedError):
    """It would arrive cut off, or not at all: the network is too large for what has to be said of it."""

    def __init__(self, data: bytes) -> None:
        begin = data[:40].decode()  # JSON as Python writes it is ASCII
        super().__init__(f"a message of {len(data)} bytes to another process of the run is too long: {begin}...")


class Control:
    """One end of a pair. Messages are JSON objects; a file descriptor may come with one."""

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
        """The end that a parent has left open for us."""
        return cls(socket.socket(fileno=fd))

    def fileno(self) -> int:
        """For selectors."""
        return self.socket.fileno()

    def send(self, message: dict[str, Any], *fds: int) -> None:
        """Send a message; `ConnectionError` if nobody is there any more."""
        data = json.dumps(message).encode()
        if len(data) > MAX_BYTES:
            raise MessageTooLongError(data)
        try:
            socket.send_fds(self.socket, [data], fds)
        except OSError as error:
            if error.errno == errno.EMSGSIZE:  # a kernel may allow less than we do
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
        """Let the other end know that we have gone."""
        self.socket.close()


def become_child(name: str) -> None:
    """Die with the parent, leave Ctrl-C to it, and be found under a name in lists of processes."""
    die_with_parent()
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
