"""The radios of one run: one to a station, each in a network namespace of its own.

**Nothing stays behind, whatever happens.** The namespaces have no names: they are held by descriptors of this process
and by the stations in them, and go when these go. The radios are made from within a namespace of the run, the air; the
kernel returns radios made in the machine's own namespace to it when theirs ends, but destroys those made elsewhere. So
`kill -9` leaves nothing once the stations are dead, which the kernel sees to as well (`testbed.withparent`). The
air also keeps runs apart: each has a medium of its own, and none meets radios that the machine had before. (hwsim's
DESTROY_RADIO_ON_CLOSE is not used: it minds the number of the closing socket only, so that any netlink socket of the
same number, in whatever namespace, would take the radios with it.)
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from fcntl import ioctl
from types import TracebackType

from testbed.errors import BackendError
from testbed.hwsim import hwsim, kernel, netlink
from testbed.hwsim.lock import Lock
from testbed.hwsim.names import (
    MAX_NODES,
    PREFIX_LENGTH,
    address,
    broadcast_address,
    cell_address,
    check_run,
    hardware_address,
    radio_name,
)
from testbed.hwsim.netlink import attribute, generic, text, u8, u32
from testbed.radio.radio import Radio

INTERFACE = "wlan0"
"""A station's, in its namespace."""
BEACON_INTERVAL_TU = 1000
"""About a second: idle stations cost little, and nobody here waits for beacons."""
_SSID = b"testbed"
_NEW_INTERFACE, _SET_INTERFACE, _JOIN_IBSS, _SET_WIPHY_NETNS, _SET_TX_BITRATE_MASK = 7, 6, 43, 49, 57
_IFINDEX, _IFTYPE, _MAC, _BEACON_INTERVAL, _BSS_BASIC_RATES, _WIPHY_FREQ = 3, 5, 6, 12, 36, 38
_SSID_ATTRIBUTE, _FREQ_FIXED, _TX_RATES, _MCAST_RATE, _NETNS_FD = 52, 60, 90, 107, 219
_ADHOC, _TXRATE_LEGACY = 1, 1
_RTM_NEWLINK, _RTM_NEWADDR, _RTM_DELADDR, _RTM_NEWNEIGH = 16, 20, 21, 28
_IFA_ADDRESS, _IFA_LOCAL, _IFA_BROADCAST = 1, 2, 4
_NDA_DST, _NDA_LLADDR, _NUD_PERMANENT = 1, 2, 0x80
_IFF_UP, _LOOPBACK = 1, 1
_LINK = struct.Struct("=BxHiII")
_ADDRESS = struct.Struct("=BBBBI")
_NEIGHBOUR = struct.Struct("=BxxxiHBB")
_FREE_CHANNELS_MHZ = range(2412, 2463)
"""Where ad hoc networks are allowed all over the world; elsewhere radios get a rule of hwsim's own."""

Request = tuple[int, int, bytes]
"""Of the kernel's configuration of networks: type, flags and payload."""


class Station:
    """A namespace with a radio: the descriptor that holds it, and sockets in it."""

    def __init__(self) -> None:
        kernel.new_namespace()
        self.namespace = kernel.current_namespace()
        _silence_ipv6()
        self.route = netlink.Socket(netlink.NETLINK_ROUTE)
        self.generic = netlink.Socket(netlink.NETLINK_GENERIC)
        self.plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.has_radio = False

    def interface_index(self) -> int:
        """The number of its interface."""
        return interface_index(self.plain)

    def close(self) -> None:
        """Let go of the namespace."""
        for one in (self.route, self.generic, self.plain):
            one.close()
        if self.namespace >= 0:
            os.close(self.namespace)
            self.namespace = -1


class Radios:
    """Made on entering the context, gone on leaving it."""

    def __init__(self, run: str, nodes: int, radio: Radio) -> None:
        if not 0 < nodes <= MAX_NODES:
            raise BackendError(f"{nodes} stations: there may be 1 to {MAX_NODES}")
        self.run = check_run(run)
        self.nodes = nodes
        self.radio = radio
        self.frequency_mhz = round(radio.frequency_hz / 1e6)
        self.addresses = [hardware_address(run, node) for node in range(nodes)]
        """By which the stations, and the medium their radios, know each other."""
        self.air = -1
        """The descriptor of the namespace in which the medium works."""
        self._stations: list[Station] = []
        self._lock = Lock(run)
        self.on_let_go: list[Callable[[], None]] = []
        """What else a forked process is to close."""

    def __enter__(self) -> Radios:
        if os.geteuid() != 0:
            raise BackendError("virtual radios need root: run as root, or in the guest (`testbed guest`)")
        kernel.load_hwsim()
        self._lock.take()
        try:
            self._make()
        except OSError as error:
            self.close()
            raise BackendError(f"cannot set up {self.nodes} virtual radios: {error}") from error
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def namespace(self, node: int) -> int:
        """The descriptor of a node's namespace, to be given to its station."""
        return self._stations[node].namespace

    def enter(self, node: int) -> None:
        """Move the calling process, a station's, into the namespace of a node, and let go of all others."""
        kernel.enter_namespace(self._stations[node].namespace)
        self.let_go()

    def let_go(self) -> None:
        """Close what a forked process has of the run, so that it does not keep namespaces alive."""
        for station in self._stations:
            station.close()
        if self.air >= 0:
            os.close(self.air)
            self.air = -1
        for close in self.on_let_go:
            close()
        self._lock.forget()

    def station(self, node: int) -> Station:
        """The namespace of a node, with the sockets in it."""
        return self._stations[node]

    def socket_in(self, node: int) -> socket.socket:
        """A UDP socket in the namespace of a node, for a process that is not in it."""
        with kernel.namespace_kept():
            kernel.enter_namespace(self._stations[node].namespace)
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def close(self) -> None:
        """Destroy the radios, and let the namespaces go with the last process in them. Closing twice does no harm."""
        for node, station in enumerate(self._stations):
            if station.has_radio:
                self._destroy(node, station)
        self._lock.release()
        self.let_go()
        self._stations.clear()

    # -- making them -------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        with kernel.namespace_kept():
            kernel.new_namespace()
            self.air = kernel.current_namespace()
            with (
                netlink.Socket(netlink.NETLINK_GENERIC) as made_by,
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain,
            ):
                self._hwsim = netlink.family(made_by, hwsim.FAMILY)
                self._nl80211 = netlink.family(made_by, "nl80211")
                for node in range(self.nodes):
                    self._stations.append(Station())
                    self._make_radio(node, made_by, plain)
                    self._configure(node)

    def _make_radio(self, node: int, made_by: netlink.Socket, plain: socket.socket) -> None:
        """A new radio's interface is the only one in the air, so it can be found by its name; then it moves out."""
        wanted = [
            attribute(hwsim.RADIO_NAME, text(radio_name(self.run, node))),
            attribute(hwsim.PERM_ADDR, self.addresses[node]),
        ]
        if self.frequency_mhz not in _FREE_CHANNELS_MHZ:
            wanted.append(attribute(hwsim.REG_CUSTOM_REG, u32(0)))
        made_by.ask_number(self._hwsim, generic(hwsim.NEW_RADIO, *wanted))
        station = self._stations[node]
        move = generic(
            _SET_WIPHY_NETNS,
            attribute(_IFINDEX, u32(interface_index(plain))),
            attribute(_NETNS_FD, u32(station.namespace)),
        )
        made_by.ask(self._nl80211, move)
        station.has_radio = True

    def _configure(self, node: int) -> None:
        station = self._stations[node]
        index = station.interface_index()
        which = attribute(_IFINDEX, u32(index))
        station.generic.ask(self._nl80211, generic(_SET_INTERFACE, which, attribute(_IFTYPE, u32(_ADHOC))))
        station.route.tell([up(_LOOPBACK), up(index), own_address(index, node)])
        try:
            station.generic.ask(self._nl80211, generic(_JOIN_IBSS, which, *self._cell()))
        except netlink.NetlinkError as error:
            if error.errno != errno.EINVAL:
                raise
            reason = f"the kernel allows no ad hoc network on {self.frequency_mhz} MHz (radio.channel)"
            raise BackendError(f"{reason}: {error.strerror}") from None
        station.generic.ask(self._nl80211, generic(_SET_TX_BITRATE_MASK, which, self._rate_mask()))
        station.route.tell([neighbour(index, peer, mac) for peer, mac in enumerate(self.addresses) if peer != node])

    def _cell(self) -> list[bytes]:
        """The network all stations are in: known beforehand, so that nobody has to look for it."""
        return [
            attribute(_SSID_ATTRIBUTE, _SSID),
            attribute(_WIPHY_FREQ, u32(self.frequency_mhz)),
            attribute(_FREQ_FIXED, b""),
            attribute(_MAC, cell_address(self.run)),
            attribute(_BEACON_INTERVAL, u32(BEACON_INTERVAL_TU)),
            attribute(_BSS_BASIC_RATES, u8(round(2 * self.radio.rate))),
            attribute(_MCAST_RATE, u32(round(10 * self.radio.rate))),
        ]

    def _rate_mask(self) -> bytes:
        """One rate for unicasts too: it is the scenario's to choose, not the kernel's."""
        band = 0 if self.frequency_mhz < 5000 else 1
        legacy = attribute(_TXRATE_LEGACY, u8(round(2 * self.radio.rate)))
        return attribute(_TX_RATES, attribute(band, legacy))

    def _destroy(self, node: int, station: Station) -> None:
        """A radio is destroyed from the namespace that it is in."""
        name = attribute(hwsim.RADIO_NAME, radio_name(self.run, node).encode())
        with suppress(OSError):  # gone already, or going with its namespace
            station.generic.ask(self._hwsim, generic(hwsim.DEL_RADIO, name))
        station.has_radio = False


def _silence_ipv6() -> None:
    """Stations speak IPv4; the kernel's own IPv6 chatter would be on the air too."""
    for which in ("all", "default"):
        with suppress(OSError), open(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6", "w") as setting:
            setting.write("1")  # unless the kernel has no IPv6


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
    """Who has which address is known to all, so that nobody asks by broadcast."""
    payload = _NEIGHBOUR.pack(socket.AF_INET, index, _NUD_PERMANENT, 0, 0)
    payload += attribute(_NDA_DST, socket.inet_aton(address(peer))) + attribute(_NDA_LLADDR, mac)
    return _RTM_NEWNEIGH, netlink.CREATE | netlink.REPLACE, payload
