"""A station's UDP socket on its event loop, which knows how long each datagram has waited to be read.

asyncio's own datagram transport reads with `recvfrom`, which does not say when a datagram came. The kernel knows: with
`SO_TIMESTAMPNS` it passes the time along with each datagram. Apart from that this class does what asyncio's does.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable

from testbed.backends.stations.transport import Address

_SO_TIMESTAMPNS = 35
"""Of Linux, for which the `socket` module has no name. What comes with a datagram has the same number."""
_TIMESPEC = struct.Struct("@ll")  # seconds, nanoseconds
_MAX_BYTES = 1 << 16

Take = Callable[[bytes, Address, int], None]
"""Takes a datagram, its source, and when it came: nanoseconds of `time.time_ns()`, the only clock of these stamps."""


class DatagramEndpoint:
    """Passes on every datagram that comes, and sends what it is given."""

    def __init__(self, opened: socket.socket, loop: asyncio.AbstractEventLoop, take: Take) -> None:
        opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket = opened
        self._loop = loop
        self._take = take
        self._unsent: deque[tuple[bytes, Address]] = deque()
        loop.add_reader(opened.fileno(), self._read)

    def _read(self) -> None:
        """Read one datagram; if there are more, the loop calls again, and timers that are due run in between."""
        try:
            data, stamps, _, source = self._socket.recvmsg(_MAX_BYTES, socket.CMSG_SPACE(_TIMESPEC.size))
        except OSError:  # nothing there after all, such as a datagram with a wrong checksum
            return
        seconds, ns = _TIMESPEC.unpack(stamps[0][2])
        self._take(data, source, seconds * 1_000_000_000 + ns)

    def send(self, data: bytes, to: Address) -> None:
        """Send a datagram. If the socket has no room, it leaves as soon as there is, after those that wait already."""
        if self._unsent or not self._has_sent(data, to):
            self._unsent.append((data, to))
            self._loop.add_writer(self._socket.fileno(), self._send_waiting)

    def _send_waiting(self) -> None:
        while self._unsent and self._has_sent(*self._unsent[0]):
            self._unsent.popleft()
        if not self._unsent:
            self._loop.remove_writer(self._socket.fileno())

    def _has_sent(self, data: bytes, to: Address) -> bool:
        """Whether the kernel took a datagram, be it to drop it: then it is lost, as on the air."""
        try:
            self._socket.sendto(data, to)
        except BlockingIOError:
            return False
        except OSError:  # there is no route, or the radio is down
            pass
        return True
