"""From a scenario to a network of Mininet-WiFi: the arguments of its calls. Nothing here needs Mininet-WiFi.

Node n is station sta(n+1). Positions come from the scenario's trajectories, never from Mininet-WiFi's mobility models.

**wmediumd** has a radio model of its own: power and path loss in whole decibels, frame errors from a table by the
strength of the signal. It is given the power at which its range is the scenario's, to a decibel; within that range
wmediumd decides which frames are lost. What it cannot model is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log10, pi
from typing import Any

from testbed.backends.hwsim.names import PREFIX_LENGTH, address, network
from testbed.backends.hwsim.radios import BEACON_INTERVAL_TU
from testbed.backends.repetition import Repetition
from testbed.errors import InputError
from testbed.mobility.trajectory import Position
from testbed.radio.path_loss import LIGHT_M_PER_S, Friis, LogDistance, PlainRange
from testbed.radio.radio import Radio
from testbed.scenario.links import RadioChoice
from testbed.scenario.schema import Scenario

WMEDIUMD = "wmediumd"
MAX_NODES = 254
"""Mininet-WiFi's `batman_adv` has one byte for the number of a station."""
WEAKEST_DBM = {
    1.0: -90, 2.0: -90, 5.5: -90, 11.0: -89,
    6.0: -90, 9.0: -90, 12.0: -88, 18.0: -85, 24.0: -83, 36.0: -79, 48.0: -75, 54.0: -73,
}  # fmt: skip
"""By rate: the signal at which wmediumd, as Mininet-WiFi 2.7 starts it, delivers about half of the frames. It drops all
broadcasts below -90 dBm."""
_MODES = {"802.11b": "b", "802.11g": "g", "802.11a": "a"}
_LAST_2_4_GHZ_CHANNEL = 11
_SSID = "testbed"
_CELL = "02:54:42:00:00:01"
_PROTOCOLS = {"builtin": None, "babel": "babel", "batman": "batman_adv"}
"""Mininet-WiFi's names for the values of `routing`."""


@dataclass(frozen=True)
class NetworkPlan:
    """The keyword arguments of the calls."""

    medium: str
    stations: dict[str, dict[str, Any]]
    """Of `addStation`, by name."""
    link: dict[str, Any]
    """Of `addLink` with `cls=adhoc`, for all stations."""
    propagation: dict[str, Any] = field(default_factory=dict)
    """Of `setPropagationModel`; empty with our own medium."""


def name_of(node: int) -> str:
    """The name of a node's station."""
    return f"sta{node + 1}"


def interface_of(node: int) -> str:
    """The name of the interface that Mininet-WiFi gives a node's station."""
    return f"{name_of(node)}-wlan0"


def position_text(position: Position) -> str:
    """A position in the form that Mininet-WiFi takes, to a millimetre."""
    return ",".join(f"{value:.3f}" for value in position)


def plan_network(repetition: Repetition) -> NetworkPlan:
    """What to build for a repetition; `InputError` if Mininet-WiFi cannot."""
    scenario, radio = repetition.scenario, repetition.scenario.radio or Radio()
    _refuse_impossible(scenario, radio)
    if scenario.medium == WMEDIUMD:
        _refuse_for_wmediumd(repetition)
    power = _wmediumd_power(radio) if scenario.medium == WMEDIUMD else round(radio.tx_power_dbm)
    stations = {
        name_of(node): {
            "ip": f"{address(node)}/{PREFIX_LENGTH}",
            "position": position_text(position),
            "txpower": power,
            "antennaGain": 0,  # the power includes it
        }
        for node, position in enumerate(starts(repetition))
    }
    return NetworkPlan(
        medium=scenario.medium,
        stations=stations,
        link=_link(scenario, radio, power),
        propagation=_wmediumd_propagation(radio) if scenario.medium == WMEDIUMD else {},
    )


def starts(repetition: Repetition) -> list[Position]:
    """The positions of the stations at the start; any will do where the scenario has no positions."""
    if repetition.geometry is None:
        return [Position(float(node), 0.0) for node in range(repetition.scenario.stations)]
    return [path.at(0.0) for path in repetition.geometry.trajectories]


def _link(scenario: Scenario, radio: Radio, power: int) -> dict[str, Any]:
    rate, band = f"{radio.rate:g}", "5" if radio.standard == "802.11a" else "2.4"
    # What Mininet-WiFi calls `ibss` is the end of `iw dev ... ibss join`: one known cell, so that no station scans; few
    # beacons; and the scenario's rate for everything.
    cell = f"fixed-freq {_CELL} beacon-interval {BEACON_INTERVAL_TU} basic-rates {rate} mcast-rate {rate}"
    link: dict[str, Any] = {
        "ssid": _SSID,
        "mode": _MODES[radio.standard],
        "channel": radio.channel,
        "txpower": power,
        "bitrates": f"legacy-{band} {rate}",
        "ibss": cell,
    }
    protocol = _PROTOCOLS[scenario.routing]
    if protocol is not None:
        link["proto"] = protocol
    if protocol == "babel":
        link["proto_args"] = _babel_arguments(scenario)
    return link


def _babel_arguments(scenario: Scenario) -> str:
    """As the testbed itself starts babeld: hellos as often as the link layer's, no state file, local addresses only."""
    assert isinstance(scenario.links, RadioChoice)
    hello_s = max(0.05, scenario.links.hello * scenario.time_unit)
    only_ours = f"-C 'redistribute local ip {network()}' -C 'redistribute local deny'"
    return f"-r -S /proc/self/no-state -h {hello_s:.2f} -C 'default update-interval {4 * hello_s:.2f}' {only_ours}"


def _refuse_impossible(scenario: Scenario, radio: Radio) -> None:
    if scenario.stations > MAX_NODES:
        raise InputError(f"nodes: found {scenario.stations}; allowed on mininet-wifi: at most {MAX_NODES} stations")
    if radio.standard != "802.11a" and radio.channel > _LAST_2_4_GHZ_CHANNEL:
        allowed = f"1 to {_LAST_2_4_GHZ_CHANNEL}, which Mininet-WiFi knows"
        raise InputError(f"radio.channel: found {radio.channel}; allowed on mininet-wifi: {allowed}")


# -- wmediumd ---------------------------------------------------------------------------------------------------------


def _refuse_for_wmediumd(repetition: Repetition) -> None:
    scenario, links = repetition.scenario, repetition.scenario.links
    assert isinstance(links, RadioChoice), "real time has no other links"
    if repetition.geometry is None:
        raise _not_wmediumd("topology", scenario.topology.kind, "geometric: it goes by where stations are")
    if any(path.appears > 0.0 or path.leaves < float("inf") for path in repetition.geometry.trajectories):
        raise _not_wmediumd("mobility", "nodes that come or leave", "nodes that stay")
    for key in ("loss", "duplicate", "collisions"):
        if getattr(links, key):
            raise _not_wmediumd(f"links.{key}", str(getattr(links, key)), "none: its losses are its own")
    for fault in scenario.faults:
        if fault.kind in ("cut", "heal"):
            raise _not_wmediumd("faults", fault.kind, "crash, restart and vanish: it keeps no pair apart")
    if scenario.routing != "builtin":
        raise _not_wmediumd("routing", scenario.routing, "builtin: its frames could not be counted")


def _wmediumd_power(radio: Radio) -> int:
    """The power at which the signal at the range is the weakest that wmediumd delivers; it includes the antennas."""
    model, reach = _wmediumd_propagation(radio), radio.reach_m()
    at_a_metre = 20.0 * log10(4.0 * pi * radio.frequency_hz / LIGHT_M_PER_S)
    exponent, system_loss = model.get("exp", 2.0), model.get("sL", 1)
    loss = at_a_metre + 10.0 * exponent * log10(reach) + 10.0 * log10(system_loss)
    return WEAKEST_DBM[radio.rate] + int(loss)  # wmediumd drops the fraction


def _wmediumd_propagation(radio: Radio) -> dict[str, Any]:
    model = radio.propagation
    if isinstance(model, LogDistance):
        if round(model.exponent, 1) != model.exponent:
            found = f"an exponent of {model.exponent:g}"
            raise _not_wmediumd("radio.propagation", found, "exponents with one digit after the point")
        return {"model": "logDistance", "exp": model.exponent}
    if isinstance(model, Friis) and model.system_loss == int(model.system_loss) and not model.min_loss_db:
        return {"model": "friis", "sL": int(model.system_loss)}
    if isinstance(model, PlainRange):
        return {"model": "logDistance", "exp": 3.0}  # from all frames to none within two decibels of the range
    raise _not_wmediumd("radio.propagation", model.kind, "log-distance, range, or friis with a whole system_loss")


def _not_wmediumd(key: str, found: str, allowed: str) -> InputError:
    return InputError(f"{key}: found {found}; allowed with medium wmediumd: {allowed}")
