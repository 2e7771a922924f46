"""A station's datagrams on 127.0.0.1."""

from __future__ import annotations

import socket

from testbed.backends.stations.transport import Address, udp_socket
from testbed.link.actions import Transmit

LOOPBACK = "127.0.0.1"
TO_ALL = 0xFFFF_FFFF
"""Instead of a receiver's number: a broadcast."""
HEADER_BYTES = 4


class LoopbackTransport:
    """Datagrams go through a medium, which knows a station by its port; the receiver's number precedes the datagram."""

    def __init__(self, medium_port: int) -> None:
        self._medium = (LOOPBACK, medium_port)

    def open(self, node: int) -> socket.socket:
        """A socket on a port that the kernel chooses, so that runs do not disturb each other."""
        return udp_socket((LOOPBACK, 0))

    def address(self, transmit: Transmit) -> tuple[bytes, Address]:
        """Everything goes to the medium."""
        to = TO_ALL if transmit.to is None else transmit.to
        return to.to_bytes(HEADER_BYTES) + transmit.data, self._medium

    def is_ours(self, source: Address) -> bool:
        """Only the medium sends to stations."""
        return source == self._medium
