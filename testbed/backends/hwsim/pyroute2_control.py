"""The control plane with pyroute2, whose maintainers follow the kernel."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from errno import ENODEV, ENOENT
from socket import AF_INET
from typing import Any

from pyroute2 import IW, IPRoute
from pyroute2.netlink import NLM_F_ACK, NLM_F_REQUEST
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.nl80211 import NL80211_NAMES, nl80211cmd

from testbed.backends.hwsim.control_plane import AdHocCell, ControlError
from testbed.backends.hwsim.netlink import attribute

_LEGACY_RATES = 1  # enum nl80211_tx_rate_attributes


class Pyroute2Control:
    """Sockets of pyroute2 in one network namespace."""

    def __init__(self) -> None:
        self._route = IPRoute()
        self._wireless: Any = None
        with suppress(NetlinkError):  # a kernel without Wi-Fi: requests of that kind are refused when they are made
            self._wireless = IW()

    def interface_index(self, name: str) -> int:
        """The number of an interface."""
        found = _ask(self._route.link_lookup, ifname=name)
        if not found:
            raise ControlError(ENODEV, f"no interface {name}")
        index: int = found[0]
        return index

    def bring_up(self, index: int) -> None:
        """Let an interface send and receive."""
        _ask(self._route.link, "set", index=index, state="up")

    def set_hardware_address(self, index: int, mac: bytes) -> None:
        """Give an interface a MAC address."""
        _ask(self._route.link, "set", index=index, address=mac.hex(":"))

    def add_address(self, index: int, address: str, prefix_length: int, broadcast: str) -> None:
        """Give an interface an IPv4 address."""
        _ask(self._route.addr, "add", index=index, address=address, prefixlen=prefix_length, broadcast=broadcast)

    def remove_address(self, index: int, address: str, prefix_length: int) -> None:
        """Take it away again."""
        _ask(self._route.addr, "del", index=index, address=address, prefixlen=prefix_length)

    def set_neighbours(self, index: int, macs: Mapping[str, bytes]) -> None:
        """The MAC addresses of neighbours by their IP addresses, for good."""
        for address, mac in macs.items():
            _ask(self._route.neigh, "replace", ifindex=index, dst=address, lladdr=mac.hex(":"), state="permanent")

    def remove_routes(self, protocol: int) -> int:
        """Take the IPv4 routes of a routing protocol out of the kernel; returns how many there were."""
        return len(list(_ask(self._route.flush_routes, family=AF_INET, proto=protocol)))

    def add_mesh(self, name: str, mac: bytes) -> None:
        """Make an interface of batman-adv."""
        _ask(self._route.link, "add", ifname=name, kind="batadv", address=mac.hex(":"))

    def set_master(self, index: int, master: int) -> None:
        """Make an interface a port of another."""
        _ask(self._route.link, "set", index=index, master=master)

    def make_ad_hoc(self, index: int) -> None:
        """Turn a radio's interface into one for ad hoc networks."""
        _ask(self._radio().set_interface_type, index, "adhoc")

    def move_radio(self, index: int, namespace: int) -> None:
        """Move the radio of an interface into another network namespace, given by a descriptor."""
        self._wireless_request("SET_WIPHY_NETNS", IFINDEX=index, NETNS_FD=namespace)

    def join_cell(self, index: int, cell: AdHocCell) -> None:
        """Join an ad hoc network. `IW.join_ibss` knows neither beacon intervals nor rates, so the message is ours."""
        self._wireless_request(
            "JOIN_IBSS",
            IFINDEX=index,
            SSID=cell.ssid.decode(),
            WIPHY_FREQ=cell.frequency_mhz,
            FREQ_FIXED=b"",
            MAC=cell.bssid.hex(":"),
            BEACON_INTERVAL=struct.pack("=I", cell.beacon_interval_tu),
            BSS_BASIC_RATES=bytes((round(2 * cell.rate_mbps),)),
            MCAST_RATE=struct.pack("=I", round(10 * cell.rate_mbps)),
        )

    def fix_rate(self, index: int, cell: AdHocCell) -> None:
        """Send unicasts at the cell's rate only."""
        band = 0 if cell.frequency_mhz < 5000 else 1
        legacy = attribute(_LEGACY_RATES, bytes((round(2 * cell.rate_mbps),)))
        self._wireless_request("SET_TX_BITRATE_MASK", IFINDEX=index, TX_RATES=attribute(band, legacy))

    def close(self) -> None:
        """Close the sockets."""
        self._route.close()
        if self._wireless is not None:
            self._wireless.close()

    def _wireless_request(self, command: str, **attributes: Any) -> None:
        message = nl80211cmd()
        message["cmd"] = NL80211_NAMES[f"NL80211_CMD_{command}"]
        message["attrs"] = [(f"NL80211_ATTR_{name}", value) for name, value in attributes.items()]
        radio, flags = self._radio(), NLM_F_REQUEST | NLM_F_ACK
        _ask(radio.nlm_request, message, msg_type=radio.prid, msg_flags=flags)

    def _radio(self) -> Any:
        if self._wireless is None:
            raise ControlError(ENOENT, "the kernel has no nl80211")
        return self._wireless


def _ask(request: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Carry out a request of pyroute2; what the kernel refuses is a `ControlError`."""
    try:
        return request(*args, **kwargs)
    except NetlinkError as error:
        raise ControlError(error.code, str(error)) from None
