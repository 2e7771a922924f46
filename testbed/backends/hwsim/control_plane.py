"""What has to be set in a network namespace with a radio: links, addresses, neighbours, routes, the ad hoc cell.

Two implementations do the same. `pyroute2_control` is the usual one. `netlink_control` packs the few messages by hand
and starts in a tenth of the time; a guest under software emulation uses it, where importing pyroute2 alone takes
seconds (docs/decisions/0004-pyroute2-and-the-guest.md).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from testbed.extras import missing

CHOICE = "TESTBED_CONTROL_PLANE"
"""An environment variable that names the implementation; guests set it."""
IMPLEMENTATIONS = {
    "pyroute2": "testbed.backends.hwsim.pyroute2_control:Pyroute2Control",
    "netlink": "testbed.backends.hwsim.netlink_control:NetlinkControl",
}
BABEL_ROUTES = 42
"""The protocol number of babeld's routes."""


class ControlError(OSError):
    """The kernel refused a request; it may have said why."""


@dataclass(frozen=True)
class AdHocCell:
    """The ad hoc network that all stations are in, known beforehand, so that no station has to scan for it."""

    ssid: bytes
    frequency_mhz: int
    bssid: bytes
    beacon_interval_tu: int
    rate_mbps: float
    """For broadcasts and, by `NamespaceControl.fix_rate`, for unicasts: the scenario's choice, not the kernel's."""


class NamespaceControl(Protocol):
    """Requests to the kernel in one network namespace: the one in which the object was made.

    What the kernel refuses is a `ControlError`. Interfaces are known by their numbers. An object is closed before its
    process forks: pyroute2's event loops do not survive that.
    """

    def interface_index(self, name: str) -> int:
        """The number of an interface."""

    def bring_up(self, index: int) -> None:
        """Let an interface send and receive."""

    def set_hardware_address(self, index: int, mac: bytes) -> None:
        """Give an interface a MAC address."""

    def add_address(self, index: int, address: str, prefix_length: int, broadcast: str) -> None:
        """Give an interface an IPv4 address."""

    def remove_address(self, index: int, address: str, prefix_length: int) -> None:
        """Take it away again."""

    def set_neighbours(self, index: int, macs: Mapping[str, bytes]) -> None:
        """The MAC addresses of neighbours by their IP addresses, for good: no station asks by broadcast."""

    def remove_routes(self, protocol: int) -> int:
        """Take the IPv4 routes of a routing protocol out of the kernel; returns how many there were."""

    def add_mesh(self, name: str, mac: bytes) -> None:
        """Make an interface of batman-adv."""

    def set_master(self, index: int, master: int) -> None:
        """Make an interface a port of another."""

    def make_ad_hoc(self, index: int) -> None:
        """Turn a radio's interface into one for ad hoc networks."""

    def move_radio(self, index: int, namespace: int) -> None:
        """Move the radio of an interface into another network namespace, given by a descriptor."""

    def join_cell(self, index: int, cell: AdHocCell) -> None:
        """Join an ad hoc network."""

    def fix_rate(self, index: int, cell: AdHocCell) -> None:
        """Send unicasts at the cell's rate only."""

    def close(self) -> None:
        """Close the sockets. Closing twice does no harm."""


def open_control() -> NamespaceControl:
    """Requests to the kernel in the network namespace that the calling thread is in."""
    module, _, kind = IMPLEMENTATIONS[os.environ.get(CHOICE, "pyroute2")].partition(":")
    control: NamespaceControl = getattr(importlib.import_module(module), kind)()
    return control


def missing_control() -> str | None:
    """None if the chosen implementation can be used here, or one line that says how to get it."""
    return missing("hwsim") if os.environ.get(CHOICE, "pyroute2") == "pyroute2" else None
