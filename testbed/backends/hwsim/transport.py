"""A station's datagrams over the radio in its network namespace."""

from __future__ import annotations

import os
import socket

from testbed.backends.hwsim import babel, kernel, names
from testbed.backends.stations.transport import Address, udp_socket
from testbed.link.actions import Transmit


class NamespaceTransport:
    """Datagrams over the radio of a network namespace, in the ad hoc network of all stations."""

    def __init__(self, namespace: int, babel_hello_s: float | None) -> None:
        self._namespace = namespace
        self._babel_hello_s = babel_hello_s
        self._own = ""

    def open(self, node: int) -> socket.socket:
        """Move this process into the namespace, where it stays."""
        kernel.enter_namespace(self._namespace)
        os.close(self._namespace)
        if self._babel_hello_s is not None:
            babel.start(self._babel_hello_s)
        self._own = names.address(node)
        opened = udp_socket(("", names.PORT))
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        return opened

    def address(self, transmit: Transmit) -> tuple[bytes, Address]:
        """A unicast is repeated by the radio until it is acknowledged, a broadcast is not."""
        ip = names.broadcast_address() if transmit.to is None else names.address(transmit.to)
        return transmit.data, (ip, names.PORT)

    def is_ours(self, source: Address) -> bool:
        """All datagrams came over the air but the station's own broadcasts, which it receives too."""
        return source[1] == names.PORT and source[0] != self._own
