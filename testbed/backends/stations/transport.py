"""How a station's datagrams reach the others, in each world of stations."""

from __future__ import annotations

import os
import socket
from typing import Any, Protocol

from testbed.backends.hwsim import babel
from testbed.backends.hwsim import kernel
from testbed.backends.hwsim import names
from testbed.link.actions import Transmit

LOOPBACK = "127.0.0.1"
EVERYBODY = 0xFFFF_FFFF
HEADER_BYTES = 4
BUFFER_BYTES = 1 << 17
"""Of a socket, in each direction: room for a burst, but none for seconds of datagrams that nobody wants any more. Who
cannot keep up loses some, as on a crowded channel.
"""

Address = tuple[str, int]


class Transport(Protocol):
    """A station's way to the air."""

    def open(self, node: int) -> socket.socket:
        """The socket of a node."""

    def address(self, transmit: Transmit) -> tuple[bytes, Address]:
        """What to send where, to put a datagram on the air."""

    def is_ours(self, source: Address) -> bool:
        """Whether a datagram from there may have come over the air."""


class LoopbackTransport:
    """By way of a medium, which knows a station by its port; the receiver's number goes before the datagram."""

    def __init__(self, medium_port: int) -> None:
        self._medium = (LOOPBACK, medium_port)

    def open(self, node: int) -> socket.socket:
        """A port that the kernel chooses, so that runs do not get in each other's way."""
        return udp_socket((LOOPBACK, 0))

    def address(self, transmit: Transmit) -> tuple[bytes, Address]:
        """Everything goes to the medium."""
        to = EVERYBODY if transmit.to is None else transmit.to
        return to.to_bytes(HEADER_BYTES) + transmit.data, self._medium

    def is_ours(self, source: Address) -> bool:
        """Only the medium speaks to stations."""
        return source == self._medium


class NamespaceTransport:
    """Over the only interface of a network namespace, in the network that all stations' radios are in."""

    def __init__(self, namespace: int, babel_hello_s: float | None) -> None:
        self._namespace = namespace
        self._babel_hello_s = babel_hello_s
        self._own = ""

    def open(self, node: int) -> socket.socket:
        """Move this process into the namespace, for good."""
        kernel.enter_namespace(self._namespace)
        os.close(self._namespace)
        if self._babel_hello_s is not None:
            babel.start(self._babel_hello_s)
        self._own = names.address(node)
        opened = udp_socket(("", names.PORT))
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        return opened

    def address(self, transmit: Transmit) -> tuple[bytes, Address]:
        """A unicast is tried again by the radio until it is acknowledged, a broadcast is not."""
        ip = names.broadcast_address() if transmit.to is None else names.address(transmit.to)
        return transmit.data, (ip, names.PORT)

    def is_ours(self, source: Address) -> bool:
        """Anybody in the namespace came over the air; our own broadcasts come back to us."""
        return source[1] == names.PORT and source[0] != self._own


def udp_socket(address: Address) -> socket.socket:
    """A socket bound to an address, with room for bursts."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    opened.setblocking(False)
    opened.bind(address)
    return opened


def make_transport(spec: dict[str, Any], descriptors: list[int]) -> Transport:
    """As the orchestrator describes it, with what it gave along."""
    if spec["kind"] == "loopback":
        return LoopbackTransport(spec["medium_port"])
    return NamespaceTransport(descriptors[0], spec["babel_hello_s"])
