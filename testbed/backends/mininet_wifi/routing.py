"""Kernels that route, on Mininet-WiFi's stations: it has started babeld or batman-adv, the addresses are ours."""

from __future__ import annotations

from testbed.errors import BackendError
from testbed.backends.hwsim.fleet import Fleet, interface_index, neighbour, no_address, own_address
from testbed.backends.hwsim.names import mesh_address
from testbed.backends.hwsim.routing import MESH, let_forward, set_interval, set_mac
from testbed.scenario.links import RadioChoice
from testbed.scenario.schema import Scenario


def set_up(stations: Fleet, scenario: Scenario) -> None:
    """Give stations the addresses that their agents go by, where the kernel will route them."""
    assert isinstance(scenario.links, RadioChoice)
    try:
        for node in range(stations.nodes):
            if scenario.routing == "babel":
                let_forward(stations.station(node), node)
            elif scenario.routing == "batman":
                _move_to_mesh(stations, node, scenario.links.hello * scenario.time_unit)
    except OSError as error:
        raise BackendError(f"cannot set up routing by {scenario.routing}: {error}") from error


def _move_to_mesh(stations: Fleet, node: int, hello_s: float) -> None:
    """Its bat0 has an address of Mininet-WiFi's own; it gets ours besides, and the radio's interface loses it."""
    station = stations.station(node)
    mesh = interface_index(station.plain, MESH)
    station.route.tell([no_address(station.interface_index(), node), set_mac(mesh, mesh_address(stations.run, node))])
    station.route.tell([own_address(mesh, node)])
    set_interval(station, mesh, hello_s)
    peers = [peer for peer in range(stations.nodes) if peer != node]
    station.route.tell([neighbour(mesh, peer, mesh_address(stations.run, peer)) for peer in peers])
