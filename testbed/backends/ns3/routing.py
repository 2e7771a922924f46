"""Routing by ns-3's own protocols, for algorithms that address any node.

A protocol's intervals follow the hello interval of the scenario. What ns-3 derives from that interval, or gives as its
multiple, keeps ns-3's own proportion; what is about the time that a hop takes stays as ns-3 has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from testbed.scenario.links import RadioChoice
from testbed.scenario.schema import Scenario

ROUTING_STREAM = 1_000_000
"""The first random stream of the protocols: those of the devices are before it."""


@dataclass(frozen=True)
class Protocol:
    """A routing protocol of ns-3."""

    kind: str
    """What its control messages are called in counts of frames."""
    port: int
    """Their UDP port."""
    helper: str
    intervals: dict[str, float]
    """Attributes that are times, in hello intervals."""
    flags: dict[str, bool]
    hello_s: tuple[float, float]
    """The shortest and the longest hello interval that its messages can carry."""


PROTOCOLS = {
    "olsr": Protocol(
        "Olsr", 698, "OlsrHelper",
        # RFC 3626 writes how long a message is valid, 3 intervals, as 1/16 s or more, in a byte.
        {"HelloInterval": 1.0, "TcInterval": 2.5, "MidInterval": 2.5, "HnaInterval": 2.5}, {}, (0.021, 500.0),
    ),
    "aodv": Protocol(
        "Aodv", 654, "AodvHelper",
        {"HelloInterval": 1.0, "ActiveRouteTimeout": 3.0, "DeletePeriod": 15.0},
        {"EnableBroadcast": False},  # a broadcast is for neighbours, not for all stations
        (0.01, 100_000.0),
    ),
    "dsdv": Protocol(
        "Dsdv", 269, "DsdvHelper",
        {"PeriodicUpdateInterval": 1.0, "SettlingTime": 1 / 3},
        {}, (0.01, 100_000.0),
    ),
}  # fmt: skip
FORWARDED = "Forwarded"
"""What datagrams of stations that other stations send on are called in counts of frames."""
_AODV_PATH_DISCOVERY_S = 5.6
"""ns-3's default."""


def hello_s(scenario: Scenario) -> float:
    """The hello interval of a scenario, in seconds."""
    assert isinstance(scenario.links, RadioChoice), "ns-3 has no ideal links"
    return scenario.links.hello * scenario.time_unit


def make_helper(ns: Any, routing: str, hello_s: float) -> Any:
    """The helper that InternetStackHelper installs a protocol with."""
    helper = getattr(ns, PROTOCOLS[routing].helper)()
    for name, interval_ns in intervals_ns(routing, hello_s).items():
        helper.Set(name, ns.TimeValue(ns.NanoSeconds(interval_ns)))
    for name, is_on in PROTOCOLS[routing].flags.items():
        helper.Set(name, ns.BooleanValue(is_on))
    return helper


def intervals_ns(routing: str, hello_s: float) -> dict[str, int]:
    """The attributes of a protocol that are times, in nanoseconds."""
    seconds = {name: hellos * hello_s for name, hellos in PROTOCOLS[routing].intervals.items()}
    if routing == "aodv":
        seconds["MyRouteTimeout"] = 2 * max(3 * hello_s, _AODV_PATH_DISCOVERY_S)
    return {name: round(value * 1e9) for name, value in seconds.items()}


def assign_streams(ns: Any, routing: str, nodes: Any) -> None:
    """Give the protocol of every node a random stream of its own; DsdvHelper cannot."""
    kind = getattr(ns, routing).RoutingProtocol
    for number in range(nodes.GetN()):
        nodes.Get(number).GetObject[kind]().AssignStreams(ROUTING_STREAM + number)


def let_aodv_notice_lost_frames(ns: Any, nodes: Any, devices: Any) -> None:
    """AODV looks up in the ARP caches to whom a frame was that got no acknowledgement: in permanent entries only."""
    addresses, caches = [], []
    for number in range(nodes.GetN()):
        ip = nodes.Get(number).GetObject[ns.Ipv4L3Protocol]()
        interface = ip.GetInterfaceForDevice(devices.Get(number))
        addresses.append(ip.GetAddress(interface, 0).GetLocal())
        caches.append(ip.GetInterface(interface).GetArpCache())
    for own, cache in zip(addresses, caches, strict=True):
        for address in addresses:
            if address != own:
                cache.Lookup(address).MarkPermanent()
