"""Ideal routing: shortest paths as they are now, one message and one delay a link, exactly once and in order."""

from random import Random

import pytest

from testbed.backends.sim.ideal_router import RoutedMessage
from tests.testbed.simulate import ALL_OK, simulate, verdicts_of

LINE = {"kind": "explicit", "links": [[0, 1], [1, 2], [2, 3], [3, 4]]}
RAYMOND = {"algorithm": {"name": "raymond-tree", "permuted": False}}


def test_a_message_is_charged_for_every_link():
    """On a line of five, where every edge of the tree is a link, each message is one hop."""
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
    assert len(run.diary.of("relay")) > 100
    assert len(run.diary.of("send")) == len(run.diary.of("recv"))
    links = {frozenset(link) for link in run.diary.of("start")[0]["links"]}
    place: dict[tuple[int, int, int], int] = {}  # of every message, by source, target and number
    for event in run.diary.of("link_up", "link_down", "send", "relay"):
        node, peer = event["node"], event.get("peer")
        if event["kind"] == "link_up":
            links.add(frozenset((node, peer)))
        elif event["kind"] == "link_down":
            links.discard(frozenset((node, peer)))
        elif event["kind"] == "send":
            place[node, peer, event["id"]] = node
        else:
            key = event["source"], event["target"], event["id"]
            assert frozenset((place[key], node)) in links, event
            place[key] = node


def test_a_message_waits_for_a_path():
    """Cut off, it is held where it is; healed, it goes on; nothing is lost."""
    faults = [{"at": 100.0, "kind": "cut", "group": [0, 1]}, {"at": 200.0, "kind": "heal"}]
    run = simulate(nodes=5, topology=LINE, algorithm="raymond-tree", faults=faults, workload={"rate": 0.2})
    assert run.verdicts == ALL_OK
    assert not run.diary.of("lost")


@pytest.mark.parametrize("node", [1, 3])
def test_messages_in_transit_through_a_crashed_node_are_lost(node):
    """They are reported as lost, and later messages do not wait for them."""
    faults = [{"at": 100.0, "kind": "crash", "node": node}]
    run = simulate(nodes=5, algorithm="raymond-tree", faults=faults, workload={"rate": 1.0}, drain=100.0)
    assert run.verdicts["order"] == run.verdicts["conservation"] == "ok"


def test_no_message_waits_behind_a_lost_one():
    """Links change, messages overtake each other, and a node crashes with some: all others that can arrive do."""
    losses = 0
    for seed in range(150):
        rng = Random(seed)
        nodes = rng.randint(4, 8)
        run = simulate(
            algorithm="raymond-tree",
            nodes=nodes,
            seed=seed,
            topology={"kind": "random", "connectivity": 0.6, "link_change_rate": 1.0},
            delays={"hop": {"exponential": 3.0}},
            workload={"rate": 1.0, "cs_time": 0.5},
            faults=[{"at": float(rng.randint(20, 70)), "kind": "crash", "node": rng.randrange(nodes)}],
            duration=80.0,
            drain=300.0,
        )
        lost = run.diary.of("lost")
        losses += len(lost)
        known = {(event["node"], event["peer"], event["id"]) for event in lost}
        known |= {(event["peer"], event["node"], event["id"]) for event in run.diary.of("recv")}
        moving = [post[1] for _, post in run.simulation.transport.in_transit()]
        known |= {(one.channel.source, one.channel.target, one.number) for one in moving if type(one) is RoutedMessage}
        for event in run.diary.of("send"):
            assert (event["node"], event["peer"], event["id"]) in known, f"seed {seed}: {event}"
        assert run.verdicts["order"] == run.verdicts["conservation"] == "ok"
    assert losses > 100


def test_a_dropped_message_is_charged_like_any_other():
    """Relays of a message that a fault has dropped are relays of its type."""
    line = {"kind": "explicit", "links": [[i, i + 1] for i in range(5)]}
    faults = [{"at": 20.0, "kind": "lose", "holder": True}]
    run = simulate(nodes=6, topology=line, algorithm="raymond-tree", faults=faults, workload={"rate": 0.2}, drain=50.0)
    assert len(run.diary.of("lost")) == 1
    assert set(run.audit.metrics()["messages"]) == {"Request", "Token"}


def test_log_and_line_agree_on_relays(tmp_path):
    """Messages per CS from an events log, relays included, are those counted on line."""
    from analysis.load import audit_log
    from testbed.experiments.runner import run
    from testbed.scenario.loader import loads

    text = "name: r\nalgorithm: raymond-tree\nnodes: 8\ntopology: {kind: random, connectivity: 0.4}\n"
    result = run(loads(text + "workload: {rate: 0.1}\nduration: 300\nwarmup: 20\ntrace: events\n"), tmp_path)
    from_log = audit_log(result.path / "rep-000/events.jsonl")
    assert from_log.metrics() == result.summary["repetitions"][0]["metrics"]
    assert verdicts_of(from_log.verdicts()) == ALL_OK
