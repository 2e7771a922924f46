"""The three readings of the papers' sentence on link changes."""

import pytest

from testbed.network.graph import Graph
from tests.testbed.simulate import ALL_OK, simulate


def final_links(run) -> int:
    return len(run.simulation.graph)


def mobile(reading: str, rate: float, connectivity: float = 0.4, **keys):
    topology = {"kind": "random", "connectivity": connectivity, "link_change_rate": rate, "reading": reading}
    return simulate(topology=topology, **keys)


def test_text_keeps_the_number_of_links():
    """One link falls, another forms."""
    run = mobile("text", 0.5, duration=500.0)
    assert final_links(run) == round(0.4 * 45)


def test_per_pair_changes_every_pair_at_the_rate():
    """45 pairs at rate 0.02: 0.9 changes a time unit, towards half of all links."""
    run = mobile("per-pair", 0.02, connectivity=0.25, duration=2000.0, workload={"rate": 0.01})
    changes = run.audit.metrics()["link_changes"]
    assert abs(changes - 0.9 * 2000) < 200
    assert 15 <= final_links(run) <= 31
    assert run.verdicts == ALL_OK


def test_thinning_ends_in_little_more_than_a_tree():
    """Links that coincide with others are not replaced."""
    run = mobile("thinning", 1.0, connectivity=0.8, duration=3000.0, workload={"rate": 0.01})
    assert final_links(run) < 16
    assert len(run.simulation.graph.component(0)) == 10
    assert run.verdicts == ALL_OK


@pytest.mark.parametrize("reading", ["text", "per-pair", "thinning"])
def test_no_reading_disconnects(reading):
    """Whatever the reading, the network stays connected at every instant, and nothing is lost."""
    run = mobile(reading, 0.5 if reading != "per-pair" else 0.02, connectivity=0.25, duration=600.0)
    graph = Graph(10, map(tuple, run.diary.of("start")[0]["links"]))
    instant = None
    for event in run.diary.of("link_up", "link_down"):
        if event["t"] != instant:
            assert len(graph.component(0)) == 10
            instant = event["t"]
        if event["node"] < event["peer"]:
            (graph.add if event["kind"] == "link_up" else graph.remove)(event["node"], event["peer"])
    assert run.verdicts == ALL_OK
