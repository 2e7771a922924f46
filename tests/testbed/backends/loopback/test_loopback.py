"""The algorithms as real processes on real sockets: safe and live whatever the medium and the scenario do."""

import json
from pathlib import Path

import pytest

from agents.registry import ALGORITHMS
from analysis.load import load_run
from testbed.cli.main import main
from testbed.experiments.runner import Result, run
from testbed.scenario.schema import Scenario
from tests.testbed.simulate import ALL_OK
from tests.testbed.backends.stations.stage import LINE, MOBILE, processes

pytestmark = pytest.mark.xdist_group("stations")  # real time needs room: one run after the other


def with_tokens(name: str) -> dict[str, object]:
    return {"name": name, **({"k": 2} if "k" in ALGORITHMS[name].parameters.__dataclass_fields__ else {})}


def stations(folder: Path, base: dict[str, object], **keys: object) -> Result:
    return run(Scenario.model_validate({**base, **keys}), folder)


def verdicts(result: Result) -> dict[str, str]:
    return {name: check["verdict"] for name, check in result.summary["checks"].items()}


def events(result: Result, *kinds: str) -> list[dict[str, object]]:
    lines = (result.path / "rep-000" / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] in kinds]


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_ten_mobile_stations_at_twenty_per_cent_loss(name, tmp_path, capsys):
    """Every registered algorithm, ten processes, random waypoint, a fifth of all datagrams lost, some doubled."""
    result = stations(tmp_path, MOBILE, algorithm=with_tokens(name), trace="events")
    assert verdicts(result) == ALL_OK, result.summary["checks"]
    metrics = result.summary["metrics"]
    assert metrics["entries"]["mean"] > 20
    assert metrics["medium_lateness"]["p50"] > 0
    times = [event["t"] for event in events(result, "send", "recv", "enter", "exit", "request", "link_up", "link_down")]
    assert times == sorted(times), "logs are merged in the order of time"
    assert {check["verdict"] for check in load_run(result.path).verdicts().values()} == {"ok"}, "and judged the same"
    assert not processes(tmp_path)
    for node in range(MOBILE["nodes"]):
        assert main(["replay", str(result.path), "--node", str(node), "--json"]) == 0, "an agent does the same again"
        replayed = json.loads(capsys.readouterr().out)
        assert len(replayed["steps"]) > 5


def test_crash_and_restart(tmp_path):
    """A station is killed and comes back in a new life; the others go on."""
    faults = [{"at": 25, "kind": "crash", "node": 3}, {"at": 45, "kind": "restart", "node": 3}]
    result = stations(tmp_path, LINE, faults=faults, trace="events")
    kinds = [event["kind"] for event in events(result, "crash", "restart")]
    assert kinds == ["crash", "restart"]
    assert verdicts(result)["safety"] == verdicts(result)["conservation"] == verdicts(result)["order"] == "ok"
    nodes = result.path / "rep-000" / "nodes"
    assert (nodes / "003-1.jsonl").exists()
    lives = [json.loads(line) for line in (nodes / "003-2.jsonl").read_text().splitlines()]
    assert any(event["kind"] == "enter" for event in lives), "in its new life it enters again"
    assert all(main(["replay", str(result.path), "--node", str(node)]) == 0 for node in range(4)), "both lives"
    crashed, restarted = (event["t"] for event in events(result, "crash", "restart"))
    assert not [one for one in events(result, "enter") if one["node"] == 3 and crashed < one["t"] < restarted]


def test_lives_without_a_pause_between_them(tmp_path):
    """Every death is waited for and accounted for, and the right process dies."""
    faults = [{"at": 20, "kind": kind, "node": 1} for kind in ("crash", "restart", "crash", "restart")]
    result = stations(tmp_path, LINE, faults=faults, trace="events", duration=40.0)
    assert [event["kind"] for event in events(result, "crash", "restart")] == [fault["kind"] for fault in faults]
    assert verdicts(result) == ALL_OK
    (stop,) = events(result, "stop")
    assert stop["reason"] == "every request served"


def test_the_holder_crashes(tmp_path):
    """Its tokens die with it, which is reported and no offence."""
    result = stations(tmp_path, LINE, faults=[{"at": 30, "kind": "crash", "holder": True}], drain=20.0)
    conservation = result.summary["checks"]["conservation"]
    assert conservation["verdict"] == "ok"
    assert "lost to injected faults" in conservation["detail"]


def test_a_partition_that_heals(tmp_path):
    """Nothing is heard across a cut; after it has healed, all are served."""
    faults = [{"at": 25, "kind": "cut", "node": 1, "peer": 2}, {"at": 45, "kind": "heal"}]
    result = stations(tmp_path, LINE, faults=faults, trace="events")
    assert verdicts(result) == ALL_OK
    parts = [event["parts"] for event in events(result, "partition")]
    assert parts == [2, 1]
    cut, healed = (event["t"] for event in events(result, "fault"))
    # What was in the medium when the cut came may still arrive; sessions close when nothing is heard.
    across = [
        event
        for event in events(result, "recv")
        if {event["node"], event["peer"]} == {1, 2} and cut + 0.5e9 < event["t"] < healed
    ]
    assert not across
    assert [event for event in events(result, "link_down") if {event["node"], event["peer"]} == {1, 2}]


def test_links_come_and_go_without_places(tmp_path):
    """The papers' link changes, told to the medium."""
    topology = {"kind": "random", "connectivity": 0.6, "link_change_rate": 0.1}
    result = stations(tmp_path, LINE, nodes=6, topology=topology, algorithm="rl", trace="events", duration=100.0)
    assert verdicts(result) == ALL_OK
    assert result.summary["metrics"]["link_changes"]["mean"] > 2


def test_until_so_many_entries(tmp_path):
    """Instead of a duration."""
    scenario = {key: value for key, value in LINE.items() if key != "duration"}
    result = stations(tmp_path, scenario, entries=25)
    assert verdicts(result) == ALL_OK
    assert result.summary["metrics"]["entries"]["mean"] >= 20  # less what was entered during the warmup
    (stop,) = events(result, "stop")
    assert stop["reason"] == "every request served"


def test_nobody_left_who_could_be_served(tmp_path):
    """A part without a token does not keep the run waiting for the whole of drain."""
    result = stations(
        tmp_path,
        LINE,
        algorithm={"name": "krl", "k": 1},
        faults=[{"at": 20, "kind": "cut", "group": [3]}],
        drain=5000.0,
    )
    assert verdicts(result)["starvation"] == "ok"
    (stop,) = events(result, "stop")
    assert stop["reason"] in ("nobody is left who could be served", "every request served")


def test_two_repetitions(tmp_path):
    """One after the other, each with logs of its own."""
    result = stations(tmp_path, LINE, repeat=2, duration=40.0)
    assert verdicts(result) == ALL_OK
    assert len(list(result.path.glob("rep-*/nodes/000-1.jsonl"))) == 2
