"""Over radio a node has the links that it has found, and a map shows no others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from testbed.cli.replay_text import as_dict
from testbed.experiments.runner import run
from testbed.look.view import make
from testbed.look.view.columns import numbers
from testbed.scenario.loader import loads
from tests.testbed.tiny import tiny

MOVING = """\
trace: events
time_unit: 0.5
area: [400, 400]
placement: uniform
mobility: {kind: random-waypoint, speed: [10, 20]}
radio: {range: 200}
links: radio
"""


def made(folder: Path, algorithm: str) -> Path:
    return run(loads(tiny(MOVING, algorithm=algorithm, nodes="6", topology="geometric")), folder).path


def links_of(path: Path) -> list[tuple[int, ...]]:
    """The links of the page: two nodes, from when to when, and how many of the two know of it."""
    page = make.view(path, as_dict)
    found = re.search(r'<script type="application/json" id="happened">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return list(zip(*map(numbers, json.loads(found[1])["links"]), strict=True))


def test_a_link_is_shown_from_when_it_was_found(tmp_path: Path) -> None:
    path = made(tmp_path, "rl")
    links = links_of(path)
    events = [json.loads(line) for line in (path / "rep-000/events.jsonl").read_text().splitlines()]
    assert events[0]["links"], "what is in range at the start"
    ends: set[tuple[int, int]] = set()
    changes = [event for event in events if event["kind"] in ("link_up", "link_down")]
    assert len(changes) > 20
    for event, following in zip(changes, [*changes[1:], events[-1]], strict=True):
        (ends.add if event["kind"] == "link_up" else ends.discard)((event["node"], event["peer"]))
        if event["t"] < following["t"]:
            known = {(min(one), max(one)): 2 if one[::-1] in ends else 1 for one in ends}
            assert {(a, b): how for a, b, since, until, how in links if since <= event["t"] < until} == known
    assert min(link[2] for link in links) == changes[0]["t"] > 0


@pytest.mark.parametrize("algorithm", ["raymond-k", "{name: suzuki-kasami}"])
def test_routers_report_no_links(algorithm: str, tmp_path: Path) -> None:
    """The page then shows which nodes are within range, and not for ever what was in range at the start."""
    assert links_of(made(tmp_path, algorithm)) == []
