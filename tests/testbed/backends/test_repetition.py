"""A repetition as every backend starts from it."""

from __future__ import annotations

import pytest

from agents.contract import TICKS
from analysis.events import KINDS, LEVELS, VERSION
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
    }
