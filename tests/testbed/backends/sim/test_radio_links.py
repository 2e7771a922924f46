"""`links: radio` in the simulator: the algorithms on a medium that loses, doubles and delays, over our link layer."""

import itertools
import json

import pytest

from agents.contract import Needs, Shares
from agents.registry import ALGORITHMS
from testbed.backends.sim.radio_links import SharedWire
from testbed.cli.main import main
from testbed.link.frames import Hello
from testbed.link.wire import Datagram, Junk, Wire
from testbed.scenario.links import RadioChoice
from testbed.scenario.schema import Scenario
from tests.testbed.simulate import ALL_OK, OVER_RADIO, Simulated, all_ok, simulate

OVER_LINKS = [name for name, agent in ALGORITHMS.items() if agent.needs is Needs.LINKS]
every = pytest.mark.parametrize("name", OVER_RADIO)

RADIO = {
    "topology": {"kind": "geometric"},
    "area": [300, 300],
    "mobility": {"kind": "random-waypoint", "speed": [1, 4]},
    "radio": {"range": 130},
    "links": {"kind": "radio", "loss": 0.2, "duplicate": 0.05, "hello": 0.5},
    "delays": {"hop": {"uniform": [0.005, 0.05]}},
    "workload": {"rate": 0.2, "cs_time": 0.2},
    "nodes": 10,
    "warmup": 3.0,
    "duration": 90.0,
    "drain": 60.0,
}
LINE = {
    "topology": {"kind": "explicit", "links": [[i, i + 1] for i in range(5)]},
    "nodes": 6,
    "links": {"kind": "radio", "loss": 0.1, "hello": 1.0},
    "delays": {"hop": {"uniform": [0.01, 0.1]}},
    "workload": {"rate": 0.05},
    "warmup": 10.0,
    "duration": 300.0,
    "drain": 300.0,
}


def algorithm(name: str) -> dict[str, object]:
    """With two tokens, if it has several; heights are raised once a unit at most, as where radios are real."""
    known = ALGORITHMS[name].parameters.__dataclass_fields__
    return {"name": name, **{key: value for key, value in (("raise_interval", 1.0), ("k", 2)) if key in known}}


def radio(name: str, base=RADIO, **keys) -> Simulated:
    return simulate(**{**base, "algorithm": algorithm(name), **keys})


@every
@pytest.mark.parametrize("seed", range(4))
def test_safe_and_live_at_twenty_per_cent_loss(name, seed):
    """Every registered algorithm over links: random waypoint, 20 % loss, duplicates, reordering."""
    run = radio(name, seed=seed)
    assert run.verdicts == all_ok(name)
    # Permissions of all nodes cannot be had while the network is partitioned, which it is for a while.
    assert run.audit.metrics()["entries"] > (50 if ALGORITHMS[name].shares is Shares.TOKENS else 20)
    assert name not in OVER_LINKS or run.diary.of("link_down"), "links fall"


@every
def test_links_are_found_before_the_load_starts(name):
    """Agents start without links, which come up; the first request is made after the warmup."""
    run = radio(name, LINE)
    assert run.diary.of("request")[0]["t"] >= 10.0
    assert name not in OVER_LINKS or run.diary.of("link_up")[0]["t"] < 10.0
    assert run.verdicts == all_ok(name)


@pytest.mark.parametrize("name", [name for name in OVER_RADIO if ALGORITHMS[name].shares is Shares.TOKENS])
@pytest.mark.parametrize("seed", range(3))
def test_a_holder_fault_waits_for_a_holder(name, seed):
    """Although it is not known when a unit in transit will arrive."""
    chosen = {**algorithm(name), **({"k": 1} if "k" in algorithm(name) else {})}
    quick = {"delays": {"hop": 0.9}, "workload": {"rate": 1.0, "cs_time": 0.001}, "duration": 80.0, "drain": 20.0}
    faults = [{"at": 60.0, "kind": "crash", "holder": True}]
    run = simulate(**{**LINE, **quick, "algorithm": chosen, "seed": seed, "faults": faults})
    (fault,) = run.diary.of("fault")
    (crash,) = run.diary.of("crash")
    assert (crash["node"], crash["tokens"]) == (fault["node"], 1)
    assert 60.0 <= fault["t"] < 100.0


@every
def test_nodes_that_are_slow(name):
    """Messages wait for a node that is busy with others, in order, and so do changes of its links."""
    faults = [{"at": 100.0, "kind": "cut", "node": 2, "peer": 3}, {"at": 150.0, "kind": "heal"}]
    faults += [{"at": 200.0, "kind": "crash", "node": 5}, {"at": 220.0, "kind": "restart", "node": 5}]
    delays = {"hop": 0.05, "send": 0.3, "receive": 0.6}
    run = radio(name, LINE, delays=delays, workload={"rate": 0.02}, faults=faults)
    assert {**run.verdicts, "starvation": "ok"} == all_ok(
        name
    )  # the crash may have taken a token, or the tree, with it
    sent = {(one["node"], one["peer"], one["id"]): one["t"] for one in run.diary.of("send")}
    took = [one["t"] - sent[one["peer"], one["node"], one["id"]] for one in run.diary.of("recv")]
    assert 0.649 < min(took) < 0.75, "a hop or two, and then its time"
    handled: dict[int, list[float]] = {}
    for one in run.diary.of("recv"):
        handled.setdefault(one["node"], []).append(one["t"])
    gaps = [b - a for times in handled.values() for a, b in itertools.pairwise(times)]
    assert min(gaps) > 0.599, "one after the other"


@pytest.mark.parametrize("nodes", range(3, 9))
def test_two_nodes_out_of_reach_agree_by_relays(nodes):
    """In a ring, by way of a neighbour that they have in common or all the way round; nothing else closes the link."""
    ring = {"kind": "explicit", "links": [[i, (i + 1) % nodes] for i in range(nodes)]}
    faults = [{"at": 50.0, "kind": "cut", "node": 0, "peer": nodes - 1}]
    run = radio("rl", LINE, nodes=nodes, topology=ring, faults=faults, duration=120.0)
    downs = [event for event in run.diary.of("link_down") if {event["node"], event["peer"]} == {0, nodes - 1}]
    assert {event["node"] for event in downs} == {0, nodes - 1}
    assert all(50 < event["t"] < 80 for event in downs[-2:])
    assert run.verdicts == ALL_OK


@every
def test_a_partition_that_heals(name):
    """The component with a token goes on, the rest is served after the heal."""
    faults = [{"at": 100.0, "kind": "cut", "node": 2, "peer": 3}, {"at": 180.0, "kind": "heal"}]
    run = radio(name, LINE, faults=faults)
    assert any(event["parts"] == 2 for event in run.diary.of("partition"))
    assert run.verdicts == all_ok(name)
    assert [event for event in run.diary.of("enter") if event["t"] > 200]


@pytest.mark.parametrize("name", [name for name in OVER_LINKS if name != "rl"])
@pytest.mark.parametrize("seed", range(3))
def test_a_crash_and_a_restart(name, seed):
    """The other nodes go on; messages in doubt with the crashed process are lost, and the log says so."""
    faults = [{"at": 100.0, "kind": "crash", "node": 3}, {"at": 160.0, "kind": "restart", "node": 3}]
    run = radio(name, LINE, faults=faults, seed=seed)
    assert run.verdicts["safety"] == run.verdicts["conservation"] == run.verdicts["order"] == "ok"
    assert run.diary.of("restart")
    downs = {(event["node"], event["peer"]) for event in run.diary.of("link_down") if event["t"] > 100}
    assert {(2, 3), (4, 3)} <= downs, "the neighbours find out"
    assert [event for event in run.diary.of("link_up") if event["t"] > 160 and event["node"] == 3]


def test_a_sealed_session_is_settled_when_nodes_meet_again():
    """Sessions that end in disagreement, with tokens in doubt, under heavy loss and short time limits."""
    links = {"kind": "radio", "loss": 0.5, "hello": 0.5, "close_timeout": 3, "dead_after": 2.5}
    returns = 0
    for seed in range(4):
        run = radio("krlf", links=links, seed=seed)
        assert run.verdicts == ALL_OK
        returns += len([event for event in run.diary.of("return") if event["units"]])
    assert returns > 40, "tokens came back"


def test_the_same_seed_gives_the_same_run():
    """To the event."""
    first, second, other = (radio("krlf", seed=seed, duration=30.0).diary.events for seed in (1, 1, 9))
    assert first == second != other
    assert len(first) > 1000


def test_frames_are_counted_apart():
    """What the layer itself sends is no message of the algorithm's."""
    run = radio("rl")
    metrics = run.audit.metrics()
    assert set(metrics["frames"]) >= {"Hello", "State", "Data"}
    assert metrics["air_bytes"] > sum(metrics["frames"].values())
    assert set(metrics["messages"]) <= {"Request", "Token", "LinkInfo"}
    assert sum(metrics["messages"].values()) <= metrics["frames"]["Data"]


def test_loss_costs_time_not_correctness():
    """The more is lost, the more is sent again."""
    frames = {}
    for loss in (0.0, 0.4):
        run = radio("rl", LINE, links={"kind": "radio", "loss": loss, "hello": 1.0})
        assert run.verdicts == ALL_OK
        metrics = run.audit.metrics()
        frames[loss] = metrics["frames"]["Data"] / sum(metrics["messages"].values())
    assert frames[0.4] > 1.2 * frames[0.0]


def test_fading_is_allowed_over_radio_links():
    """Ideal links must refuse it."""
    run = radio("rl", radio={"range": 130, "propagation": "nakagami"}, duration=45.0)
    assert run.verdicts == ALL_OK
    assert run.audit.metrics()["entries"] > 20


def test_heights_are_paced_where_radios_are_real():
    """As often as hellos, unless the scenario says otherwise; not at all in the papers' model."""

    def interval(**keys) -> float:
        data = {"name": "t", "nodes": 5, "topology": "complete", "workload": {"rate": 1.0}, "duration": 1.0}
        return Scenario.model_validate({**data, **keys}).algorithm.parameters.raise_interval

    assert interval(algorithm="rl") == 0
    assert interval(algorithm="rl", links="radio") == 1
    assert interval(algorithm={"name": "krl"}, links={"kind": "radio", "hello": 0.5}) == 0.5
    assert interval(algorithm={"name": "rl", "raise_interval": 0.0}, links="radio") == 0


def test_the_time_limit_depends_on_the_algorithm():
    """RL's paper assumes a connected network: no session is sealed under it unless the scenario says so."""
    assert RadioChoice().settings(assumes_connected=True).close_timeout is None
    assert RadioChoice(hello=0.5).settings(assumes_connected=False).close_timeout == 10_000_000_000
    assert RadioChoice(close_timeout=3.0).settings(assumes_connected=True).close_timeout == 3_000_000_000
    assert RadioChoice(close_timeout="never").settings(assumes_connected=False).close_timeout is None


def test_raymond_over_charged_routing():
    """What an algorithm that addresses any node costs when its routes have to be found: packets, receipts, adverts."""
    run = radio("raymond-tree", algorithm="raymond-tree")
    frames = run.audit.metrics()["frames"]
    assert set(frames) == {"Advert", "Packet", "Receipt"}
    assert frames["Packet"] > sum(run.audit.metrics()["messages"].values())
    assert run.verdicts == ALL_OK


def test_the_command_line(tmp_path, capsys):
    """Any scenario runs with --set links=radio."""
    command = ["run", "scenarios/quickstart.yaml", "--set", "links=radio", "--set", "duration=100", "--set", "repeat=1"]
    command += ["--set", "nodes=10", "--set", "topology.connectivity=0.4", "--out", str(tmp_path), "--json"]
    assert (
        main([*command, "--set", "nodes=10", "--set", "topology.connectivity=0.4", "--out", str(tmp_path), "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["metrics"]["frames"]["Hello"]["mean"] > 0


def test_a_shared_wire_reads_once_what_any_wire_reads():
    """The same datagram for the same bytes, and junk is junk every time it is read."""
    shared, plain = SharedWire("a run", ()), Wire("a run", ())
    hello = plain.spell(Datagram(3, 1, Hello(7, ((1, 1), (2, 4)))))
    assert shared.read(hello) == plain.read(hello)
    assert shared.read(hello) is shared.read(bytes(bytearray(hello)))
    for _ in range(2):
        with pytest.raises(Junk, match="malformed"):
            shared.read(hello[:-1] + b"?")


@pytest.mark.parametrize("crash", [False, True])
def test_nodes_that_take_their_time(crash):
    """What a layer has delivered waits for its agent: it is neither lost with its session nor with its sender."""
    faults = [{"at": 50.0, "kind": "crash", "node": 2}, {"at": 60.0, "kind": "restart", "node": 2}] if crash else []
    for seed in range(20 if crash else 10):
        run = simulate(nodes=5, seed=seed, topology="complete", workload={"rate": 1.0}, warmup=10.0, duration=100.0,
                       drain=200.0, delays={"hop": 0.1, "receive": 0.3}, links={"kind": "radio", "loss": 0.3},
                       algorithm={"name": "krl", "k": 2}, faults=faults)  # fmt: skip
        assert run.verdicts["safety"] == run.verdicts["order"] == run.verdicts["conservation"] == "ok", f"seed {seed}"
        if not crash:
            assert run.verdicts == ALL_OK, f"seed {seed}"


def test_links_that_were_not_found_do_not_count():
    """Every datagram is lost."""
    run = simulate(links={"kind": "radio", "loss": 1.0}, warmup=20.0, duration=100.0, drain=10.0)
    metrics = run.audit.metrics()
    assert (metrics["mean_degree"], metrics["link_changes"]) == (0, 0)


def test_relayed_messages_of_a_crashed_process_are_lost():
    """A token is being relayed by other nodes when its sender crashes: it is reported as lost, and never arrives."""
    faults = [{"at": 30.0, "kind": "crash", "node": 3}, {"at": 30.5, "kind": "restart", "node": 3}]
    run = simulate(nodes=5, seed=154, algorithm="raymond-tree", topology={"kind": "random", "connectivity": 0.5},
                   workload={"rate": 0.2, "cs_time": 0.2}, warmup=10.0, duration=80.0, drain=200.0,
                   delays={"hop": {"uniform": [0.01, 0.3]}}, faults=faults,
                   links={"kind": "radio", "loss": 0.2, "duplicate": 0.2, "hello": 1.0})  # fmt: skip
    lost = {(event["node"], event["peer"], event["id"]) for event in run.diary.of("lost")}
    assert lost
    assert not lost & {(event["peer"], event["node"], event["id"]) for event in run.diary.of("recv")}
    assert run.verdicts["conservation"] == run.verdicts["order"] == "ok"
