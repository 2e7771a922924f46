"""The control plane with messages packed by hand: what a guest under software emulation can afford.

Numbers and layouts are those of the kernel's linux/rtnetlink.h, linux/if_link.h and linux/nl80211.h.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from fcntl import ioctl

from testbed.backends.hwsim import netlink
from testbed.backends.hwsim.control_plane import AdHocCell
from testbed.backends.hwsim.netlink import attribute, generic, text, u8, u32

_RTM_NEWLINK, _RTM_NEWADDR, _RTM_DELADDR, _RTM_DELROUTE, _RTM_GETROUTE, _RTM_NEWNEIGH = 16, 20, 21, 25, 26, 28
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MASTER, _IFLA_LINKINFO, _IFLA_INFO_KIND = 1, 3, 10, 18, 1
_IFA_ADDRESS, _IFA_LOCAL, _IFA_BROADCAST = 1, 2, 4
_NDA_DST, _NDA_LLADDR, _NUD_PERMANENT = 1, 2, 0x80
_IFF_UP = 1
_LINK = struct.Struct("=BxHiII")
_ADDRESS = struct.Struct("=BBBBI")
_NEIGHBOUR = struct.Struct("=BxxxiHBB")
_ROUTE = struct.Struct("=BBBBBBBBI")
_ROUTE_PROTOCOL_AT = 5
_SIOCGIFINDEX = 0x8933
_SET_INTERFACE, _JOIN_IBSS, _SET_WIPHY_NETNS, _SET_TX_BITRATE_MASK = 6, 43, 49, 57
_IFINDEX, _IFTYPE, _MAC, _BEACON_INTERVAL, _BSS_BASIC_RATES, _WIPHY_FREQ = 3, 5, 6, 12, 36, 38
_SSID, _FREQ_FIXED, _TX_RATES, _MCAST_RATE, _NETNS_FD = 52, 60, 90, 107, 219
_ADHOC, _LEGACY_RATES = 1, 1


class NetlinkControl:
    """Netlink sockets in one network namespace."""

    def __init__(self) -> None:
        self._route = netlink.Socket(netlink.NETLINK_ROUTE)
        self._generic = netlink.Socket(netlink.NETLINK_GENERIC)
        self._plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._nl80211: int | None = None

    def interface_index(self, name: str) -> int:
        """The number of an interface."""
        answer = ioctl(self._plain, _SIOCGIFINDEX, struct.pack("16si", name.encode(), 0) + bytes(20))
        index: int = struct.unpack_from("i", answer, 16)[0]
        return index

    def bring_up(self, index: int) -> None:
        """Let an interface send and receive."""
        self._route.ask(_RTM_NEWLINK, _LINK.pack(0, 0, index, _IFF_UP, _IFF_UP))

    def set_hardware_address(self, index: int, mac: bytes) -> None:
        """Give an interface a MAC address."""
        self._route.ask(_RTM_NEWLINK, _LINK.pack(0, 0, index, 0, 0) + attribute(_IFLA_ADDRESS, mac))

    def add_address(self, index: int, address: str, prefix_length: int, broadcast: str) -> None:
        """Give an interface an IPv4 address."""
        own = socket.inet_aton(address)
        payload = _ADDRESS.pack(socket.AF_INET, prefix_length, 0, 0, index)
        payload += attribute(_IFA_LOCAL, own) + attribute(_IFA_ADDRESS, own)
        payload += attribute(_IFA_BROADCAST, socket.inet_aton(broadcast))
        self._route.ask(_RTM_NEWADDR, payload, netlink.CREATE)

    def remove_address(self, index: int, address: str, prefix_length: int) -> None:
        """Take it away again."""
        payload = _ADDRESS.pack(socket.AF_INET, prefix_length, 0, 0, index)
        self._route.ask(_RTM_DELADDR, payload + attribute(_IFA_LOCAL, socket.inet_aton(address)))

    def set_neighbours(self, index: int, macs: Mapping[str, bytes]) -> None:
        """The MAC addresses of neighbours by their IP addresses, for good."""
        head = _NEIGHBOUR.pack(socket.AF_INET, index, _NUD_PERMANENT, 0, 0)
        flags = netlink.CREATE | netlink.REPLACE
        self._route.tell(
            [
                (_RTM_NEWNEIGH, flags, head + attribute(_NDA_DST, socket.inet_aton(ip)) + attribute(_NDA_LLADDR, mac))
                for ip, mac in macs.items()
            ]
        )

    def remove_routes(self, protocol: int) -> int:
        """Take the IPv4 routes of a routing protocol out of the kernel; returns how many there were."""
        routes = self._route.ask(_RTM_GETROUTE, _ROUTE.pack(socket.AF_INET, *(0,) * 8), netlink.DUMP)
        old = [(_RTM_DELROUTE, 0, route) for route in routes if route[_ROUTE_PROTOCOL_AT] == protocol]
        if old:
            self._route.tell(old)
        return len(old)

    def add_mesh(self, name: str, mac: bytes) -> None:
        """Make an interface of batman-adv."""
        kind = attribute(_IFLA_LINKINFO, attribute(_IFLA_INFO_KIND, text("batadv")))
        payload = _LINK.pack(0, 0, 0, 0, 0) + attribute(_IFLA_IFNAME, text(name)) + attribute(_IFLA_ADDRESS, mac) + kind
        self._route.ask(_RTM_NEWLINK, payload, netlink.CREATE)

    def set_master(self, index: int, master: int) -> None:
        """Make an interface a port of another."""
        self._route.ask(_RTM_NEWLINK, _LINK.pack(0, 0, index, 0, 0) + attribute(_IFLA_MASTER, u32(master)))

    def make_ad_hoc(self, index: int) -> None:
        """Turn a radio's interface into one for ad hoc networks."""
        self._wireless(_SET_INTERFACE, index, attribute(_IFTYPE, u32(_ADHOC)))

    def move_radio(self, index: int, namespace: int) -> None:
        """Move the radio of an interface into another network namespace, given by a descriptor."""
        self._wireless(_SET_WIPHY_NETNS, index, attribute(_NETNS_FD, u32(namespace)))

    def join_cell(self, index: int, cell: AdHocCell) -> None:
        """Join an ad hoc network."""
        self._wireless(
            _JOIN_IBSS,
            index,
            attribute(_SSID, cell.ssid),
            attribute(_WIPHY_FREQ, u32(cell.frequency_mhz)),
            attribute(_FREQ_FIXED, b""),
            attribute(_MAC, cell.bssid),
            attribute(_BEACON_INTERVAL, u32(cell.beacon_interval_tu)),
            attribute(_BSS_BASIC_RATES, u8(round(2 * cell.rate_mbps))),
            attribute(_MCAST_RATE, u32(round(10 * cell.rate_mbps))),
        )

    def fix_rate(self, index: int, cell: AdHocCell) -> None:
        """Send unicasts at the cell's rate only."""
        band = 0 if cell.frequency_mhz < 5000 else 1
        legacy = attribute(_LEGACY_RATES, u8(round(2 * cell.rate_mbps)))
        self._wireless(_SET_TX_BITRATE_MASK, index, attribute(_TX_RATES, attribute(band, legacy)))

    def close(self) -> None:
        """Close the sockets."""
        for one in (self._route, self._generic, self._plain):
            one.close()

    def _wireless(self, command: int, index: int, *attributes: bytes) -> None:
        if self._nl80211 is None:
            self._nl80211 = netlink.family(self._generic, "nl80211")
        self._generic.ask(self._nl80211, generic(command, attribute(_IFINDEX, u32(index)), *attributes))
