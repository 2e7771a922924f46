"""The agents of a scenario on a network of ns-3 that a script of the user has built, in the script's process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from analysis.batched import BatchedListener
from analysis.listener import Listener
from testbed.backends.base import Backend, RunOptions
from testbed.backends.ns3 import library
from testbed.backends.ns3.backend import Ns3Backend
from testbed.backends.ns3.network import Network
from testbed.errors import InputError
from testbed.randomness import Streams
from testbed.runtime.handler_watch import HandlerWatch
from testbed.scenario.schema import Scenario


class AttachedNs3(Ns3Backend):
    """Runs once, on the nodes and devices that `RunOptions.attach` names. What is between them is the script's."""

    may_abort = False  # a worker process would leave the script without the results of its own applications

    def check(self, scenario: Scenario, options: RunOptions) -> None:
        """Refuse a network on which the agents cannot run."""
        if len(options.attach) != 2 or not all(hasattr(one, "GetN") for one in options.attach):
            Backend.check(self, scenario, options)  # numbers of processes, from the command line
        if scenario.repeat != 1:
            raise _refusal(f"repeat: {scenario.repeat}", "1, for a network runs once")
        check_network(Network(*options.attach), scenario.stations)

    def run_repetition(
        self,
        scenario: Scenario,
        repetition: int,
        listener: Listener,
        report: Callable[[float], None],
        folder: Path | None,
        options: RunOptions,
    ) -> None:
        """Run the agents until the scenario ends. The network stays as it is then: the script may still ask it."""
        from testbed.backends.ns3.simulation import Ns3Simulation

        assert isinstance(listener, BatchedListener), "virtual time passes frequent events in batches"
        simulation: Ns3Simulation | None = None
        with HandlerWatch(scenario.handler_limit, lambda: -1 if simulation is None else simulation.now):
            streams, network = Streams(scenario.seed, repetition), Network(*options.attach)
            simulation = Ns3Simulation(scenario, streams, listener, attached=network)
            library.keep(simulation.air)
            try:
                simulation.run_all(report)
            finally:
                simulation.air.close()


def check_network(network: Network, stations: int) -> None:
    """Raise an `InputError` unless the first nodes are stations: with a place, an address and a Wi-Fi device each."""
    ns = library.load()
    for what, found in (("nodes", network.nodes), ("devices", network.devices)):
        if found.GetN() < stations:
            raise _refusal(f"{found.GetN()} {what}", f"one for each of {stations} stations")
    if ns.Simulator.Now().GetNanoSeconds():
        raise _refusal(f"ns-3's clock at {ns.Simulator.Now().GetSeconds():g} s", "0 s, where agents begin")
    channels = set()
    for station in range(stations):
        node, device = network.nodes.Get(station), network.devices.Get(station)
        name = f"node {station}"
        if device.GetNode().GetId() != node.GetId():
            raise _refusal(f"device {station} of another node than {name}", "devices in the order of nodes")
        if not node.GetObject[ns.MobilityModel]():
            raise _refusal(f"{name} without a mobility model", "nodes that have one")
        wifi = device.GetObject[ns.WifiNetDevice]()
        channel = device.GetChannel().GetObject[ns.YansWifiChannel]() if wifi else None
        if not channel:
            raise _refusal(f"device {station} on no YansWifiChannel", "a WifiNetDevice on one")
        channels.add(channel.GetId())
        ip = node.GetObject[ns.Ipv4]()
        interface = ip.GetInterfaceForDevice(device) if ip else -1
        if interface < 0 or not ip.GetNAddresses(interface):
            raise _refusal(f"device {station} without an IPv4 address", "an address for each")
    if len(channels) > 1:
        raise _refusal(f"stations on {len(channels)} channels", "one, in which a fault can cut links")


def _refusal(found: str, allowed: str) -> InputError:
    return InputError(f"run_agents: found {found}; allowed: {allowed}")
