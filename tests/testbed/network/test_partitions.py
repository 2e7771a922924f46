"""Components kept up to date, and what is reported of partitions."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.network.components import Components
from testbed.network.graph import Graph
from tests.testbed.simulate import ALL_OK, simulate


@given(seed=st.integers(0, 2**32), nodes=st.integers(2, 12))
def test_components_are_those_of_the_graph(seed, nodes):
    """After any sequence of links that come and go."""
    rng, graph = Random(seed), Graph(nodes)
    components = Components(dict(enumerate(graph.peers)))
    for _ in range(60):
        a, b = sorted(rng.sample(range(nodes), 2))
        before = len(components.members)
        if (a, b) in graph:
            graph.remove(a, b)
            assert components.part(a, b) is (b not in graph.component(a))
        else:
            apart = b not in graph.component(a)
            graph.add(a, b)
            assert components.join(a, b) is apart
        assert abs(len(components.members) - before) <= 1
        for node in range(nodes):
            assert components.of(node) == graph.component(node)


def test_components_of_a_graph_that_has_links_at_the_start():
    """Its links are joined one by one."""
    components = Components({0: (1,), 1: (0,), 2: (3,), 3: (2,), 4: ()})
    assert sorted(map(sorted, components.members.values())) == [[0, 1], [2, 3], [4]]


CUT = [{"at": 100.0, "kind": "cut", "group": [5, 6]}, {"at": 160.0, "kind": "heal"}]
LINE = {"kind": "explicit", "links": [[i, i + 1] for i in range(9)]}


@pytest.mark.parametrize("name", ["rl", "krlf", "raymond-tree"])
def test_a_cut_is_reported_and_counted(name):
    """Nodes 5 and 6 of a line of ten cut off: three components, at least one without a token, for 60 units."""
    algorithm = {"name": name, **({"k": 1} if name == "krlf" else {})}
    run = simulate(algorithm=algorithm, topology=LINE, faults=CUT, workload={"rate": 0.02})
    reported = run.diary.of("partition")
    assert max(event["parts"] for event in reported) == 3
    assert reported[-1]["parts"] == 1
    assert reported[-1]["cut_off"] == []
    assert any(len(event["cut_off"]) >= 2 for event in reported)
    metrics = run.audit.metrics()
    length = run.diary.events[-1]["t"]
    assert metrics["time_partitioned"] == pytest.approx(60 / length, abs=5 / length)
    assert run.verdicts == ALL_OK


def test_what_the_cut_off_send_is_counted_apart():
    """On line and from the log alike: RL's nodes without a token raise their heights as long as the cut lasts."""
    run = simulate(algorithm="rl", topology=LINE, faults=CUT, workload={"rate": 0.02})
    metrics = run.audit.metrics()
    cut_off, apart = set(), 0
    for event in run.diary.events:
        if event["kind"] == "partition":
            cut_off = set(event["cut_off"])
        elif event["kind"] == "send" and event["node"] in cut_off:
            apart += 1
    assert metrics["messages_cut_off"] == apart > 50
    assert sum(metrics["messages"].values()) == len(run.diary.of("send")) - apart


def test_a_crashed_node_is_no_component():
    """The middle of a line crashes: two components, not three; when it restarts there is one."""
    faults = [{"at": 100.0, "kind": "crash", "node": 5}, {"at": 150.0, "kind": "restart", "node": 5}]
    run = simulate(algorithm={"name": "krl", "k": 2}, topology=LINE, faults=faults, workload={"rate": 0.001})
    assert {event["parts"] for event in run.diary.of("partition") if 100 <= event["t"] < 150} == {2}
    assert run.diary.of("partition")[-1]["parts"] == 1


def test_without_a_token_every_node_is_cut_off():
    """RL's only holder crashes: the rest is one component, and cut off."""
    faults = [{"at": 100.0, "kind": "crash", "holder": True}]
    run = simulate(algorithm="rl", topology={"kind": "complete"}, faults=faults, drain=50.0)
    assert len(run.diary.of("partition")[-1]["cut_off"]) == 9


def test_a_run_ends_when_only_the_cut_off_wait():
    """The network stays as it is after the duration, so no pending request can be served any more."""
    faults = [{"at": 100.0, "kind": "cut", "group": [5, 6]}]
    run = simulate(algorithm="rl", topology=LINE, faults=faults, workload={"rate": 0.05}, duration=200.0, drain=5000.0)
    assert run.diary.of("pending")
    assert run.diary.events[-1]["t"] < 400
    assert "excused" in run.details["starvation"]
    assert run.verdicts == ALL_OK


def reported_and_expected(run) -> list[tuple[dict, set[int]]]:
    """Every partition that was reported, and the nodes that were cut off then by the links and tokens in the log."""
    start = run.diary.of("start")[0]
    links = {frozenset(link) for link in start["links"]}
    held, moving = dict(enumerate(start["units"])), {}
    found = []
    for event in run.diary.events:
        node, peer, kind = event["node"], event.get("peer"), event["kind"]
        key = (peer, node, event.get("id")) if kind == "recv" else (node, peer, event.get("id"))
        if kind == "link_up":
            links.add(frozenset((node, peer)))
        elif kind == "link_down":
            links.discard(frozenset((node, peer)))
        elif kind == "send" and event["units"]:
            held[node] -= event["units"]
            moving[key] = event["units"]
        elif kind in ("recv", "returned") and event["units"]:
            held[node] += moving.pop(key)
        elif kind == "lost" and event["units"]:
            moving.pop(key)
        elif kind == "partition":
            reach = {one: {one} for one in held}
            for a, b in map(tuple, links):
                if reach[a] is not reach[b]:
                    reach[a] |= reach[b]
                    for one in reach[b]:
                        reach[one] = reach[a]
            supplied = [reach[one] for one, units in held.items() if units]
            supplied += [reach[a] for a, b, _ in moving if reach[a] is reach[b]]
            found.append((event, {one for one in held if not any(one in component for component in supplied)}))
    return found


@pytest.mark.parametrize("name", ["rl", "krlf"])
def test_cut_off_nodes_are_those_that_the_log_implies(name):
    """Long hops, so that tokens are on links that are to fall, and cuts and heals at odd moments."""
    algorithm = {"name": name, **({"k": 1} if name == "krlf" else {})}
    checked = 0
    for seed in range(120):
        rng = Random(seed)
        faults = []
        for at in sorted(rng.sample(range(20, 110), 4)):
            kind = rng.choice(["cut", "cut", "heal"])
            faults.append({"at": float(at), "kind": kind, **({"group": [rng.randrange(5)]} if kind == "cut" else {})})
        run = simulate(algorithm=algorithm, nodes=5, seed=seed, topology=rng.choice(["complete", LINE_OF_FIVE]),
                       delays={"hop": rng.choice([1.0, 5.0, {"exponential": 3.0}])}, workload={"rate": 1.0},
                       faults=faults, duration=120.0, drain=500.0)  # fmt: skip
        for event, cut_off in reported_and_expected(run):
            checked += 1
            assert set(event["cut_off"]) == cut_off, f"seed {seed}: {event}"
        assert run.verdicts == ALL_OK, f"seed {seed}"
    assert checked > 300


LINE_OF_FIVE = {"kind": "explicit", "links": [[i, i + 1] for i in range(4)]}


def test_a_token_beside_the_message_that_partitions_the_network():
    """Both arrive in one parcel: the first empties a link that is to fall, and the token is not there yet."""
    run = simulate(nodes=4, seed=1, topology="complete", workload={"rate": 1.0}, delays={"hop": 5.0}, duration=120.0,
                   faults=[{"at": 100.0, "kind": "cut", "group": [3]}])  # fmt: skip
    assert all(len(event["cut_off"]) < 4 for event in run.diary.of("partition"))
    assert run.verdicts == ALL_OK


def test_a_link_that_falls_and_forms_again_at_once_ends_nothing():
    """For that instant the network has two components, after the last request was made."""
    faults = [{"at": 382.0, "kind": "cut", "node": 0, "peer": 1}, {"at": 383.0, "kind": "heal", "node": 0, "peer": 1}]
    run = simulate(nodes=3, topology={"kind": "explicit", "links": [[0, 1], [1, 2]]}, delays={"hop": 10.0},
                   workload={"rate": 0.01}, duration=384.0, faults=faults)  # fmt: skip
    assert run.diary.events[-1]["reason"] == "every request served"
    assert run.verdicts == ALL_OK
