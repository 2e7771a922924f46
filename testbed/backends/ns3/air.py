"""The stations of one repetition as nodes of ns-3: where they are, their radios, and the channel between them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

from testbed.backends.ns3 import library, radio_models
from testbed.backends.repetition import Repetition
from testbed.mobility.trajectory import Position, Trajectory, Waypoint, standing
from testbed.radio.path_loss import BEYOND_DB
from testbed.radio.radio import Radio

PROPAGATION_STREAM, LOSS_STREAM, FIRST_DEVICE_STREAM = 0, 900, 1000
"""The random streams that ns-3's models are given, so that none depends on what else there is."""
_NEIGHBOUR_NETWORK = ("10.0.0.0", "255.0.0.0")
_NS = 10**9


class Ns3Air:
    """A network of ns-3: an ad hoc cell of Wi-Fi stations. There is only one at a time in a process."""

    def __init__(self, repetition: Repetition) -> None:
        scenario, streams, self._geometry = repetition.scenario, repetition.streams, repetition.geometry
        self._ns = library.reset(streams.seed, streams.repetition)
        self._stations = scenario.stations
        self._nodes = self._ns.NodeContainer()
        self._nodes.Create(self._stations)
        self._place([standing(Position(0.0, 0.0))] * self._stations if self._geometry is None
                    else self._geometry.trajectories)  # fmt: skip
        devices = self._make_devices(scenario.radio or Radio())
        self._make_bridge(devices)
        if loss := repetition.radio_links.loss:
            self._bridge.Lose(loss, LOSS_STREAM)
        if self._geometry is not None and (scenario.radio or Radio()).propagation.deviation_db:
            for pair in combinations(range(self._stations), 2):
                self.set_passable(*pair, True)

    # -- what it is made of ------------------------------------------------------------------------------------------

    def _place(self, trajectories: list[Trajectory]) -> None:
        ns = self._ns
        for node, trajectory in enumerate(trajectories):
            first, *others = waypoints = _from_the_start(trajectory)
            if not others:
                mobility = ns.CreateObject[ns.ConstantPositionMobilityModel]()
                mobility.SetPosition(ns.Vector(*first[1:]))
            else:
                mobility = ns.CreateObject[ns.WaypointMobilityModel]()
                mobility.SetAttribute("LazyNotify", ns.BooleanValue(True))  # no event for a waypoint
                before = -1
                for t, *place in waypoints:
                    before = max(before + 1, round(t * _NS))  # in ns-3 a jump takes a nanosecond
                    mobility.AddWaypoint(ns.Waypoint(ns.NanoSeconds(before), ns.Vector(*place)))
            self._nodes.Get(node).AggregateObject(mobility)

    def _make_devices(self, radio: Radio) -> Any:
        ns, name = self._ns, radio_models.mode(radio)
        phy = ns.YansWifiPhyHelper()
        phy.SetChannel(self._make_channel(radio))
        phy.SetErrorRateModel("ns3::NistErrorRateModel")
        phy.Set("ChannelSettings", ns.StringValue(radio_models.channel_settings(radio)))
        for key, value in radio_models.phy_attributes(radio).items():
            phy.Set(key, ns.DoubleValue(value))
        detection = radio_models.detection_attributes(radio).items()
        words = [word for key, value in detection for word in (key, ns.DoubleValue(value))]
        phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel", *words)
        wifi = ns.WifiHelper()
        wifi.SetStandard(getattr(ns, f"WIFI_STANDARD_{radio_models.STANDARDS[radio.standard]}"))
        modes = [word for key in ("DataMode", "ControlMode", "NonUnicastMode") for word in (key, ns.StringValue(name))]
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", *modes)
        mac = ns.WifiMacHelper()
        mac.SetType("ns3::AdhocWifiMac", "QosSupported", ns.BooleanValue(False))
        devices = wifi.Install(phy, mac, self._nodes)
        ns.WifiHelper.AssignStreams(devices, FIRST_DEVICE_STREAM)
        return devices

    def _make_channel(self, radio: Radio) -> Any:
        """The models of the radio and, first, a table of pairs: their shadowing, and a loss that no signal survives.

        Nodes without places have the table only, without a loss between neighbours.
        """
        ns = self._ns
        self._pairs = ns.CreateObject[ns.MatrixPropagationLossModel]()
        last = self._pairs
        if self._geometry is not None:
            self._pairs.SetDefaultLoss(0.0)
            for name, attributes in radio_models.propagation_models(radio):
                factory = ns.ObjectFactory(name)
                for key, value in attributes.items():
                    factory.Set(key, ns.DoubleValue(value))
                model = factory.Create().GetObject[ns.PropagationLossModel]()
                last.SetNext(model)
                last = model
        else:
            self._pairs.SetDefaultLoss(BEYOND_DB)
        self._pairs.AssignStreams(PROPAGATION_STREAM)  # and of the models after it
        channel = ns.CreateObject[ns.YansWifiChannel]()
        channel.SetPropagationLossModel(self._pairs)
        channel.SetPropagationDelayModel(ns.CreateObject[ns.ConstantSpeedPropagationDelayModel]())
        return channel

    def _make_bridge(self, devices: Any) -> None:
        ns = self._ns
        internet = ns.InternetStackHelper()
        internet.SetIpv6StackInstall(False)
        internet.Install(self._nodes)
        addresses = ns.Ipv4AddressHelper(ns.Ipv4Address(_NEIGHBOUR_NETWORK[0]), ns.Ipv4Mask(_NEIGHBOUR_NETWORK[1]))
        addresses.Assign(devices)
        ns.TrafficControlHelper.Default().Uninstall(devices)  # datagrams wait in the radio only, which a crash empties
        ns.NeighborCacheHelper().PopulateNeighborCache()  # no station asks for addresses by broadcast
        self._bridge = ns.cppyy.gbl.adhoc.Bridge()
        for station in range(self._stations):
            self._bridge.Add(self._nodes.Get(station), devices.Get(station))
        self.run_until: Callable[[int], int] = self._bridge.RunUntil
        """Let time pass until a time in ns, or until a station hears a datagram; returns the station, or -1."""
        self.now_ns: Callable[[], int] = self._bridge.Now

    # -- while it runs -----------------------------------------------------------------------------------------------

    def send(self, station: int, to: int | None, data: bytes) -> None:
        """Put a datagram into the queue of a station's radio, for another station or for all."""
        self._bridge.Send(station, -1 if to is None else to, data)

    def datagram(self) -> bytes:
        """What the station heard that ended the last `run_until`."""
        return bytes(self._bridge.Datagram())

    def set_radio(self, station: int, is_on: bool) -> None:
        """Turn a radio off, which empties its queue, or on."""
        self._bridge.SetRadio(station, is_on)

    def is_on(self, station: int) -> bool:
        """Whether a radio is on."""
        return bool(self._bridge.IsOn(station))

    def position(self, station: int) -> Position:
        """Where ns-3 has a station now."""
        place = self._mobility(station).GetPosition()
        return Position(place.x, place.y, place.z)

    def loss_db(self, a: int, b: int) -> float:
        """The loss of a signal between two stations now, by ns-3; with fading, that of one frame."""
        return -float(self._pairs.CalcRxPower(0.0, self._mobility(a), self._mobility(b)))

    def set_passable(self, a: int, b: int, is_passable: bool) -> None:
        """Let signals of two stations pass, or none of them."""
        gain = 0.0 if self._geometry is None else self._geometry.air.shadowing_db(a, b)
        loss = -gain if is_passable else BEYOND_DB
        self._pairs.SetLoss(self._mobility(a), self._mobility(b), loss, True)  # in both directions

    def _mobility(self, station: int) -> Any:
        return self._nodes.Get(station).GetObject[self._ns.MobilityModel]()


def _from_the_start(trajectory: Trajectory) -> list[Waypoint]:
    """The waypoints from time 0 on; the first is where the node is then."""
    return [Waypoint(0.0, *trajectory.at(0.0)), *(one for one in trajectory.waypoints if one.t > 0.0)]
