"""A repetition as every backend starts from it."""

from __future__ import annotations

import pytest

from agents.contract import TICKS
from analysis.events import KINDS, LEVELS, VERSION
from testbed.backends.registry import BACKENDS, find_backend
from testbed.backends.repetition import Repetition
from testbed.randomness import Streams
from testbed.scenario.loader import loads
from tests.testbed.simulate import Diary
from tests.testbed.tiny import tiny


@pytest.mark.parametrize("links", ["ideal", "radio"])
@pytest.mark.parametrize(
    ("algorithm", "needs", "assumes_connected"),
    [("rl", "links", True), ("{name: krl, k: 2}", "links", False), ("raymond-tree", "any node", True)],
)
def test_the_start_event_says_what_the_checks_need(
    algorithm: str, needs: str, assumes_connected: bool, links: str
) -> None:
    """Each fact of the algorithm and its links is a field of its own, next to the scenario's."""
    scenario = loads(tiny(f"links: {links}\nwarmup: 2\ntrace: {LEVELS[1]}\n", algorithm=algorithm))
    diary, repetition = Diary(), Repetition(scenario, Streams(1, 0))
    agents = [repetition.agent(node) for node in range(scenario.nodes)]
    units = [agent.units for agent in agents]
    repetition.log_start(diary, [(agent.units, agent.tokens) for agent in agents], [[0, 1]])
    (event,) = diary.events
    assert tuple(event) == ("t", "node", "kind", *KINDS["start"][1])
    assert event == {
        "t": 0,
        "node": None,
        "kind": "start",
        "version": VERSION,
        "trace": LEVELS[1],
        "needs": needs,
        "over_radio": links == "radio",
        "assumes_connected": assumes_connected,
        "promises_bound": True,
        "shares": "tokens",
        "capacity": sum(units),
        "warmup": 2 * TICKS,
        "grace": 2 * TICKS,
        "units": units,
        "tokens": units,
        "links": [[0, 1]],
        "clusters": [],
        "places": [],
        "groups": [],
        "kept": [],
        "patience": 10_000 * TICKS,
        "absent": [],
        "real_time": False,
    }


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_start_event_says_whether_time_is_real(backend: str) -> None:
    """It is where the backend says so."""
    repetition = Repetition(loads(tiny("links: radio\n", backend=backend)), Streams(1, 0))
    diary = Diary()
    repetition.log_start(diary, [], [])
    assert diary.events[0]["real_time"] is find_backend(backend).real_time


def test_the_start_event_of_groups() -> None:
    """The units of each neighbourhood, who is where, and the tokens that lie at places where no node is."""
    churn = "churn: {groups: 7, departures: 0.1, away: 1}\n"
    repetition = Repetition(loads(tiny(churn, algorithm="{name: klme, k: 2}")), Streams(1, 0))
    diary, agents = Diary(), [repetition.agent(node) for node in range(5)]
    repetition.log_start(diary, [(agent.units, agent.tokens) for agent in agents], [])
    (event,) = diary.events
    assert (event["needs"], event["capacity"], event["places"]) == ("groups", 14, [2] * 7)
    assert event["groups"] == [0, 1, 2, 3, 4]
    assert event["kept"] == [0, 0, 0, 0, 0, 2, 2]
    assert (event["units"], event["tokens"]) == ([2] * 5, [1] * 5)


def test_the_start_event_of_places() -> None:
    """Nodes are in the neighbourhoods of the places that they are near to at the start, or in none."""
    more = """
area: [400, 100]
placement: {kind: explicit, places: [[10, 50], [20, 50], [200, 50], [310, 50], [390, 50]]}
neighbourhoods:
  - {centre: [20, 50], range: 20, k: 3}
  - {centre: [200, 90], range: 30}
  - {centre: [300, 50], range: 50}
"""
    repetition = Repetition(loads(tiny(more, algorithm="klme", topology="geometric")), Streams(1, 0))
    diary, agents = Diary(), [repetition.agent(node) for node in range(5)]
    repetition.log_start(diary, [(agent.units, agent.tokens) for agent in agents], [])
    (event,) = diary.events
    k = repetition.scenario.algorithm.parameters.k
    assert (event["capacity"], event["places"], event["kept"]) == (3 + 2 * k, [3, k, k], [0, k, 0])
    assert event["groups"] == [0, 0, None, 2, None]
    assert [agent.units for agent in agents] == [3, 0, 0, k, 0]
