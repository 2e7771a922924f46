"""The algorithms under ns-3: on networks that move, lose frames, part and heal, and with nodes that crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.contract import TICKS
from testbed.experiments.measure import measure
from testbed.scenario.loader import load
from tests.testbed.backends.ns3 import on_ns3
from tests.testbed.backends.test_every_algorithm import MOVING, ROUTED, came_from_afar
from tests.testbed.simulate import ALL_OK, OVER_RADIO, all_ok
from tests.testbed.tiny import command

pytestmark = [pytest.mark.xdist_group("ns3"), pytest.mark.usefixtures("ns3")]

LINE: dict[str, Any] = {
    "nodes": 4,
    "topology": "geometric",
    "area": [1000, 10],
    "placement": {"kind": "explicit", "places": [[0, 0], [90, 0], [180, 0], [270, 0]]},
    "radio": {"range": 100},
    "workload": {"rate": 0.2, "cs_time": 0.2},
    "warmup": 5.0,
    "duration": 60.0,
    "drain": 300.0,
}
"""Four nodes in a row, each of which hears only those beside it."""


@pytest.mark.parametrize("name", OVER_RADIO)
def test_every_algorithm_on_a_network_that_moves(name: str) -> None:
    """Safe, and every request served, although the network is partitioned for a while."""
    done = on_ns3.run(**MOVING, algorithm=name)
    assert done.verdicts == all_ok(name), done.details
    assert done.details["starvation"] == "every request served"
    assert done.audit.metrics()["entries"] > 10
    assert 0 < done.audit.metrics()["time_partitioned"] < 0.2
    assert name not in ROUTED or came_from_afar(done.diary.of("recv"))


def test_neighbourhoods_whose_places_have_stations() -> None:
    """The algorithm that runs in neighbourhoods, on the scenario of two places."""
    path = Path(__file__).resolve().parents[4] / "scenarios/neighbourhoods/two-places.yaml"
    keys = load(path).model_dump(exclude={"links", "backend", "algorithm"})
    done = on_ns3.run(**{**keys, "algorithm": "klme", "duration": 100.0})
    assert done.verdicts == ALL_OK, done.details
    assert done.audit.metrics()["entries"] > 20
    assert len({one["group"] for one in done.diary.of("join")}) == 2


def test_at_the_edge_of_the_range() -> None:
    """At 54 Mb/s the edge is soft: two in five frames are lost between neighbours, and hellos with them."""
    edge = {**LINE, "radio": {"range": 91.0, "rate": 54}, "links": {"kind": "radio", "hello": 0.5}, "duration": 200.0}
    done = on_ns3.run(**edge)
    inside = on_ns3.run(**{**edge, "radio": {"range": 100, "rate": 54}})
    for one in (done, inside):
        assert one.verdicts == ALL_OK, one.details
        assert one.details["starvation"] == "every request served"
        assert one.audit.metrics()["entries"] > 50
    downs = [len(one.diary.of("link_down")) for one in (done, inside)]
    assert downs[0] > 10
    assert downs[1] == 0


@pytest.mark.parametrize("topology", ["geometric", "explicit"])
def test_a_partition_that_heals(topology: str) -> None:
    """Nothing passes the cut, from side to side, until it heals; then the requests of both sides are served."""
    cut = {"faults": [{"at": 20, "kind": "cut", "group": [0, 1]}, {"at": 40, "kind": "heal"}]}
    if topology == "explicit":
        places = dict.fromkeys(("area", "placement", "radio"))
        cut |= {**places, "topology": {"kind": "explicit", "links": [[0, 1], [1, 2], [2, 3]]}}
    done = on_ns3.run(**{**LINE, **cut})
    assert done.verdicts == ALL_OK, done.details
    across = [one["t"] for one in done.diary.of("recv") if (one["node"] < 2) != (one["peer"] < 2)]
    assert min(across) < 20
    assert max(across) > 40
    assert not [t for t in across if 20.01 < t < 40]  # a frame that was on the air has arrived
    lost = [one for one in done.diary.of("link_down") if (one["node"] < 2) != (one["peer"] < 2)]
    assert {one["node"] for one in lost} == {1, 2}, "both ends notice"
    assert min(one["t"] for one in lost) > 20


def test_a_cut_lets_nodes_hear_each_other_that_come_near_only_when_it_heals() -> None:
    """The cut is in the channel: it holds for pairs that were out of range when it began."""
    ways = {"placement": None, "mobility": {"kind": "random-waypoint", "speed": [10, 20]}, "area": [400, 60]}
    cut = {"faults": [{"at": 8, "kind": "cut", "group": [0, 1]}, {"at": 50, "kind": "heal"}]}
    done = on_ns3.run(**{**LINE, **ways, "placement": "uniform", **cut})
    crossed = [one for one in done.diary.of("recv", "link_up") if (one["node"] < 2) != (one["peer"] < 2)]
    assert not [one for one in crossed if 8.01 < one["t"] < 50]
    assert [one for one in crossed if one["t"] > 50]
    assert done.verdicts == ALL_OK, done.details


def test_a_crash_with_restart() -> None:
    """The neighbours notice, the node comes back with an empty state, and all is well again."""
    faults = [{"at": 20, "kind": "crash", "node": 3}, {"at": 40, "kind": "restart", "node": 3}]
    done, is_on = on_ns3.prepare(**LINE, faults=faults), {}
    for t in (19, 21, 39, 41):
        done.simulation.at(t * TICKS, lambda t: is_on.update({t: done.simulation.air.is_on(3)}), t)
    done.simulation.run_all(lambda share: None)
    assert is_on == {19: True, 21: False, 39: False, 41: True}
    assert done.verdicts == ALL_OK, done.details
    of_crashed = [
        one["t"] for one in done.diary.events if one["node"] == 3 and one["kind"] in ("send", "recv", "enter")
    ]
    assert not [t for t in of_crashed if 20 < t < 40]
    assert min(of_crashed) < 20 < 40 < max(of_crashed)
    (noticed,) = (one for one in done.diary.of("link_down") if (one["node"], one["peer"]) == (2, 3))
    assert noticed["t"] > 40, "RL has no way to learn of it before: the link layer waits for the node to come back"


def test_crashes_in_the_middle_of_everything() -> None:
    """Radios that go off while they send, receive or wait: a busy network loses its nodes one after the other."""
    busy = {"workload": {"rate": 20, "cs_time": 0.001}, "links": {"kind": "radio", "hello": 0.05}, "duration": 12.0}
    faults = [
        {"at": 6 + 0.0511 * step, "kind": kind, "node": step % 3 + 1}
        for step in range(60)
        for kind in (("crash",) if step % 6 < 3 else ("restart",))
    ]
    done = on_ns3.run(**{**LINE, **busy, "algorithm": "raymond-tree", "faults": faults})
    assert done.verdicts["safety"] == done.verdicts["order"] == done.verdicts["contract"] == "ok"
    assert len(done.diary.of("fault")) == 60
    assert done.audit.metrics()["entries"] > 30
    assert sum(one["count"] for one in done.diary.of("frames")) > 2000


def test_nodes_that_appear_late_and_leave_early() -> None:
    """Their radios are off meanwhile."""
    path = Path(__file__).resolve().parents[4] / "scenarios/mobility/replay-roundabout.yaml"
    keys = load(path).model_dump(exclude={"links", "backend"})
    run: Any = on_ns3.prepare(**keys)
    simulation, seen = run.simulation, set()

    def look() -> None:
        for node in range(simulation.scenario.nodes):
            is_there = simulation.geometry.trajectories[node].is_there(simulation.now / TICKS * keys["time_unit"])
            assert simulation.air.is_on(node) is is_there
            seen.add((node, is_there))

    for step in range(100):
        simulation.at(round((step + 0.5) / 100 * keys["duration"] * TICKS), look)
    simulation.run_all(lambda share: None)
    assert run.verdicts == ALL_OK, run.details
    assert len(seen) > simulation.scenario.nodes, "some were there and were not"


def test_time_goes_forward_whatever_a_tick_is() -> None:
    """Ticks are shorter than ns-3's nanoseconds, or longer: events are in order and all is well."""
    for time_unit in (0.0125, 1000.0):
        done = on_ns3.run(**{**LINE, "time_unit": time_unit, "duration": 30.0})
        times = [one["t"] for one in done.diary.events]
        assert times == sorted(times)
        assert done.verdicts == ALL_OK, done.details
        assert done.audit.metrics()["entries"] > 10


def test_what_happens_in_one_nanosecond_is_in_the_order_of_ticks() -> None:
    """With 80 ticks to a nanosecond: our events are planned for the first tick of one in which a station hears."""
    heard: list[int] = []
    times: list[int] = []

    def run(planned: list[int]) -> None:
        simulation: Any = on_ns3.prepare(**{**LINE, "time_unit": 0.0125, "duration": 10.0}).simulation
        hear = simulation.links.hear

        def note_and_hear(station: int, data: bytes) -> None:
            heard.append(simulation.air.now_ns())
            times.append(simulation.now)
            hear(station, data)

        simulation.links.hear = note_and_hear
        for ns in planned:
            simulation.at((ns - 1) * 80 + 1, lambda: times.append(simulation.now))
        simulation.run_all(lambda share: None)

    run([])
    once = len(times)
    run(list(dict.fromkeys(heard[:200])))
    assert len(times) > 2 * once
    assert times[once:] == sorted(times[once:])


# -- the same again ---------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_events(tmp_path: Path) -> None:
    """Byte by byte: twice in a row, after other scenarios, and in a process of its own; another seed gives others."""
    one = on_ns3.scenario(**{**MOVING, "trace": "events", "radio": {"range": 100, "propagation": "nakagami"}})
    file = tmp_path / "moving.yaml"
    file.write_text(one.to_yaml())
    logs = []
    for number in range(5):
        measure(one, 0, tmp_path / str(number))
        logs.append((tmp_path / str(number) / "events.jsonl").read_bytes())
        on_ns3.run(**{**LINE, "seed": number, "nodes": 2 + number % 3, "placement": "uniform", "duration": 10.0})
    assert len(logs[0].splitlines()) > 1000
    assert logs.count(logs[0]) == 5
    ended = command("run", file, "--out", tmp_path / "runs", "--json")
    assert ended.returncode == 0, ended.stderr
    (log,) = (tmp_path / "runs").glob("*/rep-000/events.jsonl")
    assert log.read_bytes() == logs[0]
    assert json.loads(ended.stdout)["backend"] == "ns3"
    measure(one, 1, tmp_path / "other")
    assert (tmp_path / "other" / "events.jsonl").read_bytes() != logs[0]
