"""Routing by the kernels of Mininet-WiFi's stations: it has started babeld or batman-adv, we set the addresses."""

from __future__ import annotations

from testbed.backends.hwsim.fleet import Fleet, remove_address
from testbed.backends.hwsim.names import mesh_address
from testbed.backends.hwsim.routing import MESH, join_mesh, let_forward
from testbed.errors import BackendError
from testbed.scenario.links import RadioChoice
from testbed.scenario.schema import Scenario


def set_up(stations: Fleet, scenario: Scenario) -> None:
    """Give the stations the addresses of their nodes, in the way that the routing protocol needs."""
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
    """Move the node's address from the radio's interface to bat0, which also keeps the one Mininet-WiFi gave it."""
    station = stations.station(node)
    with station.control() as control:
        mesh = control.interface_index(MESH)
        remove_address(control, control.interface_index(station.interface), node)
        control.set_hardware_address(mesh, mesh_address(stations.run, node))
        join_mesh(stations, node, mesh, control, hello_s)
