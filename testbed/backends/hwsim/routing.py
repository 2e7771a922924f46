"""Real routing between the radios of a run: what of each namespace has to be different.

**babel.** Every station's address is its own network, so that no other address seems to be in reach; babeld, which runs
beside each station (`babel.py`), puts routes into the kernel. It speaks IPv6 between neighbours.

**batman.** The radio becomes a port of the interface bat0, which has the station's address: to IP all stations are
neighbours, and batman-adv carries Ethernet frames between them. The kernel does that alone.

The hardware addresses of all stations are set from the start, so no station asks by broadcast.
"""

from __future__ import annotations

from pathlib import Path

from testbed.backends.hwsim import babel, kernel, netlink
from testbed.backends.hwsim.control_plane import NamespaceControl
from testbed.backends.hwsim.fleet import Fleet, RadioNamespace, remove_address, set_address
from testbed.backends.hwsim.names import address, mesh_address
from testbed.backends.hwsim.netlink import attribute, u32
from testbed.errors import BackendError

MESH = "bat0"
_SET_MESH, _MESH_IFINDEX, _ORIG_INTERVAL = 15, 3, 57  # linux/batman_adv.h
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


def let_forward(station: RadioNamespace, node: int) -> None:
    """Make a station a router of IP whose address is a network of its own."""
    with kernel.namespace_kept():
        kernel.enter_namespace(station.namespace)
        _set("ipv4/ip_forward", 1)
        for which in ("all", "default", station.interface):
            _set(f"ipv4/conf/{which}/send_redirects", 0)  # it forwards by the interface a packet came by
            _set(f"ipv4/conf/{which}/accept_redirects", 0)
            _set(f"ipv4/conf/{which}/rp_filter", 0)
        _set(f"ipv6/conf/{station.interface}/accept_dad", 0)
        _set(f"ipv6/conf/{station.interface}/router_solicitations", 0)
        for which in ("all", station.interface):
            _set(f"ipv6/conf/{which}/disable_ipv6", 0)
    # In this order: with the last address of an interface the kernel forgets all neighbours.
    with station.control() as control:
        index = control.interface_index(station.interface)
        set_address(control, index, node, prefix_length=32)
        remove_address(control, index, node)


def _set_up_batman(radios: Fleet, node: int, hello_s: float) -> None:
    station = radios.station(node)
    with station.control() as control:
        radio = control.interface_index(station.interface)
        remove_address(control, radio, node)
        control.add_mesh(MESH, mesh_address(radios.run, node))
        mesh = control.interface_index(MESH)
        control.set_master(radio, mesh)
        control.bring_up(mesh)
        join_mesh(radios, node, mesh, control, hello_s)


def join_mesh(radios: Fleet, node: int, mesh: int, control: NamespaceControl, hello_s: float) -> None:
    """Give the mesh interface of a station its address, its interval and the mesh addresses of all others."""
    set_address(control, mesh, node)
    set_interval(radios.station(node), mesh, hello_s)
    macs = {address(peer): mesh_address(radios.run, peer) for peer in range(radios.nodes) if peer != node}
    control.set_neighbours(mesh, macs)


def set_interval(station: RadioNamespace, mesh: int, hello_s: float) -> None:
    """How often batman-adv says that a station is there."""
    interval_ms = max(_LEAST_INTERVAL_MS, round(1000 * hello_s))
    family = netlink.family(station.generic, "batadv")
    wanted = (attribute(_MESH_IFINDEX, u32(mesh)), attribute(_ORIG_INTERVAL, u32(interval_ms)))
    station.generic.ask(family, netlink.generic(_SET_MESH, *wanted))


def _set(setting: str, value: int) -> None:
    Path("/proc/sys/net", setting).write_text(str(value))
