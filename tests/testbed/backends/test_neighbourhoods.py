"""Neighbourhoods on ideal links, over radio links and as processes: places, travellers, deposits, departures.

Random churn is in tests/agents/test_klme_random.py; `hwsim` is tested in tests/emulation/test_radio_smoke.py, which
runs scenarios/smoke/radio/two-places.yaml.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from testbed.experiments.runner import run
from testbed.replay.replayer import replay
from testbed.scenario.loader import load
from testbed.scenario.schema import Scenario
from tests.conftest import PROJECT
from tests.testbed.backends.stations.stage import check_requests, events
from tests.testbed.simulate import ALL_OK, Simulated, simulate, verdicts_of

RADIO: dict[str, Any] = {"kind": "radio", "hello": 0.5}
both_links = pytest.mark.parametrize("links", ["ideal", RADIO], ids=["ideal", "radio"])

PLACES: dict[str, Any] = {
    "algorithm": {"name": "klme", "k": 2},
    "nodes": 6,
    "topology": "geometric",
    "area": [320, 120],
    "placement": "uniform",
    "mobility": {"kind": "random-waypoint", "speed": [5.0, 15.0]},
    "radio": {"range": 110},
    "neighbourhoods": [{"centre": [60.0, 60.0], "range": 55.0}, {"centre": [260.0, 60.0], "range": 55.0, "k": 1}],
    "notice": 2.0,
    "delays": {"hop": {"uniform": [0.005, 0.015]}},
    "workload": {"rate": 0.5, "cs_time": {"exponential": 1.0}},
    "duration": 120.0,
    "drain": 300.0,
}
"""Six nodes that walk past two places."""


def still(*positions: list[float], **keys: Any) -> Simulated:
    """Nodes that stand within 50 m of a place at (50, 50), and hear each other up to 60 m."""
    data = {
        **PLACES,
        "nodes": len(positions),
        "placement": {"kind": "explicit", "places": list(positions)},
        "mobility": "static",
        "radio": {"range": 60, "propagation": "range"},
        "neighbourhoods": [{"centre": [50.0, 50.0], "range": 50.0}],
        "duration": 30.0,
        **keys,
    }
    return simulate(**data)


def tokens_of(done: Simulated, *kinds: str) -> int:
    return sum(one["tokens"] for one in done.diary.of(*kinds))


@both_links
@pytest.mark.parametrize("seed", range(4))
def test_travellers(links: Any, seed: int) -> None:
    """Nodes travel between two places: at most k inside at each, tokens kept, every request of who stays is served."""
    done = simulate(**PLACES, links=links, seed=seed)
    assert done.verdicts == ALL_OK, done.details
    metrics = done.audit.metrics()
    assert metrics["arrivals"] > 8
    assert metrics["entries"] > 40
    assert min(metrics["entries_by_place"].values()) > 0
    assert sum(metrics["entries_by_place"].values()) == metrics["entries"]


@both_links
def test_each_place_has_units_of_its_own(links: Any) -> None:
    """The scenario gives the second place one unit, and the algorithm's k to the first."""
    load_ = {"rate": 5.0, "cs_time": 2.0}
    done = simulate(**{**PLACES, "nodes": 12, "workload": load_}, links=links)
    assert done.verdicts == ALL_OK, done.details
    assert done.details["safety"] == "at most 2 of 2, 1 of 1 in use in 2 neighbourhoods"


@both_links
def test_the_token_lies_at_an_empty_place(links: Any) -> None:
    """The last node puts the token down and the next one to arrive takes it, again and again."""
    alone = {**PLACES, "nodes": 1, "duration": 300.0, "seed": 2}
    done = simulate(**alone, links=links)
    assert done.verdicts == ALL_OK, done.details
    deposits, arrivals = done.diary.of("deposit"), done.diary.of("join")
    assert len(deposits) >= 3
    assert all(one["tokens"] == 1 for one in arrivals), "no other node can have the token"
    assert len(deposits) - len(arrivals) in (-1, 0, 1)
    assert done.audit.metrics()["entries"] > 5


@both_links
def test_between_places_a_node_asks_for_nothing(links: Any) -> None:
    """Requests come from members only, and a request that leaves its place is made anew in the next one."""
    done = simulate(**PLACES, links=links, seed=5)
    inside: set[int] = {node for node, group in enumerate(done.diary.of("start")[0]["groups"]) if group is not None}
    arriving: set[int] = set()
    for one in done.diary.of("request", "join", "leaving"):
        node = one["node"]
        if one["kind"] == "join":
            inside.add(node)
            arriving.discard(node)
        elif one["kind"] == "leaving":
            inside.discard(node)
        elif node not in inside:
            arriving.add(node)  # the join must follow at the same instant
        assert not arriving or one["node"] in arriving or one["kind"] != "request"
    assert not arriving


def test_a_stay_cut_short_is_an_entry_and_waits_in_the_next_place() -> None:
    """A node that leaves inside is evicted; it asks on arrival, waits from then on, and its stay starts anew."""
    done = simulate(**{**PLACES, "workload": {"rate": 2.0, "cs_time": 30.0}, "duration": 200.0})
    metrics, steps = done.audit.metrics(), done.diary.of("request", "enter", "exit", "evict", "join", "left")
    assert metrics["evictions"] >= 3
    assert metrics["entries"] == len([one for one in steps if one["kind"] == "enter"])
    for index, one in enumerate(steps):
        if one["kind"] == "evict":
            node = one["node"]
            later = [other for other in steps[index + 1 :] if other["node"] == node]
            kinds = [other["kind"] for other in later[:3]]
            assert kinds == ["left", "request", "join"][: len(kinds)]
            assert len(later) < 3 or later[1]["t"] == later[2]["t"]


@both_links
def test_members_two_ranges_apart_reach_each_other_by_the_place(links: Any) -> None:
    """Two members on opposite sides of the place do not hear each other: its station relays, and the hop is charged."""
    done = still([2.0, 50.0], [98.0, 50.0], links=links, workload={"rate": 0.5})
    assert done.verdicts == ALL_OK, done.details
    assert all(done.audit.metrics()["entries_by_place"].values())
    if links == "ideal":
        relays = done.diary.of("relay")
        assert relays
        assert {one["node"] for one in relays} == {2}, "the station of the place has the number after the nodes"
        sent = len(done.diary.of("send"))
        assert sum(done.audit.metrics()["messages"].values()) == sent + len(relays) == 2 * sent


@both_links
def test_a_broadcast_is_one_transmission(links: Any) -> None:
    """It is counted once for each receiver, and once as a transmission."""
    done = still([30.0, 50.0], [50.0, 30.0], [70.0, 50.0], [50.0, 70.0], links=links)
    metrics, broadcasts = done.audit.metrics(), done.diary.of("broadcast")
    sends = Counter(one["type"] for one in done.diary.of("send"))
    assert broadcasts
    assert sends["LeaderInfo"] >= sum(one["receivers"] for one in broadcasts if one["type"] == "LeaderInfo") > 10
    saved = sum(max(0, one["receivers"] - 1) for one in broadcasts)
    charged = sum(metrics["messages"].values())
    assert metrics["transmissions_per_cs"] == pytest.approx((charged - saved) / metrics["entries"])
    assert metrics["transmissions_per_cs"] < metrics["messages_per_cs"]


@both_links
def test_a_holder_that_vanishes_takes_the_token_along(links: Any) -> None:
    """A departure without notice: the token is told lost, and the requests that it starves are excused."""
    faults = [{"at": 10.0, "kind": "vanish", "holder": True}]
    keys: dict[str, Any] = {"workload": {"rate": 1.0}, "drain": 30.0}
    done = still([30.0, 50.0], [50.0, 30.0], [70.0, 50.0], links=links, faults=faults, **keys)
    assert done.verdicts == ALL_OK, done.details
    assert tokens_of(done, "left") == 1
    assert "lost to faults and to nodes that left" in done.details["conservation"]
    assert "neighbourhood has lost its token" in done.details["starvation"]
    assert max(one["t"] for one in done.diary.of("enter")) < 11


@both_links
def test_a_member_that_vanishes_does_not_stop_the_others(links: Any) -> None:
    """It was not the leader, and its unit is one of two: all others are served."""
    faults = [{"at": 10.0, "kind": "vanish", "node": node} for node in (1,)]
    keys: dict[str, Any] = {"workload": {"rate": [0.0, 0.5, 0.5, 0.5]}, "drain": 60.0}
    positions = ([30.0, 50.0], [50.0, 30.0], [70.0, 50.0], [50.0, 70.0])
    done = still(*positions, links=links, faults=faults, **keys)
    vanished = [one for one in done.diary.of("left") if not one["ready"]]
    assert [one["node"] for one in vanished] == [1]
    assert done.verdicts == ALL_OK, done.details
    if not vanished[0]["tokens"]:
        assert done.details["starvation"] == "every request served"


@both_links
def test_a_notice_that_is_too_short(links: Any) -> None:
    """Leaders leave before they have the Token_ack: a token may be lost with them, and the verdicts stay ok."""
    keys = {**PLACES, "notice": 1e-4, "workload": {"rate": 2.0, "cs_time": 0.5}, "drain": 20.0, "duration": 200.0}
    done = simulate(**keys, links=links)
    assert done.verdicts == ALL_OK, done.details
    assert any(not one["ready"] for one in done.diary.of("left"))


@both_links
def test_crash_and_restart(links: Any) -> None:
    """A node that restarts joins again with a visit that no node had before; the old one's unit is free then."""
    faults = [{"at": 10.0, "kind": "crash", "node": 1}, {"at": 14.0, "kind": "restart", "node": 1}]
    keys: dict[str, Any] = {"workload": {"rate": [0.0, 0.5, 0.5, 0.5]}, "drain": 100.0}
    positions = ([30.0, 50.0], [50.0, 30.0], [70.0, 50.0], [50.0, 70.0])
    done = still(*positions, links=links, faults=faults, **keys)
    assert done.verdicts == ALL_OK, done.details
    visits = [(one["group"], one["visit"]) for one in done.diary.of("join")]
    assert len(visits) == len(set(visits))
    again = [one for one in done.diary.of("join") if one["node"] == 1 and one["t"] >= 14]
    assert len(again) == 1
    assert again[0]["visit"] >= 4


def test_more_members_than_a_beacon_names() -> None:
    """Over radio links one line says how many nodes there may be; with ideal links there is no such bound."""
    many = {**PLACES, "name": "many", "nodes": 101}
    with pytest.raises(ValidationError, match="at most 100 with neighbourhoods over radio links"):
        Scenario.model_validate({**many, "links": RADIO})
    assert Scenario.model_validate({**many, "links": "ideal"}).nodes == 101


def test_the_same_seed_gives_the_same_events() -> None:
    """In virtual time everything is repeatable, over radio too."""
    first, second = (simulate(**PLACES, links=RADIO, seed=9) for _ in range(2))
    assert first.diary.events == second.diary.events


def test_loss_on_the_air(record_property: Any) -> None:
    """Beacons, registrations and messages are lost and doubled; what must arrive is sent again."""
    noisy = {**RADIO, "loss": 0.3, "duplicate": 0.1}
    done = simulate(**PLACES, links=noisy, seed=1)
    assert done.verdicts == ALL_OK, done.details
    assert done.audit.metrics()["entries"] > 20
    record_property("arrivals", done.audit.metrics()["arrivals"])


@pytest.mark.xdist_group("stations")  # real time needs room: one run after the other
def test_loopback(tmp_path: Path) -> None:
    """Real processes, a station at every place: safe and live, and every node can be replayed from its own log."""
    path = PROJECT / "scenarios" / "smoke" / "radio" / "two-places.yaml"
    result = run(load(path, ["backend=loopback", "trace=events", "time_unit=0.1"]), tmp_path)
    assert verdicts_of(result.summary["checks"]) == ALL_OK, result.summary["checks"]
    check_requests(result.path)
    assert events(result.path, "join")
    assert sorted(one.name for one in result.path.glob("rep-000/nodes/00[56]-1.jsonl")), "the places have logs too"
    check_replays(result.path, nodes=5)


@both_links
def test_replay(links: Any, tmp_path: Path) -> None:
    """A node's joins, departures, deposits and tokens made anew are in its log, and its agent does the same again."""
    faults = [{"at": 30.0, "kind": "vanish", "node": 2}, {"at": 40.0, "kind": "lose", "holder": True}]
    keys = {"name": "replayed", "trace": "events", "faults": faults[: 2 if links == "ideal" else 1]}
    result = run(Scenario.model_validate({**PLACES, **keys, "links": links}), tmp_path)
    check_replays(result.path, nodes=6)


def test_replay_of_churn(tmp_path: Path) -> None:
    """The same for groups without places, with refused deposits and tokens that are lost on the way."""
    path = PROJECT / "scenarios" / "smoke" / "neighbourhoods.yaml"
    result = run(load(path, ["repeat=1", "trace=events", "duration=150", "churn.departures=0.5"]), tmp_path)
    kinds = Counter(one["kind"] for one in events(result.path, "regenerate", "deposit", "refused", "evict"))
    assert min(kinds["regenerate"], kinds["deposit"], kinds["evict"]) > 0
    check_replays(result.path, nodes=12)


def check_replays(path: Path, nodes: int) -> None:
    given = set()
    for node in range(nodes):
        found = replay(path, node=node)
        assert not found.failed, found.differences
        given |= {step.given.kind for step in found.steps}
    assert {"join", "leaving", "left"} <= given
