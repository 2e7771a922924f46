"""A fleet: stations in network namespaces, each with a radio of its own in one ad hoc network.

The namespaces may be our own (`radios`) or those of a Mininet-WiFi network.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

from testbed.backends.hwsim import kernel, netlink
from testbed.backends.hwsim.control_plane import NamespaceControl, open_control
from testbed.backends.hwsim.names import PREFIX_LENGTH, address, broadcast_address
from testbed.backends.hwsim.radio_reaper import RadioReaper
from testbed.radio.radio import Radio

INTERFACE = "wlan0"
"""A station's, in its namespace, unless Mininet-WiFi has named it."""
LOOPBACK = 1
"""The number of that interface."""


class RadioNamespace:
    """A namespace with a radio: the descriptor that holds it, and a netlink socket in it."""

    def __init__(self, namespace: int, interface: str = INTERFACE) -> None:
        self.namespace = namespace
        self.interface = interface
        with kernel.namespace_kept():
            kernel.enter_namespace(namespace)
            self.generic = netlink.Socket(netlink.NETLINK_GENERIC)

    @contextmanager
    def control(self) -> Iterator[NamespaceControl]:
        """Requests to its kernel, for a while."""
        with kernel.namespace_kept():
            kernel.enter_namespace(self.namespace)
            control = open_control()
        with closing(control):
            yield control

    def silence_ipv6(self) -> None:
        """Stations speak IPv4; the kernel's own IPv6 messages would be on the air too."""
        with kernel.namespace_kept():
            kernel.enter_namespace(self.namespace)
            for which in ("all", "default"):
                with suppress(OSError), open(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6", "w") as setting:
                    setting.write("1")  # unless the kernel has no IPv6

    def close(self) -> None:
        """Let go of the namespace."""
        self.generic.close()
        if self.namespace >= 0:
            os.close(self.namespace)
            self.namespace = -1


class Fleet:
    """The stations of one run."""

    def __init__(self, run: str, radio: Radio) -> None:
        kernel.allow_many_files()  # a station takes three, and more while it is set up
        self.run = run
        self.radio = radio
        self.frequency_mhz = round(radio.frequency_hz / 1e6)
        self.addresses: list[bytes] = []
        """By which the stations know each other."""
        self.radio_addresses: list[bytes] = []
        """By which the medium knows their radios, if these are others."""
        self.air = -1
        """The descriptor of the namespace in which the radios were made, where the medium works."""
        self.stations: list[RadioNamespace] = []
        self.on_let_go: list[Callable[[], None]] = []
        """What else a forked process is to close."""
        self.reaper: RadioReaper | None = None

    @property
    def nodes(self) -> int:
        """How many there are, or will be."""
        return len(self.addresses)

    def namespace(self, node: int) -> int:
        """The descriptor of a node's namespace, to be given to its station."""
        return self.stations[node].namespace

    def enter(self, node: int) -> None:
        """Move the calling process, a station's, into the namespace of a node, and let go of all others."""
        kernel.enter_namespace(self.stations[node].namespace)
        self.let_go()

    def let_go(self) -> None:
        """Close what a forked process has of the run, so that it does not keep namespaces alive."""
        for station in self.stations:
            station.close()
        if self.air >= 0:
            os.close(self.air)
            self.air = -1
        for close in self.on_let_go:
            close()

    def station(self, node: int) -> RadioNamespace:
        """The namespace of a node, with the sockets in it."""
        return self.stations[node]

    def socket_in(self, node: int) -> socket.socket:
        """A UDP socket in the namespace of a node, for a process that is not in it."""
        with kernel.namespace_kept():
            kernel.enter_namespace(self.stations[node].namespace)
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def guard(self) -> None:
        """Have the radios destroyed if this process is killed."""
        self.reaper = RadioReaper([station.generic for station in self.stations])
        self.on_let_go.append(self.reaper.forget)

    def dismiss_reaper(self) -> None:
        """The radios are gone."""
        if self.reaper is not None:
            self.reaper.dismiss()
            self.reaper = None

    def introduce(self, node: int, control: NamespaceControl) -> None:
        """Tell a station's kernel the addresses of all others, so that no station asks by broadcast."""
        macs = {address(peer): mac for peer, mac in enumerate(self.addresses) if peer != node}
        control.set_neighbours(control.interface_index(self.stations[node].interface), macs)


def set_address(control: NamespaceControl, index: int, node: int, prefix_length: int = PREFIX_LENGTH) -> None:
    """Give an interface the address of its station."""
    control.add_address(index, address(node), prefix_length, broadcast_address())


def remove_address(control: NamespaceControl, index: int, node: int) -> None:
    """Take it away again."""
    control.remove_address(index, address(node), PREFIX_LENGTH)
