"""The network of one repetition, made with ns-3's own helpers: nodes that move, and an ad hoc cell of Wi-Fi devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from testbed.backends.ns3 import radio_models, routing
from testbed.backends.repetition import Repetition
from testbed.mobility.trajectory import Position, Trajectory, Waypoint, standing
from testbed.radio.radio import Radio
from testbed.scenario.schema import Scenario

PROPAGATION_STREAM, FIRST_DEVICE_STREAM = 0, 1000
"""The random streams that ns-3's models are given, so that none depends on what else there is."""
_ADDRESSES = ("10.0.0.0", "255.0.0.0")
_NS = 10**9


@dataclass(frozen=True)
class Network:
    """Nodes of ns-3, and the Wi-Fi device of each, in the same order."""

    nodes: Any
    devices: Any


def build(ns: Any, repetition: Repetition) -> Network:
    """The stations of a repetition, all in one channel."""
    scenario, geometry = repetition.scenario, repetition.geometry
    nodes = ns.NodeContainer()
    nodes.Create(scenario.stations)
    places = [standing(Position(0.0, 0.0))] * scenario.stations if geometry is None else geometry.trajectories
    for node, trajectory in enumerate(places):
        nodes.Get(node).AggregateObject(_movement(ns, trajectory))
    radio = scenario.radio or Radio()
    models = radio_models.propagation_models(radio) if geometry is not None else [radio_models.NO_LOSS]
    devices = _make_devices(ns, nodes, radio, _make_channel(ns, models))
    _give_addresses(ns, nodes, devices, scenario)
    return Network(nodes, devices)


def _movement(ns: Any, trajectory: Trajectory) -> Any:
    first, *others = waypoints = _from_the_start(trajectory)
    if not others:
        mobility = ns.CreateObject[ns.ConstantPositionMobilityModel]()
        mobility.SetPosition(ns.Vector(*first[1:]))
        return mobility
    mobility = ns.CreateObject[ns.WaypointMobilityModel]()
    mobility.SetAttribute("LazyNotify", ns.BooleanValue(True))  # no event for a waypoint
    before = -1
    for t, *place in waypoints:
        before = max(before + 1, round(t * _NS))  # in ns-3 a jump takes a nanosecond
        mobility.AddWaypoint(ns.Waypoint(ns.NanoSeconds(before), ns.Vector(*place)))
    return mobility


def _from_the_start(trajectory: Trajectory) -> list[Waypoint]:
    """The waypoints from time 0 on; the first is where the node is then."""
    return [Waypoint(0.0, *trajectory.at(0.0)), *(one for one in trajectory.waypoints if one.t > 0.0)]


def _make_channel(ns: Any, models: list[radio_models.Model]) -> Any:
    channel = ns.CreateObject[ns.YansWifiChannel]()
    last = None
    for name, attributes in models:
        factory = ns.ObjectFactory(name)
        for key, value in attributes.items():
            factory.Set(key, ns.DoubleValue(value))
        model = factory.Create().GetObject[ns.PropagationLossModel]()
        if last is None:
            channel.SetPropagationLossModel(model)
            first = model
        else:
            last.SetNext(model)
        last = model
    first.AssignStreams(PROPAGATION_STREAM)  # and of the models after it
    channel.SetPropagationDelayModel(ns.CreateObject[ns.ConstantSpeedPropagationDelayModel]())
    return channel


def _make_devices(ns: Any, nodes: Any, radio: Radio, channel: Any) -> Any:
    phy = ns.YansWifiPhyHelper()
    phy.SetChannel(channel)
    phy.SetErrorRateModel("ns3::NistErrorRateModel")
    phy.Set("ChannelSettings", ns.StringValue(radio_models.channel_settings(radio)))
    for key, value in radio_models.phy_attributes(radio).items():
        phy.Set(key, ns.DoubleValue(value))
    detection = radio_models.detection_attributes(radio).items()
    words = [word for key, value in detection for word in (key, ns.DoubleValue(value))]
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel", *words)
    wifi = ns.WifiHelper()
    wifi.SetStandard(getattr(ns, f"WIFI_STANDARD_{radio_models.STANDARDS[radio.standard]}"))
    manager, modes = radio_models.rate_manager(radio)
    wifi.SetRemoteStationManager(
        manager, *(word for key, mode in modes.items() for word in (key, ns.StringValue(mode)))
    )
    mac = ns.WifiMacHelper()
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", ns.BooleanValue(False))
    devices = wifi.Install(phy, mac, nodes)
    ns.WifiHelper.AssignStreams(devices, FIRST_DEVICE_STREAM)
    return devices


def _give_addresses(ns: Any, nodes: Any, devices: Any, scenario: Scenario) -> None:
    internet = ns.InternetStackHelper()
    internet.SetIpv6StackInstall(False)
    if scenario.routing != "builtin":
        internet.SetRoutingHelper(routing.make_helper(ns, scenario.routing, routing.hello_s(scenario)))
    internet.Install(nodes)
    network, mask = _ADDRESSES
    ns.Ipv4AddressHelper(ns.Ipv4Address(network), ns.Ipv4Mask(mask)).Assign(devices)
    ns.TrafficControlHelper.Default().Uninstall(devices)  # datagrams wait in the radio only, which a crash empties
    ns.NeighborCacheHelper().PopulateNeighborCache()  # no station asks for addresses by broadcast
    if scenario.routing != "builtin":
        routing.assign_streams(ns, scenario.routing, nodes)
    if scenario.routing == "aodv":
        routing.let_aodv_notice_lost_frames(ns, nodes, devices)
