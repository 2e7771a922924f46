"""A fleet: stations in network namespaces, each with a radio of its own in one ad hoc network, whoever made them."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from fcntl import ioctl

from testbed.backends.hwsim import kernel
from testbed.backends.hwsim import netlink
from testbed.backends.hwsim.radio_reaper import Guardian
from testbed.backends.hwsim.names import PREFIX_LENGTH, address, broadcast_address
from testbed.backends.hwsim.netlink import attribute
from testbed.radio.radio import Radio

INTERFACE = "wlan0"
"""A station's, in its namespace, unless somebody else has named it."""
LOOPBACK = 1
"""The number of that interface."""
_RTM_NEWLINK, _RTM_NEWADDR, _RTM_DELADDR, _RTM_NEWNEIGH = 16, 20, 21, 28
_IFA_ADDRESS, _IFA_LOCAL, _IFA_BROADCAST = 1, 2, 4
_NDA_DST, _NDA_LLADDR, _NUD_PERMANENT = 1, 2, 0x80
_IFF_UP = 1
_LINK = struct.Struct("=BxHiII")
_ADDRESS = struct.Struct("=BBBBI")
_NEIGHBOUR = struct.Struct("=BxxxiHBB")

Request = tuple[int, int, bytes]
"""Of the kernel's configuration of networks: type, flags and payload."""


class Station:
    """A namespace with a radio: the descriptor that holds it, and sockets in it."""

    def __init__(self, namespace: int, interface: str = INTERFACE) -> None:
        self.namespace = namespace
        self.interface = interface
        with kernel.namespace_kept():
            kernel.enter_namespace(namespace)
            self.route = netlink.Socket(netlink.NETLINK_ROUTE)
            self.generic = netlink.Socket(netlink.NETLINK_GENERIC)
            self.plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def interface_index(self) -> int:
        """The number of its interface."""
        return interface_index(self.plain, self.interface)

    def silence_ipv6(self) -> None:
        """Stations speak IPv4; the kernel's own IPv6 chatter would be on the air too."""
        with kernel.namespace_kept():
            kernel.enter_namespace(self.namespace)
            for which in ("all", "default"):
                with suppress(OSError), open(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6", "w") as setting:
                    setting.write("1")  # unless the kernel has no IPv6

    def close(self) -> None:
        """Let go of the namespace."""
        for one in (self.route, self.generic, self.plain):
            one.close()
        if self.namespace >= 0:
            os.close(self.namespace)
            self.namespace = -1


class Fleet:
    """The stations of one run."""

    def __init__(self, run: str, radio: Radio) -> None:
        kernel.allow_many_files()  # a station takes four
        self.run = run
        self.radio = radio
        self.frequency_mhz = round(radio.frequency_hz / 1e6)
        self.addresses: list[bytes] = []
        """By which the stations know each other."""
        self.radio_addresses: list[bytes] = []
        """By which the medium knows their radios, if these are others."""
        self.air = -1
        """The descriptor of the namespace in which the radios were made, where the medium works."""
        self.stations: list[Station] = []
        self.on_let_go: list[Callable[[], None]] = []
        """What else a forked process is to close."""
        self.guardian: Guardian | None = None

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

    def station(self, node: int) -> Station:
        """The namespace of a node, with the sockets in it."""
        return self.stations[node]

    def socket_in(self, node: int) -> socket.socket:
        """A UDP socket in the namespace of a node, for a process that is not in it."""
        with kernel.namespace_kept():
            kernel.enter_namespace(self.stations[node].namespace)
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def guard(self) -> None:
        """Have the radios destroyed if this process is killed."""
        self.guardian = Guardian([station.generic for station in self.stations])
        self.on_let_go.append(self.guardian.forget)

    def dismiss_guardian(self) -> None:
        """The radios are gone."""
        if self.guardian is not None:
            self.guardian.dismiss()
            self.guardian = None

    def introduce(self, node: int) -> None:
        """Tell a station's kernel who has which address, so that nobody asks by broadcast."""
        station = self.stations[node]
        index = station.interface_index()
        station.route.tell([neighbour(index, peer, mac) for peer, mac in enumerate(self.addresses) if peer != node])


def interface_index(plain: socket.socket, name: str = INTERFACE) -> int:
    """The number of an interface in the namespace of a socket (SIOCGIFINDEX)."""
    answer = ioctl(plain, 0x8933, struct.pack("16si", name.encode(), 0) + bytes(20))
    index: int = struct.unpack_from("i", answer, 16)[0]
    return index


def up(index: int) -> Request:
    """Bring an interface up."""
    return _RTM_NEWLINK, 0, _LINK.pack(0, 0, index, _IFF_UP, _IFF_UP)


def own_address(index: int, node: int, prefix_length: int = PREFIX_LENGTH) -> Request:
    """Give an interface the address of its station."""
    own = socket.inet_aton(address(node))
    payload = _ADDRESS.pack(socket.AF_INET, prefix_length, 0, 0, index)
    payload += attribute(_IFA_LOCAL, own) + attribute(_IFA_ADDRESS, own)
    return _RTM_NEWADDR, netlink.CREATE, payload + attribute(_IFA_BROADCAST, socket.inet_aton(broadcast_address()))


def no_address(index: int, node: int) -> Request:
    """Take it away again."""
    own = socket.inet_aton(address(node))
    return _RTM_DELADDR, 0, _ADDRESS.pack(socket.AF_INET, PREFIX_LENGTH, 0, 0, index) + attribute(_IFA_LOCAL, own)


def neighbour(index: int, peer: int, mac: bytes) -> Request:
    """Who has which address, for good."""
    payload = _NEIGHBOUR.pack(socket.AF_INET, index, _NUD_PERMANENT, 0, 0)
    payload += attribute(_NDA_DST, socket.inet_aton(address(peer))) + attribute(_NDA_LLADDR, mac)
    return _RTM_NEWNEIGH, netlink.CREATE | netlink.REPLACE, payload
