"""The algorithms as real processes on real sockets: safe and free of starvation in every scenario."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from agents.registry import ALGORITHMS
from analysis.load import load_run
from testbed.cli.main import main
from testbed.experiments.runner import Result, run
from testbed.pairs import link_of
from testbed.scenario.schema import Scenario
from tests.testbed.backends.stations.stage import LINE, MOBILE, check_requests, events, processes
from tests.testbed.simulate import ALL_OK, OVER_RADIO, all_ok, verdicts_of

pytestmark = pytest.mark.xdist_group("stations")  # real time needs room: one run after the other

INPUTS = {"request", "exit", "link_up", "link_down", "timer", "recv", "return"}
"""The events that an agent is told of."""


def with_tokens(name: str) -> dict[str, object]:
    return {"name": name, **({"k": 2} if "k" in ALGORITHMS[name].parameters.__dataclass_fields__ else {})}


def stations(folder: Path, base: dict[str, object], **keys: object) -> Result:
    return run(Scenario.model_validate({**base, **keys}), folder)


def verdicts(result: Result) -> dict[str, str]:
    return verdicts_of(result.summary["checks"])


def own_log(result: Result, node: int, incarnation: int = 1) -> list[dict[str, Any]]:
    path = result.path / "rep-000" / "nodes" / f"{node:03d}-{incarnation}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def stop(result: Result) -> dict[str, Any]:
    (event,) = events(result.path, "stop")
    return event


@pytest.mark.parametrize("name", OVER_RADIO)
def test_ten_mobile_stations_at_twenty_per_cent_loss(name, tmp_path, capsys):
    """Every registered algorithm, ten processes, random waypoint, a fifth of all datagrams lost, some doubled."""
    result = stations(tmp_path, MOBILE, algorithm=with_tokens(name), trace="events")
    assert verdicts(result) == all_ok(name), result.summary["checks"]
    check_requests(result.path)
    assert result.summary["metrics"]["medium_lateness"]["p50"] > 0
    times = [event["t"] for event in events(result.path, *INPUTS, "send", "enter")]
    assert times == sorted(times), "logs are merged in the order of time"
    assert verdicts_of(load_run(result.path).verdicts()) == all_ok(name), "and judged the same"
    assert not processes(tmp_path)
    for node in range(MOBILE["nodes"]):
        assert main(["replay", str(result.path), "--node", str(node), "--json"]) == 0, "an agent does the same again"
        steps = json.loads(capsys.readouterr().out)["steps"]
        assert len(steps) == 1 + sum(event["kind"] in INPUTS for event in own_log(result, node)), (
            "start, and each input"
        )


def test_crash_and_restart(tmp_path):
    """A station is killed and restarted; the others go on."""
    faults = [{"at": 14, "kind": "crash", "node": 3}, {"at": 20, "kind": "restart", "node": 3}]
    result = stations(tmp_path, LINE, faults=faults, trace="events", duration=50.0)
    crash, restart = events(result.path, "crash", "restart")
    assert (crash["kind"], restart["kind"]) == ("crash", "restart")
    assert verdicts(result) == ALL_OK
    before, after = own_log(result, 3, 1), own_log(result, 3, 2)
    assert crash["t"] <= restart["t"]
    assert all(event["t"] <= crash["t"] for event in before)
    assert all(event["t"] >= restart["t"] for event in after)
    kinds = [event["kind"] for event in after]
    pending = [event["node"] for event in events(result.path, "pending")]
    assert kinds.count("request") > 0
    assert kinds.count("request") == kinds.count("exit") + pending.count(3), "the restarted station enters again"
    assert not pending or not any(stop(result)["units"]), "unless both tokens were lost with it"
    assert all(main(["replay", str(result.path), "--node", str(node)]) == 0 for node in range(4)), "both incarnations"


def test_incarnations_without_a_pause_between_them(tmp_path):
    """Every exit is awaited and logged, and the right process is killed."""
    faults = [{"at": 14, "kind": kind, "node": 1} for kind in ("crash", "restart", "crash", "restart")]
    result = stations(tmp_path, LINE, faults=faults, trace="events")
    assert [event["kind"] for event in events(result.path, "crash", "restart")] == [fault["kind"] for fault in faults]
    assert verdicts(result) == ALL_OK
    assert all((result.path / "rep-000" / "nodes" / f"001-{incarnation}.jsonl").exists() for incarnation in (1, 3))
    reasons = {"every request served"}
    if not any(stop(result)["units"]):  # both tokens were lost in the crashes
        reasons.add("no pending request can be served")
    assert stop(result)["reason"] in reasons


def test_the_holder_crashes(tmp_path):
    """Its token is lost with it, which is reported and no offence. It stays inside, so the token does not move."""
    result = stations(
        tmp_path,
        LINE,
        algorithm={"name": "krl", "k": 1},
        workload={"rate": 0.2, "cs_time": 1000.0},
        faults=[{"at": 24, "kind": "crash", "holder": True}],
    )
    (crash,) = events(result.path, "crash")
    (fault,) = events(result.path, "fault")
    assert (crash["node"], crash["units"]) == (fault["node"], 1)
    assert verdicts(result) == ALL_OK
    assert result.summary["checks"]["conservation"]["detail"] == "0 of 1 unit kept, 1 lost to injected faults"
    assert stop(result)["units"] == [0, 0, 0, 0]


def test_a_partition_that_heals(tmp_path):
    """Nothing is heard across a cut; after it has healed, all requests are served.

    The nodes have places, so without the order to the medium they would hear each other: it knows the places only. The
    first cut is there before stations send anything, so no datagram can be in the medium when it begins. The second one
    severs a link that is in use.
    """
    faults = [{"at": at, "kind": "cut", "node": 1, "peer": 2} for at in (0, 20)]
    faults += [{"at": at, "kind": "heal"} for at in (12, 26)]
    places = {
        "topology": "geometric",
        "area": [300, 10],
        "placement": {"kind": "explicit", "places": [[0, 0], [80, 0], [160, 0], [240, 0]]},
        "mobility": "static",
        "radio": {"range": 100, "propagation": "range"},
    }
    algorithm = {"name": "krl", "k": 1}
    result = stations(tmp_path, LINE | places, algorithm=algorithm, faults=faults, trace="events", duration=36.0)
    assert verdicts(result) == ALL_OK
    check_requests(result.path)
    assert stop(result)["reason"] == "every request served"
    # There may be several events in a row that differ only in which nodes are cut off.
    assert [parts for parts, _ in groupby(event["parts"] for event in events(result.path, "partition"))] == [2, 1, 2, 1]
    (start,) = events(result.path, "start")
    without_token = {2, 3} if any(start["units"][:2]) else {0, 1}
    healed = events(result.path, "fault")[1]["t"]
    links = [one for one in events(result.path, "link_up", "recv") if {one["node"], one["peer"]} == {1, 2}]
    assert links, "the link is found"
    assert all(event["t"] > healed for event in links), "but not while it is cut"
    entries = [event["t"] for event in events(result.path, "enter") if event["node"] in without_token]
    assert entries, "the token crosses the link"
    assert all(t > healed for t in entries), "but not while it is cut"


def test_links_come_and_go_without_places(tmp_path):
    """The papers' link changes, told to the medium."""
    topology = {"kind": "random", "connectivity": 0.4, "link_change_rate": 0.3}
    result = stations(tmp_path, LINE, nodes=6, topology=topology, algorithm="rl", trace="events")
    assert verdicts(result) == ALL_OK
    check_requests(result.path)
    (start,) = events(result.path, "start")
    at_start = {tuple(link) for link in start["links"]}
    formed, fallen = (
        {link_of(event["node"], event["peer"]) for event in events(result.path, kind)}
        for kind in ("link_up", "link_down")
    )
    assert formed - at_start, "the medium lets datagrams pass where a link has formed"
    assert fallen & at_start, "and none where a link has fallen"


def test_until_so_many_entries(tmp_path):
    """Instead of a duration."""
    scenario = {key: value for key, value in LINE.items() if key != "duration"}
    result = stations(tmp_path, scenario, entries=15, trace="cs")
    assert verdicts(result) == ALL_OK
    check_requests(result.path)
    assert len(events(result.path, "enter")) >= 15
    assert stop(result)["reason"] == "every request served"


def test_no_pending_request_can_be_served(tmp_path):
    """A component without a token does not keep the run waiting for the whole of drain."""
    result = stations(
        tmp_path,
        LINE,
        algorithm={"name": "krl", "k": 1},
        faults=[{"at": 14, "kind": "cut", "group": [3]}],
        drain=5000.0,
    )
    assert verdicts(result)["starvation"] == "ok"
    assert stop(result)["reason"] in ("no pending request can be served", "every request served")


def test_two_repetitions(tmp_path):
    """One after the other, each with logs of its own."""
    result = stations(tmp_path, LINE, repeat=2, duration=20.0)
    assert verdicts(result) == ALL_OK
    assert len(list(result.path.glob("rep-*/nodes/000-1.jsonl"))) == 2
