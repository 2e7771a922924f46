"""Algorithms that address any node over ns-3's routing protocols, and what these send is counted."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agents.contract import TICKS
from testbed.backends.base import RunOptions
from testbed.experiments.measure import measure
from testbed.runtime.stack import Stack
from testbed.scenario.loader import load
from tests.testbed.backends.ns3 import on_ns3
from tests.testbed.backends.ns3.captured import datagrams
from tests.testbed.backends.ns3.test_air import MS, make_air
from tests.testbed.backends.ns3.test_simulation import LINE
from tests.testbed.backends.test_every_algorithm import MOVING, ROUTED
from tests.testbed.simulate import ALL_OK, Simulated, all_ok

pytestmark = [pytest.mark.xdist_group("ns3"), pytest.mark.usefixtures("ns3")]

PROTOCOLS = {"olsr": "Olsr", "aodv": "Aodv", "dsdv": "Dsdv"}
PORTS = {"olsr": 698, "aodv": 654, "dsdv": 269}
each = pytest.mark.parametrize("routing", PROTOCOLS)

WALKING = {**MOVING, "time_unit": 1.0, "mobility": {"kind": "random-waypoint", "speed": [2, 6]}, "warmup": 10.0}
"""The same paths in time units, at speeds and with hellos for which such protocols are made."""
RR_IN_LINE = {**LINE, "algorithm": "raymond-tree", "warmup": 15.0, "duration": 70.0}


def frames(done: Simulated) -> dict[str, tuple[int, int]]:
    """Frames and bytes, by kind."""
    return {one["type"]: (one["count"], one["bytes"]) for one in done.diary.of("frames")}


@each
@pytest.mark.parametrize("name", ROUTED)
def test_algorithms_on_a_network_that_moves(routing: str, name: str) -> None:
    """Safe, and every request served, although the network is partitioned for a while; and ns-3 found the routes."""
    done = on_ns3.run(**WALKING, algorithm=name, routing=routing)
    assert done.verdicts == all_ok(name), done.details
    assert done.details["starvation"] == "every request served"
    assert done.audit.metrics()["entries"] > 10
    counts = frames(done)
    assert set(counts) == {"Packet", "Receipt", "Who", "Forwarded", PROTOCOLS[routing]}
    assert counts["Forwarded"][0] > 5
    assert counts[PROTOCOLS[routing]][0] > 100


@each
def test_neighbourhoods_whose_places_have_stations(routing: str) -> None:
    """The beacons of places are broadcasts, and what is for one station follows the routes."""
    path = Path(__file__).resolve().parents[4] / "scenarios/neighbourhoods/two-places.yaml"
    keys = load(path).model_dump(exclude={"links", "backend", "algorithm", "routing"})
    done = on_ns3.run(**{**keys, "algorithm": "klme", "duration": 60.0, "routing": routing})
    assert done.verdicts == ALL_OK, done.details
    assert done.audit.metrics()["entries"] > 10
    assert {"Beacon", PROTOCOLS[routing]} <= set(frames(done))


@each
def test_a_broadcast_is_for_neighbours(routing: str) -> None:
    """Each hears it once, also when there are routes to all others; a unicast reaches the other end of the line."""
    air = make_air(**{**LINE, "nodes": 4, "algorithm": "raymond-tree", "routing": routing})
    assert air.run_until(20_000 * MS) == -1, "control messages are none of ours"
    for sender, neighbours in ((0, [1]), (1, [0, 2])):
        for number in range(3):
            air.send(sender, None, b"beacon %d" % number)
            heard = []
            while (station := air.run_until(air.now_ns() + 1_000 * MS)) >= 0:
                assert air.datagram() == b"beacon %d" % number
                heard.append(station)
            assert sorted(heard) == neighbours
    air.send(0, 3, b"far")
    assert air.run_until(air.now_ns() + 5_000 * MS) == 3
    assert air.datagram() == b"far"
    assert air.run_until(air.now_ns() + 5_000 * MS) == -1
    assert air.routing_counts()["Forwarded"] == (2, 2 * len(b"far")), "by two stations between them"


@each
def test_a_partition_that_heals(routing: str) -> None:
    """Nothing passes the cut; later all requests are served."""
    faults = [{"at": 25, "kind": "cut", "group": [0, 1]}, {"at": 45, "kind": "heal"}]
    done = on_ns3.run(**RR_IN_LINE, routing=routing, faults=faults)
    assert done.verdicts == ALL_OK, done.details
    assert done.details["starvation"] == "every request served"
    across = [one["t"] for one in done.diary.of("recv") if (one["node"] < 2) != (one["peer"] < 2)]
    assert min(across) < 25
    assert max(across) > 45
    assert not [t for t in across if 25.01 < t < 45]


def test_aodv_learns_from_the_radio_that_a_neighbour_has_gone() -> None:
    """A frame without an acknowledgement is enough: another route is found well before hellos are missed."""
    links = {"kind": "explicit", "links": [[0, 1], [1, 3], [0, 2], [2, 3]]}
    places = dict.fromkeys(("area", "placement", "radio"))
    air = make_air(**{**LINE, **places, "algorithm": "raymond-tree", "topology": links, "routing": "aodv"})
    for a, b in links["links"]:
        air.set_passable(a, b, True)
    gaps_ms = []
    for neighbour in (1, 2):  # one of them is on the route
        arrived = [air.now_ns()]
        for number in range(100):
            air.set_passable(0, neighbour, not 20 <= number < 80)
            air.send(0, 3, b"are you there?")
            end = air.now_ns() + 50 * MS
            while (station := air.run_until(end)) >= 0:
                assert station == 3
                arrived.append(air.now_ns())
        gaps_ms.append(max(after - before for before, after in pairwise(arrived)) / MS)
    assert max(gaps_ms) > 60, "a route was lost"
    assert max(gaps_ms) < 1_000, "as long as two hellos are not missed"


# -- crashes ----------------------------------------------------------------------------------------------------------


@each
def test_a_crashed_station_does_not_forward(routing: str) -> None:
    """A node in the middle of the line crashes and comes back: nothing passes it meanwhile, and all is well later."""
    faults = [{"at": 30, "kind": "crash", "node": 2}, {"at": 50, "kind": "restart", "node": 2}]
    done = on_ns3.run(**{**RR_IN_LINE, "algorithm": "ricart-agrawala"}, routing=routing, faults=faults)
    assert (done.verdicts["safety"], done.verdicts["order"], done.verdicts["contract"]) == ("ok", "ok", "ok")
    passed = [one["t"] for one in done.diary.of("recv") if {one["node"] // 2, one["peer"] // 2} == {0, 1}]
    assert min(passed) < 30
    assert max(passed) > 50
    assert not [t for t in passed if 30.01 < t < 50]


def test_what_a_crashed_process_had_sent_is_dropped_wherever_it_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """AODV keeps datagrams while there is no route: when there is one, their process is another."""
    faults = [
        {"at": 25, "kind": "cut", "group": [0]},
        {"at": 27, "kind": "crash", "node": 0},
        {"at": 27.5, "kind": "restart", "node": 0},
        {"at": 28, "kind": "heal"},
    ]
    keys = {**RR_IN_LINE, "algorithm": "ricart-agrawala", "workload": {"rate": 2.0, "cs_time": 0.05}}
    run: Any = on_ns3.prepare(**keys, routing="aodv", faults=faults)
    links, late, passed_on = run.simulation.links, [], []
    hear, on_datagram = links.hear, Stack.on_datagram

    def is_late(data: bytes) -> bool:
        sender, incarnation, _, _ = links._wire.read(data)
        return incarnation < links._incarnations[sender]

    def note_and_hear(station: int, data: bytes) -> None:
        if is_late(data):
            late.append((run.simulation.now / TICKS, station))
        hear(station, data)

    def note_and_pass_on(stack: Stack, data: bytes) -> None:
        if is_late(data):
            passed_on.append(data)
        on_datagram(stack, data)

    links.hear = note_and_hear
    monkeypatch.setattr(Stack, "on_datagram", note_and_pass_on)
    run.simulation.run_all(lambda share: None)
    assert passed_on == []
    assert {station for _, station in late} == {1, 2, 3}, "some come over several hops"
    assert min(t for t, _ in late) > 28
    assert (run.verdicts["safety"], run.verdicts["order"], run.verdicts["contract"]) == ("ok", "ok", "ok")


# -- counting ---------------------------------------------------------------------------------------------------------


@each
def test_the_counts_are_those_of_the_frames_on_the_air(routing: str, tmp_path: Path) -> None:
    """Compared with the captures of all stations, from the end of the warmup on."""
    keys = {**RR_IN_LINE, "trace": "cs", "warmup": 12.0, "duration": 40.0}
    measure(on_ns3.scenario(**keys, routing=routing), 0, tmp_path / "rep", options=RunOptions(pcap=True))
    on_air: Counter[str] = Counter()
    for station in range(4):
        for one in datagrams(tmp_path / "rep" / f"station-{station}.pcap"):
            is_control, is_forwarded = one.port == PORTS[routing], one.port == 4711 and one.source != one.transmitter
            if one.transmitter == station and one.seconds > 12.0 and (is_control or is_forwarded):
                kind = PROTOCOLS[routing] if is_control else "Forwarded"
                on_air.update({kind: 1, f"{kind} bytes": len(one.data)})
    found = on_ns3.run(**keys, routing=routing)
    counts = frames(found)
    assert on_air["Forwarded"] > 50
    for kind in ("Forwarded", PROTOCOLS[routing]):
        assert abs(counts[kind][0] - on_air[kind]) <= 4, "one may wait in a radio's queue at each end of the time"
        assert counts[kind][1] == pytest.approx(on_air[f"{kind} bytes"], rel=0.05)


@each
def test_radios_that_are_off_send_nothing(routing: str) -> None:
    """A protocol does not know that its station has crashed; what it would send does not count."""
    air = make_air(**{**LINE, "algorithm": "raymond-tree", "routing": routing})
    for station in range(4):
        air.set_radio(station, False)
    assert air.run_until(5_000 * MS) == -1
    assert air.routing_counts() == {}
    for station in range(4):
        air.set_radio(station, True)
    air.run_until(15_000 * MS)
    assert air.routing_counts()[PROTOCOLS[routing]][0] > 20
    air.forget_routing()
    assert air.routing_counts() == {}


def test_our_own_routers_need_none_of_it() -> None:
    """With `routing: builtin` the kinds of frames are those of our router."""
    done = on_ns3.run(**{**RR_IN_LINE, "duration": 25.0})
    assert set(frames(done)) == {"Advert", "Packet", "Receipt"}


@each
def test_the_same_seed_gives_the_same_events(routing: str) -> None:
    """Also after other runs in the same process; another seed gives others."""

    def events(seed: int) -> list[Any]:
        return on_ns3.run(
            **{**WALKING, "seed": seed, "duration": 25.0}, algorithm="ricart-agrawala", routing=routing
        ).diary.events

    first, other, again = events(1), events(2), events(1)
    assert len(first) > 100
    assert again == first
    assert other != first
