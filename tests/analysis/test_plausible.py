"""Logs that no run can have written, each made by a small change to one that a run did write."""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from agents.contract import Needs, Shares
from analysis.events import KINDS
from analysis.field_types import ANYTHING, FAULTS, NEEDS, SHARES, EventTypes, Implausible
from analysis.listener import Listener
from analysis.load import RunDirectoryError, audit_log, load_run, replay
from testbed.cli.main import main
from testbed.experiments.runner import run
from testbed.scenario.faults import FaultSection
from testbed.scenario.loader import load, loads
from tests.agents.rl_variants import registered
from tests.testbed.tiny import Unsafe, is_one_line, tiny

Event = dict[str, Any]
Log = list[Event]
Change = Callable[[Log], int]
"""Changes a log, and returns the place of the event that has become impossible."""

SCENARIOS = Path(__file__).parents[2] / "scenarios"
ENDS = "trace: events\ndrain: 20\n"
FAULTY = """\
faults:
  - {at: 15, kind: crash, node: 3}
  - {at: 18, kind: crash, node: 3}
  - {at: 20, kind: lose, node: 1}
  - {at: 25, kind: cut, group: [4, 5]}
  - {at: 28, kind: crash, node: 4}
  - {at: 35, kind: restart, node: 3}
  - {at: 40, kind: heal}
  - {at: 42, kind: restart, node: 4}
  - {at: 45, kind: crash, node: 2}
"""
NO_LOSS = FAULTY.replace("  - {at: 20, kind: lose, node: 1}\n", "")  # radio links have no such fault
CHANGING = "{kind: random, connectivity: 0.5, link_change_rate: 0.5, max_lag: 0.3}"
RADIO = "links: {kind: radio, hello: 1}\nwarmup: 5\n"
CHURN = """\
churn: {groups: 4, departures: 0.1, away: {exponential: 1}}
notice: 2
delays: {hop: {uniform: [0.1, 0.5]}}
"""
CONTENDING = "{contention: 0.5, cs_time: {exponential: 1}}"
BIG = "{rate: 0.3, units: {uniform: [1, 3]}, priority: {uniform: [-9, 9]}, deadline: 5}"
GENUINE = {
    "ideal": tiny(ENDS + FAULTY, nodes="8", topology=CHANGING),
    "units": tiny(ENDS, algorithm="{name: hk, k: 4}", workload=BIG),
    "routed": tiny(ENDS + FAULTY, nodes="8", algorithm="maekawa", topology=CHANGING),
    "radio": tiny(ENDS + NO_LOSS + RADIO, nodes="8", topology=CHANGING),
    "places": tiny(ENDS + CHURN + FAULTY, nodes="12", algorithm="{name: klme, k: 2}", workload=CONTENDING),
    "clusters": tiny(ENDS + "clusters: 2\n", nodes="8"),
    "loopback": tiny(ENDS + RADIO + "backend: loopback\ntime_unit: 0.05\n", nodes="4", duration="30"),
    "metrics": tiny(FAULTY + "trace: metrics\ndrain: 20\n", nodes="8", topology=CHANGING),
    "cs": tiny(FAULTY + "trace: cs\ndrain: 20\n", nodes="8", topology=CHANGING),
}


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The run directory of a scenario, which is run once; not to be changed."""
    folder, made = tmp_path_factory.mktemp("genuine"), dict[str, Path]()

    def make(name: str) -> Path:
        if name not in made:
            made[name] = run(loads(GENUINE[name]), folder).path
        return made[name]

    return make


def events_of(path: Path) -> Log:
    """The log of a run's only repetition."""
    return [json.loads(line) for line in (path / "rep-000/events.jsonl").read_text().splitlines()]


def write_run(genuine: Path, folder: Path, log: Log) -> Path:
    """The same run with another log."""
    path = folder / "run"
    shutil.copytree(genuine, path)
    (path / "rep-000/events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in log))
    return path


# -- changes ----------------------------------------------------------------------------------------------------------


def place_of(log: Log, kind: str, which: Callable[[Event], bool] = lambda event: True) -> int:
    """The first event of a kind."""
    return next(place for place, event in enumerate(log) if event["kind"] == kind and which(event))


def put(kind: str, **fields: Any) -> Change:
    """Something else in some fields of the first event of a kind."""

    def change(log: Log) -> int:
        place = place_of(log, kind)
        log[place] = log[place] | fields
        return place

    return change


def without(kind: str, field: str) -> Change:
    """The first event of a kind lacks a field."""

    def change(log: Log) -> int:
        place = place_of(log, kind)
        del log[place][field]
        return place

    return change


def among(kind: str, field: str, *items: Any) -> Change:
    """Items more in a list."""

    def change(log: Log) -> int:
        place = place_of(log, kind, lambda event: isinstance(event[field], list))
        log[place][field] = [*log[place][field], *items]
        return place

    return change


def shorter(kind: str, field: str) -> Change:
    """A list that has lost its last item."""

    def change(log: Log) -> int:
        place = place_of(log, kind)
        log[place][field].pop()
        return place

    return change


def insert(kind: str, after: str, **fields: Any) -> Change:
    """An event more, right after the first of a kind, at the same time."""

    def change(log: Log) -> int:
        place = place_of(log, after) + 1
        log.insert(place, {"t": log[place - 1]["t"], "node": None, "kind": kind} | fields)
        return place

    return change


def again(kind: str) -> Change:
    """The first event of a kind is there twice."""

    def change(log: Log) -> int:
        place = place_of(log, kind)
        log.insert(place, log[place])
        return place + 1

    return change


def last_first(log: Log) -> int:
    """The start comes second."""
    log[0], log[1] = log[1], log[0]
    return 0


def earlier(log: Log) -> int:
    """An event in the middle happens a tick before the one ahead of it."""
    place = next(place for place in range(len(log) // 2, len(log)) if log[place - 1]["t"])
    log[place]["t"] = log[place - 1]["t"] - 1
    return place


def after_stop(log: Log) -> int:
    """An event moves behind the stop."""
    place = place_of(log, "close")
    log.append(log.pop(place) | {"t": log[-1]["t"]})
    return len(log) - 1


def not_sent(kind: str) -> Change:
    """A message of which there is `kind` was never sent; the last one on its way, so that no number is missing."""

    def change(log: Log) -> int:
        def ends(event: Event) -> tuple[int, int]:
            return (event["peer"], event["node"]) if event["kind"] == "recv" else (event["node"], event["peer"])

        place = max(place for place, event in enumerate(log) if event["kind"] == kind and event["id"])
        gone = log[place]
        sends = [
            number
            for number, event in enumerate(log)
            if event["kind"] == "send" and ends(event) == ends(gone) and event["id"] >= gone["id"] and number < place
        ]
        for number in reversed(sends):
            del log[number]
        return place - len(sends)

    return change


def gap(log: Log) -> int:
    """A message in the middle of those on its way was never sent: the next one's number shows it."""
    second = place_of(log, "send", lambda event: event["id"] == 2)
    sender, receiver = log[second]["node"], log[second]["peer"]
    third = place_of(log, "send", lambda event: (event["node"], event["peer"], event["id"]) == (sender, receiver, 3))
    del log[second]
    assert not [event for event in log[second : third - 1] if event["kind"] == "recv" and event["peer"] == sender]
    return third - 1


def to_itself(kind: str) -> Change:
    """The first event of a kind has its own node as peer."""

    def change(log: Log) -> int:
        place = place_of(log, kind)
        log[place]["peer"] = log[place]["node"]
        return place

    return change


def link_twice(log: Log) -> int:
    """The first link is there again, the other way round."""
    return among("start", "links", log[0]["links"][0][::-1])(log)


def never_down(log: Log) -> int:
    """A node starts again that has not crashed."""
    crash = place_of(log, "crash")
    node = log.pop(crash)["node"]
    return place_of(log, "restart", lambda event: event["node"] == node)


def stays_down(log: Log) -> int:
    """A node goes on after it has crashed."""
    restart = place_of(log, "restart")
    node = log.pop(restart)["node"]
    kinds = set(KINDS) - {"fault", "lost"}
    return next(
        place for place in range(restart, len(log)) if log[place]["node"] == node and log[place]["kind"] in kinds
    )


def waits_silently(log: Log) -> int:
    """A request is pending at the end, and no event says so."""
    del log[place_of(log, "pending")]
    return len(log) - 1


def pending_for_nothing(log: Log) -> int:
    """A request is pending at the end that was served."""
    place = place_of(log, "pending")
    others = {event["node"] for event in log if event["kind"] in ("pending", "crash")}
    served = place_of(log, "exit", lambda event: event["node"] not in others)
    log[place]["node"] = log[served]["node"]
    return place


def after_breach(log: Log) -> int:
    """The run goes on after the algorithm has broken the contract."""
    return insert("breach", "close", **BREACH)(log) + 1


BREACH = {"algorithm": "rl", "event": "on_request", "output": "", "why": "it raises an exception"}
MISCOUNT = {"units": 1, "tokens": 1, "said_units": 0, "said_tokens": 0, "event": "on_release"}
LATE = {"mean": 1.0, "p50": 1.0, "p95": 2.0, "p99": 3.0, "max": 4.0}
LETTER = ["Token", 3]

IMPOSSIBLE: dict[str, tuple[str, Change, str]] = {
    # the whole log
    "time runs backwards": ("ideal", earlier, "time runs backwards"),
    "time runs backwards, loopback": ("loopback", earlier, "time runs backwards"),
    "time runs backwards, few events": ("metrics", earlier, "time runs backwards"),
    "a time with a fraction": ("ideal", put("recv", t=1.5), "t is 1.5; allowed: a whole number"),
    "a time below 0": ("ideal", put("request", t=-1), "t is -1; allowed: a whole number of at least 0"),
    "a time that is true": ("ideal", put("request", t=True), "t is True"),
    "a time that is text": ("ideal", put("request", t="1"), "t is '1'"),
    "a time that is nothing": ("ideal", put("request", t=None), "t is None"),
    "a second start": ("ideal", again("start"), "it is the second one"),
    "a second close": ("ideal", again("close"), "it is the second one"),
    "no start": ("ideal", last_first, "before the start"),
    "an event after the stop": ("radio", after_stop, "after the stop"),
    "a second stop": ("ideal", again("stop"), "after the stop"),
    "an event after a breach": ("ideal", after_breach, "after the breach"),
    "a breach without a reason": ("ideal", insert("breach", "close", **BREACH | {"why": None}), "why is None"),
    "a miscount of text": ("ideal", insert("miscount", "close", node=0, **MISCOUNT | {"units": "1"}), "units is '1'"),
    "says that it holds less than nothing": (
        "ideal",
        insert("miscount", "close", node=0, **MISCOUNT | {"said_units": -1}),
        "said_units is -1",
    ),
    "a message in a log without messages": (
        "cs",
        insert("timer", "request", node=0, name="x"),
        "trace level cs has none",
    ),
    "a request in a log without requests": (
        "metrics",
        insert("exit", "fault", node=0, units=1),
        "trace level metrics has none",
    ),
    # nodes
    "an event of no node": ("ideal", put("request", node=None), "node is None; allowed: a node"),
    "a stop of a node": ("ideal", put("stop", node=0), "node is 0; allowed: null"),
    "a partition of a node": ("ideal", put("partition", node=0), "node is 0; allowed: null"),
    "a node too many": ("ideal", put("enter", node=8), "node is 8; allowed: a node, from 0 to 7"),
    "a node below 0": ("ideal", put("enter", node=-1), "node is -1"),
    "a node that is true": ("ideal", put("enter", node=True), "node is True"),
    "a node that is a list": ("ideal", put("enter", node=[0]), "node is [0]"),
    "a node that is text": ("ideal", put("fault", node="3"), "node is '3'"),
    "a peer that does not exist": ("ideal", put("send", peer=8), "peer is 8; allowed: a node"),
    "a source that does not exist": ("routed", put("relay", source=99), "source is 99"),
    "a target that does not exist": ("routed", put("relay", target=8), "target is 8"),
    "cut off, and does not exist": ("ideal", among("partition", "cut_off", 8), "cut_off is"),
    "cut off twice": ("ideal", put("partition", cut_off=[1, 1]), "cut_off is [1, 1]"),
    "cut off, and true": ("ideal", put("partition", cut_off=[True]), "cut_off is [True]"),
    "awaits a node that does not exist": ("routed", among("awaits", "peers", 8), "peers is"),
    "awaits text": ("routed", put("awaits", peers="all"), "peers is 'all'"),
    "a member that does not exist": ("places", among("join", "members", [12, 1]), "members is"),
    "a member without a visit": ("places", among("join", "members", [1]), "members is"),
    "a neighbourhood that does not exist": ("places", put("join", group=4), "group is 4; allowed: a neighbourhood"),
    "a neighbourhood where there are none": ("ideal", insert("leaving", "request", node=0, group=0), "group is 0"),
    # the start
    "another version": ("ideal", put("start", version=99), "log version 99"),
    "no version": ("ideal", without("start", "version"), "log version None"),
    "an unknown trace level": ("ideal", put("start", trace="all"), "trace is 'all'; allowed: one of metrics, cs"),
    "a need that is none": ("ideal", put("start", needs="luck"), "needs is 'luck'"),
    "shares nothing": ("ideal", put("start", shares=""), "shares is ''"),
    "starts late": ("ideal", put("start", t=1), "t is 1; allowed: 0"),
    "over radio, or not": ("ideal", put("start", over_radio=1), "over_radio is 1; allowed: true or false"),
    "units that are text": ("ideal", put("start", units=["1"] * 8), "units is"),
    "units that are nested": ("ideal", put("start", units=[[1]] * 8), "units is"),
    "units below 0": ("ideal", put("start", units=[-1] * 8), "units is"),
    "a capacity below 0": ("ideal", put("start", capacity=-1), "capacity is -1"),
    "no nodes": ("ideal", put("start", units=[], tokens=[]), "units is []"),
    "units of a node more": ("ideal", among("start", "units", 0), "tokens has 8 numbers; allowed: 9"),
    "tokens of a node less": ("ideal", shorter("start", "tokens"), "tokens has 7 numbers; allowed: 8"),
    "a link to itself": ("ideal", among("start", "links", [2, 2]), "links has [2, 2]"),
    "a link of three": ("ideal", among("start", "links", [1, 2, 3]), "links has [1, 2, 3]"),
    "a link to a node that does not exist": ("ideal", among("start", "links", [1, 8]), "links has [1, 8]"),
    "a link twice": ("clusters", link_twice, "twice"),
    "clusters of some nodes": ("clusters", shorter("start", "clusters"), "clusters has 7 numbers; allowed: 8"),
    "a cluster that cannot be": ("clusters", put("start", clusters=[8] * 8), "clusters has 8"),
    "groups of some nodes": ("places", shorter("start", "groups"), "groups has 11 numbers; allowed: 12"),
    "in a neighbourhood that does not exist": ("places", put("start", groups=[4] * 12), "groups has 4"),
    "groups without places": ("ideal", put("start", groups=[None] * 8), "groups has 8 numbers; allowed: 0"),
    "kept at a place too few": ("places", shorter("start", "kept"), "kept has 3 numbers; allowed: 4"),
    "kept in part": ("places", put("start", kept=[1, 0, 0, 0]), "kept has 1"),
    "places that are not the capacity": ("places", put("start", capacity=5), "capacity is 5"),
    "no capacity": ("ideal", without("start", "capacity"), "it has no capacity"),
    # requests
    "a request for nothing": ("ideal", put("request", units=0), "units is 0; allowed: a whole number of at least 1"),
    "a request for true": ("ideal", put("request", units=True), "units is True"),
    "an entry with nothing": ("ideal", put("enter", units=0), "units is 0; allowed: a whole number of at least 1"),
    "an exit with nothing": ("ideal", put("exit", units=0), "units is 0; allowed: a whole number of at least 1"),
    "a priority with a fraction": ("units", put("request", priority=0.5), "priority is 0.5; allowed: a whole number"),
    "a deadline that is text": ("units", put("request", deadline="soon"), "deadline is 'soon'"),
    "enters with less than it asked for": ("units", put("enter", units=9), "has asked for"),
    "enters with another priority": ("units", put("enter", priority=99), "has asked for"),
    "leaves with more than it entered with": ("units", put("exit", units=9), "has entered with"),
    "an entry without units": ("ideal", without("enter", "units"), "it has no units"),
    "pending since the future": ("ideal", put("pending", since=10**18), "later than t"),
    "pending since another time": ("ideal", put("pending", since=1), "no request pending since 1"),
    "pending and served": ("places", pending_for_nothing, "no request pending since"),
    "pending of a node that runs, or not": ("ideal", put("pending", alive=False), "alive is False"),
    "pending in no number of components": ("ideal", put("pending", parts=-1), "parts is -1"),
    "waits at the end, and is not pending": ("ideal", waits_silently, "no pending event says so"),
    "the units of some nodes at the end": ("ideal", shorter("stop", "units"), "units has 7 numbers; allowed: 8"),
    "tokens at the end that are no list": ("ideal", put("stop", tokens=1), "tokens is 1; allowed: a list"),
    "patience below 0": ("ideal", put("close", patience=-1), "patience is -1"),
    # messages and links
    "received and never sent": ("ideal", not_sent("recv"), "has sent no message"),
    "received and never sent, radio": ("radio", not_sent("recv"), "has sent no message"),
    "received and never sent, loopback": ("loopback", not_sent("recv"), "has sent no message"),
    "received and never sent, places": ("places", not_sent("recv"), "has sent no message"),
    "returned and never sent": ("ideal", not_sent("return"), "has sent no message"),
    "lost and never sent": ("ideal", not_sent("lost"), "has sent no message"),
    "relayed and never sent": ("routed", put("relay", id=10**6), "has sent no message 1000000"),
    "a message left out": ("places", gap, "the message before it has 1"),
    "received as another type": ("ideal", put("recv", type="Gift"), "the message was sent with"),
    "received with more units": ("ideal", put("recv", units=7), "the message was sent with"),
    "received with more tokens": ("radio", put("recv", tokens=7), "the message was sent with"),
    "returned with more units": ("ideal", put("return", units=7), "the message was sent with"),
    "lost as another type": ("ideal", put("lost", type="Gift"), "the message was sent with"),
    "sent with units below 0": ("ideal", put("send", units=-1), "units is -1"),
    "sent with tokens below 0": ("ideal", put("send", tokens=-1), "tokens is -1"),
    "sent with words below 0": ("ideal", put("send", words=-1), "words is -1"),
    "sent with units that are a list": ("ideal", put("send", units=[1]), "units is [1]"),
    "sent without a type": ("ideal", put("send", type=None), "type is None; allowed: text"),
    "sent without fields": ("ideal", put("send", fields=None), "fields is None"),
    "a number that is text": ("ideal", put("send", id="1"), "id is '1'"),
    "lost with tokens that are text": ("metrics", put("lost", tokens="1"), "tokens is '1'"),
    "sent to itself": ("ideal", to_itself("send"), "node itself"),
    "lost on the way to itself": ("metrics", to_itself("lost"), "node itself"),
    "a link up to itself": ("ideal", to_itself("link_up"), "node itself"),
    "a lag below 0": ("ideal", put("link_down", lag=-1), "lag is -1"),
    "a timer without a name": ("places", put("timer", name=1), "name is 1; allowed: text"),
    # faults
    "a fault that there is not": ("ideal", put("fault", fault="flood"), "fault is 'flood'; allowed: one of crash"),
    "a fault without detail": ("ideal", put("fault", detail=None), "detail is None"),
    "crashes while it is down": ("ideal", again("crash"), "has crashed"),
    "starts again and has not crashed": ("ideal", never_down, "has not crashed"),
    "starts again and has not crashed, few events": ("metrics", never_down, "has not crashed"),
    "starts again for the second time": ("ideal", put("restart", incarnation=2), "has crashed 1 times"),
    "goes on after its crash": ("ideal", stays_down, "has crashed"),
    "goes on after its crash, radio": ("radio", stays_down, "has crashed"),
    "crashes with text": ("ideal", put("crash", units="1"), "units is '1'"),
    # neighbourhoods
    "joins with units below 0": ("places", put("join", units=-1), "units is -1"),
    "joins with a token that is none": ("places", put("join", fields=LETTER), "fields is ['Token', 3]"),
    "joins for no visit": ("places", put("join", visit=None), "visit is None"),
    "has left, ready or not": ("places", put("left", ready=1), "ready is 1; allowed: true or false"),
    "has left with tokens below 0": ("places", put("left", tokens=-1), "tokens is -1"),
    "puts down units below 0": ("places", put("deposit", units=-1), "units is -1"),
    "says to less than none": ("places", put("broadcast", receivers=-1), "receivers is -1"),
    "says nothing to all": ("places", put("broadcast", fields=None), "fields is None"),
    "free by a fraction": ("places", put("free", free=0.5), "free is 0.5"),
    "evicted, a node too many": ("places", put("evict", node=12), "node is 12"),
    # frames and lateness
    "frames below 0": ("radio", put("frames", count=-1), "count is -1"),
    "bytes with a fraction": ("radio", put("frames", bytes=0.5), "bytes is 0.5"),
    "late by a number": ("loopback", put("lateness", medium_ms=3), "medium_ms is 3"),
    "late without a p99": ("loopback", put("lateness", medium_ms={"mean": 1}), "medium_ms is {'mean': 1}"),
    "late by percentiles out of order": ("loopback", put("lateness", medium_ms=LATE | {"p50": 9}), "medium_ms is"),
    "late by text": ("loopback", put("lateness", medium_ms=LATE | {"max": "9"}), "medium_ms is"),
    "late by no number": ("loopback", put("lateness", bound_ms=float("nan")), "bound_ms is nan; allowed: a number"),
    "the latest station is none": ("loopback", put("lateness", station_ms=LATE | {"station": "a"}), "station_ms is"),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_log_that_cannot_be_is_refused(
    name: str, genuine: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and one line that names the file, the line and the reason."""
    of, change, words = IMPOSSIBLE[name]
    log = events_of(genuine(of))
    place = change(log)
    path = write_run(genuine(of), tmp_path, log)
    capsys.readouterr()
    code = main(["analyze", str(path)])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert is_one_line(err), err
    assert err.startswith(f"testbed: {path}/rep-000/events.jsonl:{place + 1}: "), err
    assert words in err


# -- what is no business of this ---------------------------------------------------------------------------------------


def verdicts_of(path: Path) -> dict[str, str]:
    """What every check says of a run, by its log."""
    return {name: one["verdict"] for name, one in load_run(path).verdicts().items()}


@pytest.mark.parametrize("name", GENUINE)
def test_a_genuine_log_is_accepted(name: str, genuine: Callable[[str], Path]) -> None:
    """With faults, link changes and churn, in every backend here; with the verdicts that the run itself gave."""
    path = genuine(name)
    own = load_run(path).summary
    assert own is not None
    judged = {check: found for check, found in verdicts_of(path).items() if found != "not checked"}
    assert judged == {check: own["checks"][check]["verdict"] for check in judged}


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("smoke/**/*.yaml")), ids=lambda path: path.stem)
def test_the_logs_of_smoke_scenarios_are_accepted(path: Path, tmp_path: Path) -> None:
    """All that run in the simulator, with every event logged; the long ones for a part of their time."""
    scenario = load(path, ["backend=sim", "trace=events", "repeat=1"])
    shorter = {} if scenario.duration is None else {"duration": min(scenario.duration, scenario.warmup + 150)}
    if not scenario.faults:
        scenario = scenario.model_copy(update=shorter)
    result = run(scenario, tmp_path)
    assert verdicts_of(result.path) == {name: one["verdict"] for name, one in result.summary["checks"].items()}


def test_the_log_of_a_killed_run_is_accepted(genuine: Callable[[str], Path], tmp_path: Path) -> None:
    """It ends anywhere."""
    log = (genuine("ideal") / "rep-000/events.jsonl").read_bytes()
    for part in range(1, 20):
        (tmp_path / "events.jsonl").write_bytes(log[: len(log) * part // 20])
        audit_log(tmp_path / "events.jsonl")


def test_the_logs_of_stations_are_checked_for_types(genuine: Callable[[str], Path], tmp_path: Path) -> None:
    """One station does not know how many there are, nor what the others have sent."""
    logs = sorted(genuine("loopback").glob("rep-000/nodes/*.jsonl"))
    assert len(logs) == 4
    for log in logs:
        replay(log, Listener(), started=True)
    lines = logs[0].read_text().splitlines()
    (tmp_path / "log.jsonl").write_text("\n".join([*lines, json.dumps(json.loads(lines[-1]) | {"t": True})]) + "\n")
    with pytest.raises(RunDirectoryError, match=rf"log\.jsonl:{len(lines) + 1}: .*: t is True"):
        replay(tmp_path / "log.jsonl", Listener(), started=True)


@pytest.mark.parametrize("node", [None, 2])
def test_a_breach_may_be_logged_late(node: int | None, genuine: Callable[[str], Path], tmp_path: Path) -> None:
    """In real time other stations have gone on until all stop; the algorithm's own amounts may be anything."""
    log = events_of(genuine("ideal"))[:-1]
    miscount = {"t": log[-1]["t"], "node": 0, "kind": "miscount", **MISCOUNT, "units": -1}
    log += [miscount, {"t": 1, "node": node, "kind": "breach", **BREACH}]
    write_run(genuine("ideal"), tmp_path, log)
    audit_log(tmp_path / "run/rep-000/events.jsonl")


def test_a_wrong_algorithm_is_judged(tmp_path: Path) -> None:
    """Its log is genuine."""
    with registered(Unsafe):
        path = run(loads(tiny("trace: events\n", workload="{rate: 1}")), tmp_path).path
    assert verdicts_of(path)["safety"] == "failed"


def unasked(log: Log) -> None:
    del log[place_of(log, "request")]


def received_twice(log: Log) -> None:
    place = place_of(log, "recv")
    log.insert(place, log[place])


def lost_on_the_way(log: Log) -> None:
    del log[place_of(log, "recv", lambda event: event["units"])]


def overtaken(log: Log) -> None:
    """Of two messages that are on the way at once, the later one arrives first."""
    sent, arrived = dict[tuple[int, ...], int](), dict[tuple[int, ...], int]()
    for place, event in enumerate(log):
        if event["kind"] == "send":
            sent[event["node"], event["peer"], event["id"]] = place
        elif event["kind"] == "recv":
            arrived[event["peer"], event["node"], event["id"]] = place
    pairs = [(key, (*key[:2], key[2] + 1)) for key in arrived]
    first, second = next(one for one in pairs if one[1] in arrived and sent[one[1]] < arrived[one[0]])
    early, late = log[arrived[first]], log[arrived[second]]
    log[arrived[first]], log[arrived[second]] = late | {"t": early["t"]}, early | {"t": late["t"]}


@pytest.mark.parametrize(
    ("of", "change", "check"),
    [
        ("ideal", unasked, "safety"),
        ("ideal", received_twice, "order"),
        ("ideal", lost_on_the_way, "conservation"),
        ("places", overtaken, "order"),
    ],
)
def test_what_an_algorithm_or_a_backend_can_cause_is_judged(
    of: str, change: Callable[[Log], None], check: str, genuine: Callable[[str], Path], tmp_path: Path
) -> None:
    """It is no reason to refuse the log."""
    log = events_of(genuine(of))
    change(log)
    assert verdicts_of(write_run(genuine(of), tmp_path, log))[check] == "failed"


# -- the tables -------------------------------------------------------------------------------------------------------


def test_the_tables_are_those_of_the_testbed() -> None:
    """The analysis does not import the testbed, so it has names of its own."""
    assert get_args(get_type_hints(FaultSection)["kind"]) == FAULTS
    assert {one.value for one in Needs} == set(NEEDS)
    assert {one.value for one in Shares} == set(SHARES)


def test_every_field_has_a_type() -> None:
    """Nothing that an event holds is left unchecked, and every field is an argument of its listener."""
    types = EventTypes(3, 1)
    for kind, (_, names) in KINDS.items():
        assert [name for name in names if types.of(kind, name) is ANYTHING] == []
        if kind != "start":
            method = getattr(Listener, "returned" if kind == "return" else kind)
            assert list(inspect.signature(method).parameters)[3:] == list(names)


def test_the_station_of_a_place_relays() -> None:
    """Its number comes after those of the nodes; a number after that of the last place is refused."""
    types = EventTypes(nodes=6, groups=1)
    event = {
        "t": 1,
        "node": 6,
        "kind": "relay",
        "source": 0,
        "target": 1,
        "id": 1,
        "type": "Ask",
        "words": 1,
        "added_words": 0,
    }
    assert types.values(event)
    with pytest.raises(Implausible, match="node is 7"):
        types.values({**event, "node": 7})
