"""Every registered algorithm with every kind of links: safe and live on a network that moves.

All runs have the same seven nodes on the same paths: the network is a few hops wide, its links form and fall, and it is
partitioned for a tenth of the time. Messages of algorithms that address any node must follow the routes. A new
algorithm is tested here as soon as it is registered; `hwsim` is tested in tests/emulation/test_radio_smoke.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from agents.contract import Needs
from agents.registry import ALGORITHMS
from testbed.backends.repetition import make_geometry
from testbed.experiments.runner import run
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario
from tests.testbed.backends.stations.stage import check_requests, events, processes
from tests.testbed.simulate import OVER_RADIO, all_ok, groups_for, simulate, verdicts_of

RANGE_M = 100
MOVING: dict[str, Any] = {
    "name": "moving",
    "nodes": 7,
    "topology": "geometric",
    "time_unit": 0.05,
    "area": [300, 60],
    "placement": "uniform",
    "mobility": {"kind": "random-waypoint", "speed": [40, 120]},  # 2 to 6 m in a time unit
    "radio": {"range": RANGE_M, "propagation": "range"},
    "delays": {"hop": {"uniform": [0.01, 0.05]}},
    "workload": {"rate": 0.1, "cs_time": 0.2},
    "warmup": 8.0,
    "duration": 38.0,
    "drain": 1200.0,
}
"""Two seconds on `loopback`, and then as long as it takes until every request is served: the nodes stop moving at the
end of the duration, when the network is connected, so no request needs an excuse."""
RADIO = {"kind": "radio", "hello": 1.0}

ROUTED = [name for name, agent in ALGORITHMS.items() if agent.needs is Needs.ANY_NODE]
every_over_radio = pytest.mark.parametrize("name", OVER_RADIO)


def came_from_afar(logged: Iterable[dict[str, Any]]) -> bool:
    """Whether any message was received from a node so far away that others must have relayed it."""
    scenario = Scenario.model_validate({**MOVING, "algorithm": "rl"})
    paths = make_geometry(scenario, Streams(scenario.seed, 0)).trajectories
    distances = (
        math.dist(*(paths[node].at(event["t"] * scenario.time_unit) for node in (event["node"], event["peer"])))
        for event in logged
    )
    return any(distance > 1.2 * RANGE_M for distance in distances)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_over_ideal_links(name: str) -> None:
    """Every request is served, and algorithms that address any node receive messages that were relayed."""
    check_simulation(name, **groups_for(name))


@every_over_radio
def test_over_radio_links(name: str) -> None:
    """The same with links that link layers find and keep."""
    check_simulation(name, links=RADIO)


def check_simulation(name: str, **keys: Any) -> None:
    """All went well in the simulator, although the network was partitioned for a while."""
    done = simulate(**MOVING, algorithm=name, **keys)
    assert done.verdicts == all_ok(name), done.details
    assert done.details["starvation"] == "every request served"
    assert done.audit.metrics()["entries"] > 10
    assert 0 < done.audit.metrics()["time_partitioned"] < 0.2
    assert name not in ROUTED or came_from_afar(done.diary.of("recv"))


@pytest.mark.parametrize("name", ROUTED)
def test_routes_change(name: str) -> None:
    """Ideal routing logs the nodes that relay a message: messages between the same two nodes take different paths."""
    done = simulate(**MOVING, algorithm=name)
    paths: dict[tuple[int, int], dict[int, list[int]]] = {}
    for one in done.diary.of("relay"):
        paths.setdefault((one["source"], one["target"]), {}).setdefault(one["id"], []).append(one["node"])
    assert any(len({tuple(path) for path in messages.values()}) > 1 for messages in paths.values())
    assert done.audit.metrics()["link_changes"] > 10


@every_over_radio
@pytest.mark.xdist_group("stations")  # real time needs room: one run after the other
def test_as_processes(name: str, tmp_path: Path) -> None:
    """On `loopback`: what is asserted holds at any speed, so a busy machine only takes longer."""
    scenario = {**MOVING, "algorithm": name, "links": RADIO, "backend": "loopback", "trace": "events"}
    result = run(Scenario.model_validate(scenario), tmp_path)
    assert verdicts_of(result.summary["checks"]) == all_ok(name), result.summary["checks"]
    check_requests(result.path)
    (stop,) = events(result.path, "stop")
    assert stop["reason"] == "every request served"
    assert not processes(tmp_path)
