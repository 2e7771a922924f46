"""How a station's datagrams reach the other stations."""

from __future__ import annotations

import importlib
import socket
from typing import Any, Protocol

from testbed.link.actions import Transmit

BUFFER_BYTES = 1 << 17
"""The buffer of a socket in each direction: room for a burst, but not for seconds of datagrams, which would be out of
date. A station that cannot keep up loses some, as on a crowded channel."""

Address = tuple[str, int]


class Transport(Protocol):
    """How a station sends and receives datagrams."""

    def open(self, node: int) -> socket.socket:
        """The socket of a node."""

    def address(self, transmit: Transmit) -> tuple[bytes, Address]:
        """The bytes to send, and the address to send them to, to put a datagram on the air."""

    def is_ours(self, source: Address) -> bool:
        """Whether a datagram from this address may have come over the air."""


def make_transport(spec: dict[str, Any], descriptors: list[int]) -> Transport:
    """The transport that an environment describes, with the descriptors that a station inherited."""
    module, _, kind = spec["class"].partition(":")
    arguments = {name: value for name, value in spec.items() if name != "class"}
    transport: Transport = getattr(importlib.import_module(module), kind)(*descriptors, **arguments)
    return transport


def udp_socket(address: Address) -> socket.socket:
    """A socket bound to an address, with room for bursts."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    opened.setblocking(False)
    opened.bind(address)
    return opened
