"""Runs in clusters: each cluster behaves and is judged as a network of its own, and all of them together as one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agents.contract import Demand, Shares
from agents.registry import ALGORITHMS
from agents.ricart_agrawala import RicartAgrawala
from agents.rl import ReverseLink
from agents.suzuki_kasami import SuzukiKasami
from analysis.load import load_run
from testbed.backends.repetition import Repetition
from testbed.cli.main import main
from testbed.experiments.runner import run
from testbed.network.graph import Graph
from testbed.randomness import Streams
from testbed.replay.replayer import replay
from testbed.scenario.schema import Scenario
from tests.testbed.backends.stations.stage import LINE, check_requests, events
from tests.testbed.simulate import ALL_OK, WITHOUT_GROUPS, Simulated, all_ok, prepare, simulate, verdicts_of
from tests.testbed.tiny import is_one_line, tiny


def with_one_unit(name: str) -> dict[str, Any]:
    return {"name": name, **({"k": 1} if hasattr(ALGORITHMS[name].parameters(), "k") else {})}


every_algorithm = pytest.mark.parametrize("name", WITHOUT_GROUPS)

# -- what a run in clusters does ---------------------------------------------------------------------------------------

SEEN = ("request", "enter", "exit", "send", "recv")
"""The events that are compared."""


def course(run: Simulated, numbers: dict[int, int]) -> list[tuple[Any, ...]]:
    """What happens to some nodes, in order, with their numbers translated; messages with their contents."""
    found = []
    for event in run.diary.of(*SEEN):
        if event["node"] in numbers:
            peer = numbers[event["peer"]] if "peer" in event else None
            told = (event.get("id"), event.get("type"), repr(event.get("fields")))
            found.append((event["t"], numbers[event["node"]], event["kind"], peer, *told))
    return found


def alone(together: Simulated, members: tuple[int, ...], links: Graph, algorithm: dict[str, Any]) -> Simulated:
    """A network of one cluster's size and links, with the applications and the random draws of that cluster's nodes."""
    topology = {"kind": "explicit", "links": list(map(list, links.links()))}
    single = prepare(algorithm=algorithm, nodes=len(members), topology=topology, **KEYS)
    repetition = Repetition(together.simulation.scenario, Streams(1, 0))
    for number, node in enumerate(members):
        application = repetition.application(node)
        application.node = number
        single.simulation.driver.applications[number] = application
        agent = single.simulation.driver.agents[number]
        if hasattr(agent, "rng"):
            agent.rng = Streams(1, 0).of("agent", node)
    single.simulation.run_all(lambda share: None)
    return single


KEYS: dict[str, Any] = {"workload": {"rate": 0.2}, "duration": 100.0, "trace": "events"}


@every_algorithm
def test_a_cluster_does_what_a_network_of_its_size_does(name):
    """The same events at the same times, with the same messages: every link takes one time unit, and draws agree."""
    algorithm = {**with_one_unit(name), **({"permuted": False} if name == "raymond-tree" else {})}
    together = prepare(algorithm=algorithm, nodes=11, clusters=3, topology="complete", **KEYS)
    repetition = Repetition(together.simulation.scenario, Streams(1, 0))
    clusters = repetition.clusters
    assert clusters is not None
    together.simulation.run_all(lambda share: None)
    for cluster, members in enumerate(clusters.members):
        single = alone(together, members, clusters.inside(cluster, repetition.graph), algorithm)
        end = min(run.diary.events[-1]["t"] for run in (single, together))
        expected = [one for one in course(single, {number: number for number in range(len(members))}) if one[0] < end]
        found = course(together, {node: number for number, node in enumerate(members)})
        assert [one for one in found if one[0] < end] == expected
        assert len(expected) > 100


NETWORKS: dict[str, dict[str, Any]] = {
    "static": {},
    "link changes": {"topology": {"kind": "random", "connectivity": 0.4, "link_change_rate": 0.05}},
    "radio": {"links": "radio", "warmup": 10.0},
    "radio with link changes": {
        "topology": {"kind": "random", "connectivity": 0.4, "link_change_rate": 0.05},
        "links": {"kind": "radio", "loss": 0.1},
        "warmup": 10.0,
    },
}


@pytest.mark.parametrize("network", NETWORKS)
@every_algorithm
def test_three_clusters_let_three_in(name, network):
    """Each keeps its one unit; the network of a cluster on links may fall apart, and requests are then excused."""
    algorithm = with_one_unit(name)
    run = simulate(algorithm=algorithm, nodes=12, clusters=3, workload={"rate": 1.0}, duration=60.0, drain=60.0,
                   **NETWORKS[network])  # fmt: skip
    assert run.verdicts == all_ok(name), run.audit.verdicts()
    assert run.audit.metrics()["peak_units"] == 3
    (start,) = run.diary.of("start")
    clusters = start["clusters"]
    assert start["capacity"] == 3
    units, sizes = Counter[int](), Counter(clusters)
    for node, cluster in enumerate(clusters):
        units[cluster] += start["units"][node]
    if ALGORITHMS[name].shares is Shares.TOKENS:
        assert set(units.values()) == {1}, "one in each cluster"
        assert run.details["conservation"].startswith("3 of 3 units kept")
    assert run.details["safety"].endswith(f"; clusters of {sizes[0]}, {sizes[1]}, {sizes[2]} nodes")
    between = [event for event in run.diary.of("send") if clusters[event["node"]] != clusters[event["peer"]]]
    assert not between
    assert set(clusters) == {clusters[event["node"]] for event in run.diary.of("enter")}


# -- cut-off nodes, pending requests and excuses -----------------------------------------------------------------------


def cluster_of(run: Simulated) -> list[int]:
    (start,) = run.diary.of("start")
    return start["clusters"]


def offending_nodes(run: Simulated) -> set[int]:
    offenders = run.audit.verdicts()["starvation"]["offenders"]
    return {int(line.split("node ")[1].split()[0]) for line in offenders}


def implied_cut_off(run: Simulated) -> list[tuple[dict[str, Any], set[int]]]:
    """Every partition that was reported, and the nodes whose component of their cluster has no unit by the log."""
    (start,) = run.diary.of("start")
    clusters, graph = start["clusters"], Graph(len(start["units"]), map(tuple, start["links"]))
    held, moving, found = Counter(dict(enumerate(start["units"]))), {}, []
    for event in run.diary.events:
        node, peer, kind = event["node"], event.get("peer"), event["kind"]
        key = (peer, node, event.get("id")) if kind == "recv" else (node, peer, event.get("id"))
        if kind in ("link_up", "link_down") and node < peer:
            (graph.add if kind == "link_up" else graph.remove)(node, peer)
        elif kind == "send" and event["units"]:
            held[node] -= 1
            moving[key] = node
        elif kind in ("recv", "return") and event["units"]:
            held[node] += 1
            del moving[key]
        elif kind == "partition":
            places = [one for one, units in held.items() if units]
            places += [a for a, b, _ in moving if b in graph.component(a)]
            supplied = [{one for one in graph.component(at) if clusters[one] == clusters[at]} for at in places]
            found.append((event, set(range(graph.nodes)).difference(*supplied)))
    return found


MOBILE: dict[str, Any] = {
    "nodes": 15,
    "clusters": 3,
    "topology": {"kind": "geometric", "max_lag": 0.2},
    "area": [300, 300],
    "placement": "uniform",
    "mobility": {"kind": "random-waypoint", "speed": [5, 15]},
    "radio": {"range": 120},
    "duration": 100.0,
    "drain": 50.0,
}


def test_clusters_that_move_fall_apart():
    """Cut off are the nodes that reach no unit of their own cluster, and only their requests are excused."""
    excused = 0
    for seed in range(1, 9):
        run = simulate(**MOBILE, algorithm="rl", seed=seed, workload={"rate": 0.3})
        assert run.verdicts == ALL_OK, (seed, run.audit.verdicts())
        implied = implied_cut_off(run)
        assert len(implied) > 10
        for event, cut_off in implied:
            assert set(event["cut_off"]) == cut_off, (seed, event)
        last, _ = implied[-1]
        pending = run.diary.of("pending")
        assert {event["node"] for event in pending} <= set(last["cut_off"])
        assert all(event["component_units"] == 0 for event in pending)
        excused += len(pending)
        assert run.audit.metrics()["peak_units"] == 3
    assert excused > 10


class Deaf(SuzukiKasami):
    """Forgets every request of a node that does not hold the token."""

    def on_request(self, demand: Demand) -> None:
        if self.holds_token:
            super().on_request(demand)


class DeafLinks(ReverseLink):
    """The same on links."""

    def on_request(self, demand: Demand) -> None:
        if self.token_holder:
            super().on_request(demand)


@pytest.fixture
def _deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ALGORITHMS, "suzuki-kasami", Deaf)
    monkeypatch.setitem(ALGORITHMS, "rl", DeafLinks)


def six(group: list[int], algorithm: str = "suzuki-kasami", **keys: Any) -> Simulated:
    """Two clusters of three nodes, with a group of nodes cut off for good."""
    faults = [{"at": 20.0, "kind": "cut", "group": group}]
    return simulate(algorithm=algorithm, nodes=6, clusters=2, topology="complete", faults=faults,
                    workload={"rate": 0.5}, duration=100.0, drain=100.0, **keys)  # fmt: skip


@pytest.mark.parametrize("algorithm", ["suzuki-kasami", "rl"])
def test_a_cut_through_a_cluster_excuses_that_cluster(algorithm):
    """The other one goes on and is served."""
    victim = 2
    run = six([victim], algorithm)
    clusters = cluster_of(run)
    assert run.verdicts == ALL_OK
    assert {clusters[event["node"]] for event in run.diary.of("pending")} == {clusters[victim]}
    others = [one for one in range(6) if clusters[one] != clusters[victim]]
    assert {event["node"] for event in run.diary.of("enter") if event["t"] > 90} >= set(others)
    last = run.diary.of("partition")[-1]
    assert last["parts"] == 2
    assert set(last["cut_off"]) in ({victim}, set(range(6)) - set(others) - {victim})


@pytest.mark.usefixtures("_deaf")
def test_a_cut_through_a_cluster_excuses_no_other_cluster():
    """Both clusters are deadlocked: the one that is not separated is to blame."""
    run = six([2])
    assert run.verdicts["starvation"] == "failed"
    assert offending_nodes(run) <= {3, 4, 5} != set()
    assert {event["node"] for event in run.diary.of("pending")} & {0, 1, 2}


@pytest.mark.usefixtures("_deaf")
@pytest.mark.parametrize("algorithm", ["suzuki-kasami", "rl"])
def test_a_cut_between_clusters_excuses_nothing(algorithm):
    """Neither cluster is separated by it, so both are to blame for their deadlocks, and no partition is reported."""
    group = cluster_members(algorithm)
    run = six(group, algorithm)
    assert run.verdicts["starvation"] == "failed"
    assert {cluster_of(run)[node] for node in offending_nodes(run)} == {0, 1}
    assert not run.diary.of("partition")
    assert all(event["parts"] == 1 for event in run.diary.of("pending"))


def cluster_members(algorithm: str) -> list[int]:
    """The nodes of the first of two clusters of six nodes."""
    clusters = cluster_of(six([2], algorithm))
    return [node for node, cluster in enumerate(clusters) if cluster == 0]


@pytest.mark.parametrize("algorithm", ["suzuki-kasami", "rl", "naimi-trehel"])
def test_a_holder_that_crashes_starves_its_own_cluster(algorithm):
    """Its unit is lost, its cluster's requests are excused, and the others are served to the end."""
    crash = [{"at": 50.0, "kind": "crash", "holder": True}]
    run = simulate(algorithm=algorithm, nodes=12, clusters=3, topology="complete", faults=crash, duration=100.0,
                   workload={"rate": 0.5, "cs_time": 5.0}, drain=100.0)  # fmt: skip
    clusters, (crashed,) = cluster_of(run), run.diary.of("crash")
    struck = clusters[crashed["node"]]
    assert run.verdicts == ALL_OK, run.audit.verdicts()
    assert run.details["conservation"].startswith("2 of 3 units kept")
    assert {clusters[event["node"]] for event in run.diary.of("pending")} == {struck}
    assert run.details["starvation"] == "excused: 3 (component holds no unit)"
    entered = {clusters[event["node"]] for event in run.diary.of("enter") if event["t"] > 60}
    assert entered == {0, 1, 2} - {struck}


@pytest.mark.parametrize("algorithm", ["ricart-agrawala", "maekawa", "raymond-k"])
def test_a_node_that_crashes_blocks_its_own_cluster(algorithm):
    """Where permissions are shared: nodes await nodes of their own cluster, by the scenario's numbers."""
    crash = [{"at": 50.0, "kind": "crash", "node": 5}]
    run = simulate(algorithm=with_one_unit(algorithm), nodes=12, clusters=3, topology="complete", faults=crash,
                   workload={"rate": 0.5}, duration=100.0, drain=100.0)  # fmt: skip
    assert run.verdicts == all_ok(algorithm), run.audit.verdicts()
    pending = {event["node"] for event in run.diary.of("pending")}
    assert pending <= {4, 6, 7} != set()
    assert f"{len(pending)} (waits for a node that crashed)" in run.details["starvation"]
    awaited = {event["node"]: set(event["peers"]) for event in run.diary.of("awaits")}
    assert pending <= set(awaited)
    assert all(peers <= {4, 5, 6, 7} for node, peers in awaited.items() if node in pending)
    assert {event["node"] // 4 for event in run.diary.of("enter") if event["t"] > 90} == {0, 2}


@pytest.mark.usefixtures("_deaf")
def test_a_crash_excuses_no_other_cluster():
    """The units of the others are still there, so their deadlocks are their own."""
    crash = [{"at": 20.0, "kind": "crash", "holder": True}]
    run = simulate(algorithm="suzuki-kasami", nodes=6, clusters=2, topology="complete", faults=crash,
                   workload={"rate": 0.5}, duration=60.0, drain=60.0)  # fmt: skip
    (crashed,) = run.diary.of("crash")
    others = {3, 4, 5} if crashed["node"] < 3 else {0, 1, 2}
    assert run.verdicts["starvation"] == "failed"
    assert offending_nodes(run) <= others != set()


class Generous(RicartAgrawala):
    """A node that has peers asks none of them; one without peers never enters."""

    def on_request(self, demand: Demand) -> None:
        if self.peers:
            self.enter()

    def on_release(self) -> None:
        """Nothing was taken, so nothing is given back."""


def test_two_in_one_cluster_are_not_safe(monkeypatch):
    """Although no more than two are inside in the whole network, as many as there are clusters."""
    monkeypatch.setitem(ALGORITHMS, "ricart-agrawala", Generous)
    run = simulate(algorithm="ricart-agrawala", nodes=3, clusters=2, topology="complete", workload={"rate": 1.0},
                   duration=50.0, drain=0.0)  # fmt: skip
    assert cluster_of(run) == [0, 0, 1]
    assert run.audit.metrics()["peak_units"] == 2
    safety = run.audit.verdicts()["safety"]
    assert safety["verdict"] == "failed"
    assert safety["offenders"][0].endswith("of its cluster inside: 2 units of 1 in use in cluster 0")


# -- logs and stations -------------------------------------------------------------------------------------------------


def judged(checks: dict[str, dict[str, Any]]) -> dict[str, tuple[str, list[str]]]:
    return {name: (one["verdict"], one["offenders"]) for name, one in checks.items()}


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [
        ("rl", {"topology": {"kind": "random", "connectivity": 0.3, "link_change_rate": 0.2}}),
        ("suzuki-kasami", {"faults": [{"at": 30.0, "kind": "cut", "group": [0, 5]}], "topology": "complete"}),
        ("maekawa", {"faults": [{"at": 30.0, "kind": "crash", "node": 5}], "topology": "complete"}),
    ],
)
def test_the_log_is_judged_as_the_run_was(algorithm, more, tmp_path):
    """Safety, conservation, starvation and order; the details say the same of clusters, units and excuses."""
    keys = {"name": "logged", "algorithm": algorithm, "nodes": 12, "clusters": 3, "workload": {"rate": 0.5},
            "duration": 80.0, "drain": 80.0, "trace": "events", **more}  # fmt: skip
    result = run(Scenario.model_validate(keys), tmp_path)
    from_log = load_run(result.path).verdicts()
    assert judged(from_log) == judged(result.summary["checks"])
    for name in ("safety", "conservation", "starvation"):
        assert from_log[name]["detail"] == result.summary["checks"][name]["detail"]
    assert "clusters of" in from_log["safety"]["detail"]


def test_a_failed_run_is_judged_the_same_from_its_log(tmp_path, monkeypatch):
    """The same offences, in the same words."""
    monkeypatch.setitem(ALGORITHMS, "ricart-agrawala", Generous)
    keys = {"name": "unsafe", "algorithm": "ricart-agrawala", "nodes": 3, "clusters": 2, "topology": "complete",
            "workload": {"rate": 1.0}, "duration": 20.0, "drain": 5.0, "trace": "events"}  # fmt: skip
    result = run(Scenario.model_validate(keys), tmp_path)
    assert result.summary["checks"]["safety"]["verdict"] == "failed"
    safety = result.summary["checks"]["safety"]
    assert {**load_run(result.path).verdicts()["safety"], "replay": safety["replay"]} == safety


@pytest.mark.xdist_group("stations")
@pytest.mark.parametrize("algorithm", ["rl", "suzuki-kasami"])
def test_stations_in_clusters(algorithm, tmp_path):
    """Real processes: safe, judged the same from the log, and repeated by a replay."""
    line = {"kind": "explicit", "links": [[node, node + 1] for node in range(5)]}
    keys = {**LINE, "algorithm": algorithm, "nodes": 6, "topology": line, "clusters": 2, "duration": 20.0}
    result = run(Scenario.model_validate({**keys, "trace": "events"}), tmp_path)
    assert verdicts_of(result.summary["checks"]) == ALL_OK
    assert result.summary["checks"]["safety"]["detail"].endswith("of 2 in use; clusters of 3, 3 nodes")
    assert judged(load_run(result.path).verdicts()) == judged(result.summary["checks"])
    check_requests(result.path)
    (start,) = events(result.path, "start")
    assert start["clusters"] == [0, 0, 0, 1, 1, 1]
    assert all((one["node"] < 3) == (one["peer"] < 3) for one in events(result.path, "send", "recv"))
    for node in range(6):
        done = replay(result.path, node=node)
        assert done.steps
        assert not done.failed


@pytest.mark.xdist_group("stations")
def test_a_cut_through_a_cluster_of_stations(tmp_path):
    """Only requests of that cluster may be pending at the end; they are excused."""
    line = {"kind": "explicit", "links": [[node, node + 1] for node in range(5)]}
    keys = {**LINE, "algorithm": {"name": "krl", "k": 1}, "nodes": 6, "topology": line, "clusters": 2}
    faults = [{"at": 8.0, "kind": "cut", "group": [2, 3, 4, 5]}]
    result = run(Scenario.model_validate({**keys, "faults": faults, "duration": 20.0, "trace": "events"}), tmp_path)
    assert verdicts_of(result.summary["checks"]) == ALL_OK
    assert {event["node"] for event in events(result.path, "pending")} <= {0, 1, 2}
    partitions = events(result.path, "partition")
    assert max(event["parts"] for event in partitions) == 2
    assert all(set(event["cut_off"]) <= {0, 1, 2} for event in partitions)


# -- networks that cannot be divided -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "clusters", "expected"),
    [
        (
            {"topology": "{kind: explicit, links: [[0, 1], [2, 3]]}"}, 2,
            "tiny: clusters: found 2 and a network of 3 components; allowed: at least as many clusters",
        ),
        (
            {"topology": "{kind: explicit, links: [[0, 1], [0, 2], [0, 3], [0, 4]]}", "algorithm": "{name: krl, k: 1}"},
            2, "tiny: clusters: found a cluster of 1 node; allowed: k less than the number of nodes, 1",
        ),
    ],
)  # fmt: skip
def test_a_network_that_cannot_be_divided_is_one_line(changes, clusters, expected, tmp_path: Path, capsys):
    """It depends on the network of the repetition, so the run begins, and ends with exit code 2."""
    path = tmp_path / "tiny.yaml"
    path.write_text(tiny(f"clusters: {clusters}\n", **changes))
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 2
    captured = capsys.readouterr()
    assert is_one_line(captured.err)
    assert captured.err == f"testbed: {expected}\n"


@pytest.mark.parametrize("name", ["rl", "suzuki-kasami", "naimi-trehel", "ricart-agrawala", "maekawa", "raymond-tree"])
def test_as_many_clusters_as_nodes(name):
    """Every node enters when it likes, without a message."""
    run = simulate(algorithm=name, nodes=5, clusters=5, topology="complete", workload={"rate": 1.0}, duration=50.0)
    assert run.verdicts == all_ok(name)
    assert run.audit.metrics()["peak_units"] == 5
    assert not run.diary.of("send")


@every_algorithm
def test_one_cluster_is_the_whole_network(name):
    """The same run as without clusters, but for what the start says of them."""
    keys = {"algorithm": with_one_unit(name), "topology": "complete", "duration": 50.0}
    plain, one = simulate(**keys), simulate(**keys, clusters=1)
    assert one.diary.events[1:] == plain.diary.events[1:]
    assert one.diary.events[0] == {**plain.diary.events[0], "clusters": [0] * 10}
