"""From a scenario to a network of Mininet-WiFi: the arguments of its calls, and what is refused."""

from __future__ import annotations

from math import log10, pi
from pathlib import Path

import pytest

from testbed.backends.mininet_wifi.plan import NetworkPlan, plan_network
from testbed.backends.repetition import Repetition
from testbed.checkout import PROJECT
from testbed.errors import InputError
from testbed.randomness import Streams
from testbed.scenario.loader import load

LINE = PROJECT / "scenarios/mininet-wifi/line.yaml"


def plan(*overrides: str, scenario: Path = LINE) -> NetworkPlan:
    made = load(scenario, list(overrides))
    return plan_network(Repetition(made, Streams(made.seed, 0)))


def path_loss(distance: float, exponent: float) -> int:
    """As wmediumd computes it for channel 1: free space for the first metre, whole decibels."""
    return int(20 * log10(4 * pi * 2412e6 / 299_792_458) + 10 * exponent * log10(distance))


def test_a_line_of_three() -> None:
    made = plan()
    assert made.medium == "ours"
    assert list(made.stations) == ["sta1", "sta2", "sta3"]
    assert [station["ip"] for station in made.stations.values()] == ["10.77.0.1/16", "10.77.0.2/16", "10.77.0.3/16"]
    assert [station["position"] for station in made.stations.values()] == [
        "0.000,5.000,0.000", "30.000,5.000,0.000", "60.000,5.000,0.000",
    ]  # fmt: skip
    assert (made.link["mode"], made.link["channel"], made.link["bitrates"]) == ("g", 1, "legacy-2.4 6")
    assert made.link["ibss"].startswith("fixed-freq 02:")
    assert made.link["ibss"].endswith("mcast-rate 6")
    assert "proto" not in made.link
    assert made.propagation == {}


def test_the_radio_is_the_scenarios() -> None:
    made = plan("radio.standard=802.11a", "radio.channel=40", "radio.rate=24")
    assert (made.link["mode"], made.link["channel"], made.link["bitrates"]) == ("a", 40, "legacy-5 24")
    made = plan("radio.standard=802.11b", "radio.channel=11", "radio.rate=5.5")
    assert (made.link["mode"], made.link["channel"], made.link["bitrates"]) == ("b", 11, "legacy-2.4 5.5")


@pytest.mark.parametrize("exponent", [2.0, 3.0, 4.1])
@pytest.mark.parametrize(("rate", "weakest"), [("6", -90), ("54", -73)])
def test_with_wmediumd_the_range_is_the_scenarios(exponent: float, rate: str, weakest: int) -> None:
    """At the range the signal is the weakest that wmediumd delivers at this rate; a decibel further it is too weak."""
    made = plan("medium=wmediumd", f"radio.propagation.exponent={exponent}", "radio.propagation.kind=log-distance",
                f"radio.rate={rate}")  # fmt: skip
    assert made.propagation == {"model": "logDistance", "exp": exponent}
    (power,) = {station["txpower"] for station in made.stations.values()}
    assert made.link["txpower"] == power
    assert {station["antennaGain"] for station in made.stations.values()} == {0}
    a_decibel_further = 50.0 * 10 ** (1.0 / 10 / exponent)
    assert power - path_loss(50.0, exponent) == weakest
    assert power - path_loss(a_decibel_further + 0.01, exponent) < weakest


def test_other_models_of_wmediumd() -> None:
    made = plan("medium=wmediumd", "radio.propagation={kind: friis, system_loss: 4}")
    assert made.propagation == {"model": "friis", "sL": 4}
    assert made.stations["sta1"]["txpower"] == -90 + int(20 * log10(4 * pi * 2412e6 / 299_792_458 * 50.0) + 6.0206)
    made = plan("medium=wmediumd", "radio.propagation=range")
    assert made.propagation["model"] == "logDistance"
    assert made.stations["sta1"]["txpower"] - path_loss(50.0, 3.0) == -90


@pytest.mark.parametrize(
    ("routing", "proto"), [("babel", "babel"), ("batman", "batman_adv")], ids=lambda one: one if one else ""
)
def test_routing_by_its_own_names(routing: str, proto: str) -> None:
    made = plan("algorithm.name=raymond-tree", f"routing={routing}", "links.hello=0.5", "time_unit=0.4")
    assert made.link["proto"] == proto
    if routing == "babel":
        arguments = made.link["proto_args"]
        assert "-h 0.20 " in arguments
        assert "'redistribute local ip 10.77.0.0/16'" in arguments


def test_stations_without_positions_get_some() -> None:
    made = plan("topology={kind: complete}", "placement=null", "mobility=null", "area=null", "radio=null")
    assert len({station["position"] for station in made.stations.values()}) == 3


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["radio.channel=13"], "radio.channel: found 13; allowed on mininet-wifi: 1 to 11, which Mininet-WiFi knows"),
        (["medium=wmediumd", "links.loss=0.1"], "links.loss: found 0.1; allowed with medium wmediumd: none"),
        (["medium=wmediumd", "links.collisions=true"], "links.collisions: found True; allowed with medium wmediumd"),
        (
            ["medium=wmediumd", "radio.propagation=two-ray"],
            "radio.propagation: found two-ray; allowed with medium wmediumd: log-distance, range, or friis",
        ),
        (
            ["medium=wmediumd", "radio.propagation={kind: log-distance, exponent: 2.75}"],
            "radio.propagation: found an exponent of 2.75; allowed with medium wmediumd: exponents with one digit",
        ),
        (
            ["medium=wmediumd", "faults=[{at: 10, kind: cut, node: 0, peer: 1}]"],
            "faults: found cut; allowed with medium wmediumd: crash, restart and vanish",
        ),
        (
            [
                "medium=wmediumd",
                "topology={kind: complete}",
                "placement=null",
                "mobility=null",
                "area=null",
                "radio=null",
            ],
            "topology: found complete; allowed with medium wmediumd: geometric",
        ),
        (
            ["medium=wmediumd", "algorithm.name=raymond-tree", "routing=babel"],
            "routing: found babel; allowed with medium wmediumd: builtin",
        ),
    ],
    ids=lambda one: one[-1].split("=")[0] if isinstance(one, list) else "",
)
def test_what_it_cannot_do_is_refused_in_one_line(overrides: list[str], message: str) -> None:
    with pytest.raises(InputError) as refused:
        plan(*overrides)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
