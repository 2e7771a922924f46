"""Networks that would not fit into memory are refused before they are made."""

from __future__ import annotations

import pytest

from testbed.errors import ScenarioError
from testbed.scenario import topology
from testbed.scenario.loader import loads
from tests.testbed.tiny import tiny


@pytest.mark.parametrize(
    ("nodes", "written", "message"),
    [
        ("5000", "complete", "scenario:3: nodes: found 5000 nodes with 12497500 links; allowed: at most 2000000 links"),
        (
            "5000",
            "{kind: random, connectivity: 1}",
            "scenario:4: topology: found 5000 nodes with 12497500 links; allowed: at most 2000000 links",
        ),
        (
            "100000",
            "{kind: random, connectivity: 0.001}",
            "scenario:4: topology: found 100000 nodes with 4999950 links; allowed: at most 2000000 links",
        ),
    ],
)
def test_too_many_links(nodes: str, written: str, message: str) -> None:
    """The line names both numbers."""
    with pytest.raises(ScenarioError) as caught:
        loads(tiny(nodes=nodes, topology=written))
    assert str(caught.value).startswith(message)


def test_too_many_links_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Written one by one, they count as well."""
    monkeypatch.setattr("testbed.scenario.consistency.MAX_LINKS", 2)
    with pytest.raises(ScenarioError, match="topology: found 5 nodes with 3 links; allowed: at most 2 links"):
        loads(tiny(topology="{kind: explicit, links: [[0, 1], [1, 2], [2, 3]]}"))
    assert loads(tiny(topology="{kind: explicit, links: [[0, 1], [1, 2]]}")).nodes == 5


@pytest.mark.parametrize(
    ("nodes", "written"),
    [
        ("2000", "complete"),
        ("2000", "{kind: random, connectivity: 1}"),
        ("100000", "{kind: random, connectivity: 2e-5}"),
    ],
)
def test_as_many_links_as_are_allowed(nodes: str, written: str) -> None:
    """The most nodes that a complete network can have, and many nodes with few links."""
    scenario = loads(tiny(nodes=nodes, topology=written))
    assert scenario.topology.link_count(scenario.nodes) <= topology.MAX_LINKS  # type: ignore[union-attr]
