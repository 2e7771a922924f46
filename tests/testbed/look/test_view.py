"""The page that plays a run, as far as it can be tested without a browser: what it holds, and when there is none."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.registry import ALGORITHMS
from testbed.cli.main import main
from testbed.cli.replay_text import as_dict
from testbed.errors import InputError
from testbed.experiments.runner import run
from testbed.look.view import make
from testbed.look.view.columns import MAX_TEXT, Table, column, finite, numbers
from testbed.look.view.happenings import ARRIVED, CRASHED, INSIDE, LOST, WAITING
from testbed.replay.all_nodes import replay_all
from testbed.replay.replayer import replay
from testbed.scenario.loader import load, loads
from tests.testbed.tiny import Unsafe, is_one_line, tiny

Invoke = Callable[..., tuple[int, str, str]]
MORE = "trace: events\ndrain: 60\n"
FAULTS = """\
faults:
  - {at: 20, kind: cut, group: [1, 2]}
  - {at: 35, kind: heal}
  - {at: 40, kind: crash, node: 3}
  - {at: 45, kind: lose, node: 1}
  - {at: 55, kind: restart, node: 3}
"""
CHANGING = "{kind: random, connectivity: 0.4, link_change_rate: 0.5}"
MOVING = """\
area: [400, 400]
placement: uniform
mobility: {kind: random-waypoint, speed: [10, 20]}
"""
FAULTY = tiny(MORE + FAULTS, nodes="8", duration="100", topology=CHANGING)


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Call `testbed view` in this process; gives the exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["view", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with faults; not to be changed."""
    return run(loads(FAULTY), tmp_path_factory.mktemp("finished")).path


@pytest.fixture
def run_dir(finished: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def blocks(text: str) -> dict[str, Any]:
    """The data of a page."""
    found = re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', text, re.DOTALL)
    return {name: json.loads(content) for name, content in found}


def page_data(path: Path, **options: Any) -> dict[str, Any]:
    return blocks(make.view(path, as_dict, **options))


def rows(columns: list[str]) -> list[tuple[int, ...]]:
    return list(zip(*map(numbers, columns), strict=True))


def events_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "rep-000/events.jsonl").read_text().splitlines()]


def write_events(path: Path, events: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


# -- columns ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-(2**52), 2**52)))
def test_a_column_holds_its_numbers(wanted: list[int]) -> None:
    assert numbers(column(wanted)) == wanted


def test_a_table_holds_each_value_once_and_no_value_without_end() -> None:
    table = Table()
    assert [table.add(value) for value in ([1, 2], "a", [1, 2], 1, "1")] == [0, 1, 0, 2, 3]
    table.add("x" * (MAX_TEXT + 1))
    assert table.values[:4] == [[1, 2], "a", 1, "1"]
    assert len(table.values[4]) < MAX_TEXT + 50


def test_numbers_that_a_browser_cannot_hold_become_text() -> None:
    assert finite({"a": [float("inf"), 2**60, True, 0.5]}) == {"a": ["inf", str(2**60), True, 0.5]}


# -- all nodes at once ------------------------------------------------------------------------------------------------


def assert_all_as_one_by_one(path: Path) -> None:
    together = list(replay_all(path, load(path / "scenario.yaml"), 0))
    for node, all_at_once in enumerate(together):
        alone = replay(path, node=node)
        assert as_dict(all_at_once) == as_dict(alone)
        assert len(alone.steps) > 10


@pytest.mark.parametrize("links", ["", "links: {kind: radio, loss: 0.1, duplicate: 0.1}\n"])
def test_a_replay_of_all_nodes_is_that_of_each(links: str, tmp_path: Path) -> None:
    text = (FAULTY + links).replace("  - {at: 45, kind: lose, node: 1}\n" if links else "\0", "")
    assert_all_as_one_by_one(run(loads(text), tmp_path).path)


RELAYED_BY_A_PLACE = """
name: places
algorithm: klme
nodes: 6
topology: geometric
area: [400, 400]
placement: uniform
mobility: {kind: random-waypoint, speed: [10, 20]}
radio: {range: 200}
neighbourhoods: [{centre: [200, 200], range: 150, k: 2}]
notice: 3
workload: {rate: 0.1}
duration: 50
drain: 60
trace: events
"""


def test_the_station_of_a_place_has_no_agent(tmp_path: Path) -> None:
    """It relays messages, under a number after those of the nodes."""
    path = run(loads(RELAYED_BY_A_PLACE), tmp_path).path
    assert any(event["kind"] == "relay" and event["node"] == 6 for event in events_of(path))
    assert_all_as_one_by_one(path)


@pytest.mark.parametrize("missing", [None, 2])
def test_the_same_from_the_logs_of_stations(missing: int | None, run_dir: Path) -> None:
    """Also if one station, or its log, is not there: then the log of all nodes has what it sent."""
    events, incarnation = events_of(run_dir), dict.fromkeys(range(8), 1)
    logs: dict[tuple[int, int], list[dict[str, Any]]] = {(node, 1): [] for node in range(8)}
    for event in events:
        node = event["node"]
        if event["kind"] == "restart":
            incarnation[node] += 1
        if node is not None and event["kind"] not in ("lost", "fault"):
            logs.setdefault((node, incarnation[node]), []).append(event)
    for (node, number), log in logs.items():
        if node != missing:
            write_events(run_dir / f"rep-000/nodes/{node:03d}-{number}.jsonl", log)
    assert_all_as_one_by_one(run_dir)


# -- what the page holds ----------------------------------------------------------------------------------------------


def test_messages_have_their_ends(finished: Path) -> None:
    happened = page_data(finished)["happened"]
    sent = [event for event in events_of(finished) if event["kind"] == "send"]
    messages = rows(happened["messages"])
    assert [(m[0], m[2], m[3], happened["names"][m[4]], m[5]) for m in messages] == [
        (event["t"], event["node"], event["peer"], event["type"], event["units"]) for event in sent
    ]
    arrivals: dict[tuple[int, int, int], list[int]] = {}  # numbers begin again with a link: the first one after counts
    for event in events_of(finished):
        if event["kind"] == "recv":
            arrivals.setdefault((event["peer"], event["node"], event["id"]), []).append(event["t"])
    for event, message in zip(reversed(sent), reversed(messages), strict=True):
        mine = arrivals.get((event["node"], event["peer"], event["id"]), [])
        arrives = mine.pop() if mine and mine[-1] >= event["t"] else None
        assert (message[7] == ARRIVED) == (arrives is not None)
        assert arrives is None or message[0] + message[1] - 1 == arrives
        assert happened["values"][message[8]] == event["fields"]
    assert {LOST, ARRIVED} <= {message[7] for message in messages}


def test_intervals_are_those_of_the_log(finished: Path) -> None:
    happened = page_data(finished)["happened"]
    intervals, events = rows(happened["intervals"]), events_of(finished)

    def times(kind: str) -> list[tuple[int, int]]:
        return sorted((event["node"], event["t"]) for event in events if event["kind"] == kind)

    assert [(node, since) for node, what, since, _ in intervals if what == WAITING] == times("request")
    assert [(node, since) for node, what, since, _ in intervals if what == INSIDE] == times("enter")
    assert [(node, until) for node, what, _, until in intervals if what == CRASHED] == times("restart")
    ends = {(node, until) for node, what, _, until in intervals if what == INSIDE}
    assert ends <= {*times("exit"), *times("crash")}


@pytest.mark.parametrize("crashes", ["node: 3", "holder: true"])
def test_what_nodes_hold_at_the_end_is_what_the_log_says(crashes: str, tmp_path: Path) -> None:
    path = run(
        loads(FAULTY.replace("node: 3", crashes, 1).replace("  - {at: 55, kind: restart, node: 3}\n", "")), tmp_path
    ).path
    held = dict.fromkeys(range(8), (0, 0))
    for _, node, units, tokens in rows(page_data(path)["happened"]["held"]):
        held[node] = (units, tokens)
    stop = events_of(path)[-1]
    assert sum(stop["tokens"]) == (0 if crashes == "holder: true" else 1)
    assert stop["kind"] == "stop"
    assert list(held.values()) == list(zip(stop["units"], stop["tokens"], strict=True))


def test_links_at_any_time_are_those_of_the_log(finished: Path) -> None:
    """Folded here from one event to the next, in the plain way."""
    links, events = rows(page_data(finished)["happened"]["links"]), events_of(finished)
    ends = {(node, peer) for link in events[0]["links"] for node, peer in (link, link[::-1])}
    changes = 0
    for event, following in pairwise(events[1:]):
        node, peer = event["node"], event.get("peer")
        if event["kind"] == "link_up":
            ends.add((node, peer))
        elif event["kind"] == "link_down":
            ends.discard((node, peer))
        elif event["kind"] == "crash":
            ends = {end for end in ends if end[0] != node}
        if event["t"] < following["t"]:
            changes += 1
            now = {(a, b) for a, b, since, until, _ in links if since <= event["t"] < until}
            assert now == {(min(end), max(end)) for end in ends}
    assert changes > 50


def test_faults_and_violations_are_marked(monkeypatch: pytest.MonkeyPatch, finished: Path, tmp_path: Path) -> None:
    marks = page_data(finished)["run"]["marks"]
    assert {text.split()[0] for _, _, what, text in marks if what == "fault"} >= {"cut", "heal", "crash", "restart"}
    assert not [what for _, _, what, _ in marks if what == "violation"]
    monkeypatch.setitem(ALGORITHMS, "unsafe", Unsafe)
    path = run(loads(tiny(MORE, algorithm="unsafe", workload="{rate: 1}")), tmp_path).path
    violations = [mark for mark in page_data(path)["run"]["marks"] if mark[2] == "violation"]
    first = json.loads((path / "summary.json").read_text())["checks"]["safety"]["first"]
    assert [first["t"], first["node"]] in [mark[:2] for mark in violations]
    assert len(violations) > 1


def test_positions_and_places_are_on_the_map(tmp_path: Path) -> None:
    places = "neighbourhoods: [{centre: [100, 100], range: 60, k: 1}]\nnotice: 3\n"
    text = tiny(MORE + MOVING + places + "radio: {range: 150}\n", algorithm="klme", topology="geometric")
    path = run(loads(text), tmp_path).path
    ground = page_data(path)["ground"]
    assert ground["places"] == [{"x": 100, "y": 100, "range": 60}]
    assert ground["range"] == pytest.approx(150, abs=1)
    lines = [line.split(",") for line in (path / "rep-000/positions.csv").read_text().splitlines()[1:]]
    for node, path_of_node in enumerate(ground["paths"]):
        mine = [line for line in lines if line[0] == str(node)]
        for name, place, scale in (("t", 1, 1e6), ("x", 2, 1e3), ("y", 3, 1e3)):
            assert numbers(path_of_node[name]) == [round(float(line[place]) * scale) for line in mine]


@pytest.mark.parametrize(("trace", "lacks"), [("cs", "no messages"), ("metrics", "no requests")])
def test_a_log_with_less_is_shown_and_said(trace: str, lacks: str, tmp_path: Path) -> None:
    path = run(loads(tiny(f"trace: {trace}\n")), tmp_path).path
    data = page_data(path)
    assert data["states"] is None
    assert lacks in data["run"]["notes"][0]
    assert bool(rows(data["happened"]["intervals"])) == (trace == "cs")


def test_a_long_log_has_no_states_and_says_so(monkeypatch: pytest.MonkeyPatch, finished: Path) -> None:
    assert page_data(finished)["states"] is not None
    monkeypatch.setattr(make, "MAX_STATE_EVENTS", 10)
    data = page_data(finished)
    assert data["states"] is None
    assert any("more than 10: the page is without the states" in note for note in data["run"]["notes"])


def test_states_that_are_too_large_are_left_out(monkeypatch: pytest.MonkeyPatch, finished: Path) -> None:
    monkeypatch.setattr("testbed.look.view.states.MAX_SIZE", 10)
    monkeypatch.setattr("testbed.look.view.happenings.MAX_SIZE", 10)
    data = page_data(finished)
    assert data["states"] is None
    notes = " ".join(data["run"]["notes"])
    assert "without the states of agents: their values have more than 10 characters" in notes
    assert "without the fields of the last" in notes
    assert len(data["happened"]["values"]) <= 2


def test_a_message_that_is_nested_deeply_is_no_reason_to_fail(run_dir: Path) -> None:
    """How deep is too deep depends on Python: first for the states, then for the log itself, which gives one line."""
    log = run_dir / "rep-000/events.jsonl"
    text, outcomes = log.read_text(), []
    for depth in (300, 700, 900, 1_200, 1_480, 2_000, 5_000, 100_000):
        nested = "[" * depth + "]" * depth
        log.write_text(re.sub(r'("kind":"send".*"fields":)\[.*\]\}', rf"\1{nested}}}", text, count=3))
        try:
            data = page_data(run_dir)
        except InputError as error:
            outcomes.append("refused" if "maximum recursion depth" in str(error) else str(error))
            continue
        is_noted = any("nested too deeply" in note for note in data["run"]["notes"])
        assert (data["states"] is None) is is_noted
        assert isinstance(data["happened"]["values"][0], list), "as it is, or that it is nested too deeply"
        outcomes.append("without states" if is_noted else "whole")
    assert outcomes == sorted(outcomes, key=["whole", "without states", "refused"].index)
    assert set(outcomes) == {"whole", "without states", "refused"}


def test_agents_that_cannot_be_replayed_leave_a_page_without_states(run_dir: Path) -> None:
    events = events_of(run_dir)
    for event in events:
        if event.get("type") == "Request":
            event["type"] = "</script><script>alert(1)</script>"
    write_events(run_dir / "rep-000/events.jsonl", events)
    text = make.view(run_dir, as_dict)
    assert "alert(1)</script>" not in text
    data = blocks(text)
    assert data["states"] is None
    assert any("without the states of agents: rl has no message" in note for note in data["run"]["notes"])
    assert "</script><script>alert(1)</script>" in data["happened"]["names"]


def test_an_agent_that_does_something_else_now_is_reported(run_dir: Path) -> None:
    events = events_of(run_dir)
    place = next(i for i, event in enumerate(events) if event["kind"] == "send" and event["type"] == "Request")
    events[place]["fields"][0][0] += 1
    write_events(run_dir / "rep-000/events.jsonl", events)
    notes = page_data(run_dir)["run"]["notes"]
    assert any(f"node {events[place]['node']}: from t=" in note and "differs" in note for note in notes)


def test_a_killed_run_is_shown_as_far_as_it_went(run_dir: Path) -> None:
    log = run_dir / "rep-000/events.jsonl"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    (run_dir / "summary.json").unlink()
    data = page_data(run_dir)
    assert any("did not come to its end" in note for note in data["run"]["notes"])
    assert data["states"] is not None


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_page_is_in_the_run_directory_or_where_asked(run_dir: Path, tmp_path: Path, invoke: Invoke) -> None:
    assert invoke(run_dir) == (0, f"{run_dir / 'view.html'}\n", "")
    elsewhere = tmp_path / "a/b.html"
    assert invoke(run_dir, "--file", elsewhere, "--at", "12.5") == (0, f"{elsewhere}\n", "")
    assert blocks(elsewhere.read_text())["run"]["at"] == 12_500_000_000
    assert blocks((run_dir / "view.html").read_text())["run"]["at"] is None


def test_it_opens_in_the_browser_if_asked(run_dir: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    invoke(run_dir)
    assert shown == []
    invoke(run_dir, "--open")
    assert shown == [(run_dir / "view.html").as_uri()]


def test_what_is_no_run_is_refused_in_one_line(run_dir: Path, tmp_path: Path, invoke: Invoke) -> None:
    def refused(*arguments: object) -> str:
        code, out, error = invoke(*arguments)
        assert (code, out) == (2, "")
        assert is_one_line(error)
        return error

    assert "not a run directory" in refused(tmp_path)
    assert "not a run directory" in refused(tmp_path / "nowhere")
    assert "no such repetition" in refused(run_dir, "--repetition", 3)
    assert "--at" in refused(run_dir, "--at", "nan")
    log = run_dir / "rep-000/events.jsonl"
    whole = log.read_text()
    log.write_text("{}\n")
    assert "events.jsonl:1" in refused(run_dir)
    log.write_text("")
    assert "the log is empty" in refused(run_dir)
    log.write_text(whole.replace('"kind":"recv"', '"kind":"exit"', 1))
    assert "events.jsonl:" in refused(run_dir)
    log.unlink()
    assert "events.jsonl" in refused(run_dir)
    log.write_text(whole)
    (run_dir / "scenario.yaml").write_text("name: [")
    assert "scenario.yaml" in refused(run_dir)
    (run_dir / "scenario.yaml").unlink()
    assert "scenario.yaml" in refused(run_dir)
    assert not (run_dir / "view.html").exists()
