"""Real routing between the radios of a run: what of each namespace has to be different.

**babel.** Every station's address is its own network, so that nothing is taken to be in reach; babeld, which runs
beside each station (`babel.py`), puts routes into the kernel. It speaks IPv6 between neighbours.

**batman.** The radio becomes a port of the interface bat0, which has the station's address: to IP all stations are
neighbours, and batman-adv carries Ethernet frames between them. That is done by the kernel alone.

Who has which hardware address is known to all from the beginning, so nobody asks by broadcast.
"""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from testbed.errors import BackendError
from testbed.backends.hwsim import babel
from testbed.backends.hwsim import kernel
from testbed.backends.hwsim import netlink
from testbed.backends.hwsim.fleet import (
    Fleet,
    Request,
    Station,
    interface_index,
    neighbour,
    no_address,
    own_address,
    up,
)
from testbed.backends.hwsim.names import mesh_address
from testbed.backends.hwsim.netlink import attribute, text, u32

MESH = "bat0"
_RTM_NEWLINK = 16
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MASTER, _IFLA_LINKINFO, _IFLA_INFO_KIND = 1, 3, 10, 18, 1
_LINK = struct.Struct("=BxHiII")
_SET_MESH, _MESH_IFINDEX, _ORIG_INTERVAL = 15, 3, 57
_LEAST_INTERVAL_MS = 40
"""That batman-adv allows between two originator messages."""


def set_up(radios: Fleet, routing: str, hello_s: float) -> None:
    """Let the kernels of all stations route; they say hello to each other so often."""
    try:
        if routing == "babel":
            babel.program()  # or an error, before anything is started
            for node in range(radios.nodes):
                let_forward(radios.station(node), node)
        elif routing == "batman":
            kernel.load_module("batman_adv")
            for node in range(radios.nodes):
                _set_up_batman(radios, node, hello_s)
    except OSError as error:
        raise BackendError(f"cannot set up routing by {routing}: {error}") from error


def let_forward(station: Station, node: int) -> None:
    """Make a station a router of IP whose address is a network of its own."""
    index = station.interface_index()
    with kernel.namespace_kept():
        kernel.enter_namespace(station.namespace)
        _set("ipv4/ip_forward", 1)
        for which in ("all", "default", station.interface):
            _set(f"ipv4/conf/{which}/send_redirects", 0)  # everybody forwards by the interface it came from
            _set(f"ipv4/conf/{which}/accept_redirects", 0)
            _set(f"ipv4/conf/{which}/rp_filter", 0)
        _set(f"ipv6/conf/{station.interface}/accept_dad", 0)
        _set(f"ipv6/conf/{station.interface}/router_solicitations", 0)
        for which in ("all", station.interface):
            _set(f"ipv6/conf/{which}/disable_ipv6", 0)
    # In this order: with the last address of an interface the kernel forgets all neighbours.
    station.route.tell([own_address(index, node, 32), no_address(index, node)])


def _set_up_batman(radios: Fleet, node: int, hello_s: float) -> None:
    station = radios.station(node)
    radio = station.interface_index()
    station.route.tell([no_address(radio, node), _new_mesh(mesh_address(radios.run, node))])
    mesh = interface_index(station.plain, MESH)
    station.route.tell([_port_of(mesh, radio), up(mesh), own_address(mesh, node)])
    set_interval(station, mesh, hello_s)
    peers = [peer for peer in range(radios.nodes) if peer != node]
    station.route.tell([neighbour(mesh, peer, mesh_address(radios.run, peer)) for peer in peers])


def set_interval(station: Station, mesh: int, hello_s: float) -> None:
    """How often batman-adv says that a station is there."""
    interval_ms = max(_LEAST_INTERVAL_MS, round(1000 * hello_s))
    family = netlink.family(station.generic, "batadv")
    wanted = (attribute(_MESH_IFINDEX, u32(mesh)), attribute(_ORIG_INTERVAL, u32(interval_ms)))
    station.generic.ask(family, netlink.generic(_SET_MESH, *wanted))


def set_mac(interface: int, mac: bytes) -> Request:
    """Give an interface a hardware address."""
    return _RTM_NEWLINK, 0, _LINK.pack(socket.AF_UNSPEC, 0, interface, 0, 0) + attribute(_IFLA_ADDRESS, mac)


def _new_mesh(mac: bytes) -> Request:
    payload = _LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0) + attribute(_IFLA_IFNAME, text(MESH))
    payload += attribute(_IFLA_ADDRESS, mac) + attribute(_IFLA_LINKINFO, attribute(_IFLA_INFO_KIND, text("batadv")))
    return _RTM_NEWLINK, netlink.CREATE, payload


def _port_of(mesh: int, radio: int) -> Request:
    return _RTM_NEWLINK, 0, _LINK.pack(socket.AF_UNSPEC, 0, radio, 0, 0) + attribute(_IFLA_MASTER, u32(mesh))


def _set(setting: str, value: int) -> None:
    Path("/proc/sys/net", setting).write_text(str(value))
