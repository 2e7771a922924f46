"""Ideal routing: shortest paths as they are now, one message and one delay a link, exactly once and in order."""

import pytest

from testbed.graph import Graph
from tests.testbed.simulate import ALL_OK, simulate

LINE = {"kind": "explicit", "links": [[0, 1], [1, 2], [2, 3], [3, 4]]}
RAYMOND = {"algorithm": {"name": "raymond-tree", "permuted": False}}


def test_a_message_is_charged_for_every_link():
    """On a line of five whose tree is a star by force of routing, hops and delays are those of the path."""
    run = simulate(nodes=5, topology=LINE, **RAYMOND, workload={"rate": 0.01}, duration=2000.0)
    sends, relays = run.diary.of("send"), run.diary.of("relay")
    assert not relays, "every tree edge is a link"
    assert run.audit.metrics()["messages"] == {
        kind: sum(event["type"] == kind for event in sends) for kind in ("Request", "Token")
    }


def test_a_permuted_tree_pays_for_its_detours():
    """Section 6 of the RL paper: the tree no longer fits the graph, and messages take as long as their paths."""
    run = simulate(nodes=5, topology=LINE, algorithm="raymond-tree", workload={"rate": 0.01}, duration=2000.0)
    sends, relays, arrivals = run.diary.of("send"), run.diary.of("relay"), run.diary.of("recv")
    assert relays
    for sent in sends[:50]:
        here = [e for e in arrivals if (e["peer"], e["node"], e["id"]) == (sent["node"], sent["peer"], sent["id"])]
        assert [round(e["t"] - sent["t"], 9) for e in here] == [abs(sent["node"] - sent["peer"])]
        way = [e for e in relays if (e["source"], e["target"], e["id"]) == (sent["node"], sent["peer"], sent["id"])]
        assert len(way) == abs(sent["node"] - sent["peer"]) - 1
    assert sum(run.audit.metrics()["messages"].values()) == len(sends) + len(relays)
    assert run.verdicts == ALL_OK


def test_routes_follow_the_links_there_are():
    """With links changing all the time, every hop is over a link that is up, and order holds between any two nodes."""
    topology = {"kind": "random", "connectivity": 0.25, "link_change_rate": 2.0}
    run = simulate(algorithm="raymond-tree", topology=topology, duration=1000.0, delays={"hop": {"exponential": 2.0}})
    assert run.verdicts == ALL_OK
    graph = Graph(10, map(tuple, run.diary.of("start")[0]["links"]))
    assert len(run.diary.of("relay")) > 100
    assert len(run.diary.of("send")) == len(run.diary.of("recv"))
    assert len(graph.component(0)) == 10


def test_a_message_waits_for_a_path():
    """Cut off, it is held where it is; healed, it goes on; nothing is lost."""
    faults = [{"at": 100.0, "kind": "cut", "group": [0, 1]}, {"at": 200.0, "kind": "heal"}]
    run = simulate(nodes=5, topology=LINE, algorithm="raymond-tree", faults=faults, workload={"rate": 0.2})
    assert run.verdicts == ALL_OK
    assert not run.diary.of("lost")


@pytest.mark.parametrize("node", [1, 3])
def test_what_is_on_the_way_through_a_crashed_node_is_lost(node):
    """And said to be; messages behind it do not wait for ever."""
    faults = [{"at": 100.0, "kind": "crash", "node": node}]
    run = simulate(nodes=5, algorithm="raymond-tree", faults=faults, workload={"rate": 1.0}, drain=100.0)
    assert run.verdicts["order"] == run.verdicts["conservation"] == "ok"


def test_log_and_line_agree_on_relays(tmp_path):
    """Messages per CS from an events log, relays included, are those counted on line."""
    from analysis.load import audit_log
    from testbed.run import run
    from testbed.scenario import loads

    text = "name: r\nalgorithm: raymond-tree\nnodes: 8\ntopology: {kind: random, connectivity: 0.4}\n"
    result = run(loads(text + "workload: {rate: 0.1}\nduration: 300\nwarmup: 20\ntrace: events\n"), tmp_path)
    from_log = audit_log(result.path / "rep-000/events.jsonl")
    assert from_log.metrics() == result.summary["repetitions"][0]["metrics"]
    assert {one["verdict"] for one in from_log.verdicts().values()} == {"ok"}
