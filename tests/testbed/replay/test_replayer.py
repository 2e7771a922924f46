"""A node's run repeated from its log: as it was, or a report of where it differs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Self

import pytest

from agents.contract import Demand
from agents.registry import ALGORITHMS
from agents.rl import LinkInfo, ReverseLink, Token
from testbed.cli.main import main
from testbed.errors import InputError
from testbed.experiments.runner import run
from testbed.replay.replayer import NodeReplay, replay
from testbed.scenario.loader import loads
from tests.testbed.simulate import WITHOUT_GROUPS
from tests.testbed.tiny import is_one_line, only_run, tiny
from tests.testbed.token_ring import TokenRing

Invoke = Callable[..., tuple[int, str, str]]
Event = dict[str, Any]

MORE = "trace: events\nwarmup: 10\ndrain: 60\n"
FAULTS = """\
faults:
  - {at: 20, kind: cut, group: [1, 2]}
  - {at: 35, kind: heal}
  - {at: 40, kind: crash, node: 3}
  - {at: 45, kind: lose, node: 1}
  - {at: 55, kind: restart, node: 3}
  - {at: 60, kind: crash, node: 5}
  - {at: 70, kind: crash, node: 3}
  - {at: 80, kind: restart, node: 3}
"""
PLACES = """\
area: [400, 400]
placement: uniform
mobility: {kind: random-waypoint, speed: [10, 20]}
"""
CHANGING = "{kind: random, connectivity: 0.4, link_change_rate: 0.5}"
MOVING = "{kind: geometric, max_lag: 0.2}"
SCENARIOS = {
    "ideal": tiny(MORE + "delays: {hop: {uniform: [0.5, 1.5]}}\n", nodes="8", duration="100", topology=CHANGING),
    "faulty": tiny(MORE + FAULTS, nodes="8", duration="100", topology=CHANGING),
    "moving": tiny(MORE + PLACES, nodes="8", duration="100", topology=MOVING),
    "radio": tiny(
        MORE + FAULTS + "links: {kind: radio, loss: 0.1, duplicate: 0.1}\n", nodes="8", duration="100",
        topology=CHANGING, workload="{rate: 0.3}",
    ).replace("  - {at: 45, kind: lose, node: 1}\n", ""),
    "moving radio": tiny(MORE + PLACES + "links: radio\n", nodes="8", duration="100", topology=MOVING),
}  # fmt: skip
ALWAYS = {"start", "request", "exit", "recv"}
CRASHES = {"crash", "restart"}
LINKS = {"link_up", "link_down"}
SEEN = {
    "ideal": ALWAYS | LINKS,
    "faulty": ALWAYS | LINKS | CRASHES,
    "moving": ALWAYS | LINKS,
    "radio": ALWAYS | CRASHES,
    "moving radio": ALWAYS,
}
"""The inputs that must be among those replayed, whatever the algorithm."""


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Call `testbed replay` in this process; gives the exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["replay", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with faults; not to be changed."""
    return run(loads(SCENARIOS["faulty"]), tmp_path_factory.mktemp("finished")).path


@pytest.fixture
def run_dir(finished: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def log_of(path: Path) -> Path:
    return path / "rep-000/events.jsonl"


def events_of(path: Path) -> list[Event]:
    return [json.loads(line) for line in log_of(path).read_text().splitlines()]


def write_events(path: Path, events: list[Event]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


def inputs_of(done: NodeReplay) -> set[str]:
    return {step.given.kind for step in done.steps}


def replay_all(path: Path, **options: Any) -> list[NodeReplay]:
    """Every node of a run."""
    return [replay(path, node=node, **options) for node in range(loads((path / "scenario.yaml").read_text()).nodes)]


def assert_as_recorded(replays: list[NodeReplay]) -> None:
    for done in replays:
        assert not done.differences, (done.node, done.differences[0])
        assert not done.failed
        assert done.missing is None
        assert done.steps


# -- as it was --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", SCENARIOS)
@pytest.mark.parametrize("algorithm", WITHOUT_GROUPS)  # tests/testbed/backends/test_neighbourhoods.py has the others
def test_every_node_does_the_same_again(algorithm: str, case: str, tmp_path: Path) -> None:
    """Whatever the algorithm, the links and the faults, a fresh agent does what the log says."""
    path = run(loads(SCENARIOS[case], [f"algorithm={algorithm}"]), tmp_path).path
    replays = replay_all(path)
    assert_as_recorded(replays)
    assert set().union(*map(inputs_of, replays)) >= SEEN[case]
    recorded = [event for event in events_of(path) if event["kind"] in ("send", "enter", "evict")]
    done = [output for one in replays for step in one.steps for output in step.outputs]
    assert len([output for output in done if output.kind in ("send", "enter", "evict")]) == len(recorded) > 20


@pytest.mark.parametrize(("case", "kind"), [("moving", "return"), ("radio", "timer"), ("moving radio", "link_down")])
def test_inputs_that_few_algorithms_meet(case: str, kind: str, tmp_path: Path) -> None:
    """Returns and timers are among what is replayed."""
    replays = replay_all(run(loads(SCENARIOS[case], ["algorithm=krlf"]), tmp_path).path)
    assert kind in set().union(*map(inputs_of, replays))


CLUSTERED = {
    "ideal": tiny(MORE + "clusters: 3\n", nodes="9", duration="60", topology=CHANGING),
    "radio": tiny(MORE + "clusters: 3\nlinks: radio\n", nodes="9", duration="60", topology=CHANGING),
    "crash": tiny(MORE + "clusters: 3\n" + FAULTS, nodes="9", duration="100", topology=CHANGING),
}


@pytest.mark.parametrize("case", CLUSTERED)
@pytest.mark.parametrize("algorithm", ["rl", "{name: krl, k: 1}", "suzuki-kasami", "maekawa", "{name: bv, k: 1}"])
def test_every_node_of_a_cluster_does_the_same_again(algorithm: str, case: str, tmp_path: Path) -> None:
    """Inputs and outputs name nodes of the scenario, as the log does; messages and state those of the cluster."""
    path = run(loads(CLUSTERED[case], [f"algorithm={algorithm}"]), tmp_path).path
    replays = replay_all(path)
    assert_as_recorded(replays)
    clusters = events_of(path)[0]["clusters"]
    for done in replays:
        fellows = {node for node in range(9) if clusters[node] == clusters[done.node]}
        outputs = [output for step in done.steps for output in step.outputs]
        assert {output.peer for output in outputs if output.kind == "send"} <= fellows - {done.node}
        assert {step.given.peer for step in done.steps if step.given.kind == "recv"} <= fellows - {done.node}
    assert any(output.kind == "send" for one in replays for step in one.steps for output in step.outputs)


def test_the_state_in_a_cluster_is_that_of_its_agent(invoke: Invoke, tmp_path: Path) -> None:
    """With the numbers of the cluster, here of nodes 3, 4 and 5 of 9; the input beside it has the scenario's."""
    keys = {"nodes": "9", "algorithm": "naimi-trehel", "duration": "60"}
    path = run(loads(tiny(MORE + "clusters: 3\n", **keys)), tmp_path).path
    done = replay(path, node=4)
    assert done.steps[0].changes["father"] == 0, "node 3 by its number inside the cluster"
    assert set(done.state) == {"status", "father", "next", "holds_token"}
    requests = [step for step in done.steps if step.given.letter is not None and step.given.letter.type == "Request"]
    assert requests
    for step in requests:
        assert step.given.peer in (3, 5)
        assert step.given.letter is not None
        assert step.given.letter.fields[0] in (0, 2)
    code, out, _ = invoke(path, "--node", 4)
    assert code == 0
    assert re.search(r"recv Request from [35] \(origin=[02]\)", out)


DEMANDING = """\
  rate: [0.2, 0.1, 0.1, 0, 0.2]
  units: {weights: {1: 3, 4: 1}}
  priority: {uniform: [0, 9]}
  deadline: {uniform: [2, 20]}
  requests:
    - {node: 0, at: 0}
    - {node: 3, at: 30, units: 4, priority: 12, deadline: 1.5, cs_time: 3}
"""


def test_demands_are_replayed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An agent is given the demand of each request again: units, priority and deadline, drawn or by script."""
    monkeypatch.setitem(ALGORITHMS, "ring", TokenRing)
    keys = {"algorithm": "{name: ring, k: 4}", "workload": f"\n{DEMANDING.rstrip()}", "duration": "100"}
    path = run(loads(tiny(MORE + "delays: {hop: 0.25}\n", **keys)), tmp_path).path
    replays = replay_all(path)
    assert_as_recorded(replays)
    logged = [one for one in events_of(path) if one["kind"] == "request"]
    for done in replays:
        given = [step.given.demand for step in done.steps if step.given.kind == "request"]
        own = [one for one in logged if one["node"] == done.node]
        assert given == [Demand(one["units"], one["priority"], one["deadline"]) for one in own]
    assert {one["units"] for one in logged} == {1, 4}
    scripted = [step.given.demand for step in replays[3].steps if step.given.kind == "request"]
    assert scripted == [Demand(4, 12, 31_500_000_000)]


class Dicing(ReverseLink):
    """Draws a number with every request and adds it to its height, which it sends to its neighbours."""

    rng: Random

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Self:
        agent = cls(node, initial, parameters)
        agent.rng = rng
        return agent

    def on_request(self, demand: Demand) -> None:
        h1, h2, node = self.my_height
        self.my_height = (h1 + self.rng.randrange(1000), h2, node)
        super().on_request(demand)


def test_an_agent_draws_the_same_numbers_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its generator is that of its node in that repetition, in every incarnation."""
    monkeypatch.setitem(ALGORITHMS, "dicing", Dicing)
    path = run(loads(SCENARIOS["faulty"], ["algorithm=dicing", "repeat=2"]), tmp_path).path
    for repetition in (0, 1):
        replays = replay_all(path, repetition=repetition)
        assert_as_recorded(replays)
        assert any("rng" in step.changes for one in replays for step in one.steps if step.given.kind == "request")
    shutil.copyfile(log_of(path), path / "rep-001/events.jsonl")
    assert any(one.differences for one in replay_all(path, repetition=1))


def test_what_is_printed(invoke: Invoke, finished: Path) -> None:
    """A line for every input, with the outputs and what changed; the state at the end, an attribute a line."""
    code, out, err = invoke(finished, "--node", 3)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"{finished}: node 3, rl, from rep-000/events.jsonl"
    height = r"\(height=\(-?\d+, -?\d+, \d\)\)"
    start = r"^ +0  start \| status=REMAINDER, .*, token_holder=False, .*, forming=\{\}$"
    entry = rf"^ *[\d.]+  recv Token from \d {height} -> send LinkInfo to [\d, ]+ {height}.* enter \| status=CRITICAL, "
    for pattern in (start, r"^ +40  crash$", r"^ +55  restart \| .*height=\{\}, ", entry, r"height\[\d\]=", r"\] gone"):
        assert re.search(pattern, out, re.MULTILINE), pattern
    end = lines[lines.index("") + 1 :]
    state = end[end.index("") + 1 : -2]
    assert re.fullmatch(r"state at t=[\d.]+:", state[0])
    names = [line.split(" = ")[0].strip() for line in state[1:]]
    assert names == [name for name in vars(replay_agent()) if name not in ("node", "outbox")]
    inputs = len(end[: end.index("")]) - 5  # two crashes, one start, two restarts
    assert re.fullmatch(rf"as recorded: every output of {inputs} inputs", lines[-1])


def replay_agent() -> ReverseLink:
    return ReverseLink(3, ReverseLink.blank(3, None, None))


def test_json_is_one_document(invoke: Invoke, finished: Path) -> None:
    """Steps, states and differences; what changed in the steps adds up to the state at the end."""
    code, out, err = invoke(finished, "--node", 3, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["run_dir"], document["node"], document["repetition"]) == (str(finished), 3, 0)
    assert (document["differences"], document["missing"]) == ([], None)
    state: dict[str, Any] = {}
    for step in document["steps"]:
        state.update(step["changes"])
    assert state == document["state"]
    assert state["status"] in ("REMAINDER", "WAITING", "CRITICAL")
    received = next(step for step in document["steps"] if step["input"]["kind"] == "recv")
    assert received["input"].keys() == {"kind", "peer", "type", "fields"}


def test_until(invoke: Invoke, finished: Path) -> None:
    """Inputs up to that time and none later; the state is that of the last one."""
    times = [step.given.t for step in replay(finished, node=0).steps]
    between = times[len(times) // 2]
    code, out, _ = invoke(finished, "--node", 0, "--until", between / 1e9, "--json")
    assert code == 0
    steps = json.loads(out)["steps"]
    assert len(steps) == sum(t <= between for t in times) < len(times)
    assert_as_recorded(replay_all(finished, until=30.0))
    assert len(replay(finished, node=0, until=0.0).steps) == 1
    assert replay(finished, node=3, until=50.0).steps[-1].given.kind == "crash"
    assert "state at t=40, when it crashed:" in invoke(finished, "--node", 3, "--until", 50)[1]


# -- logs that differ -------------------------------------------------------------------------------------------------


def tamper(path: Path, node: int, kind: str, change: Callable[[list[Event], int], None]) -> Event:
    """Change the log at an event of a node in the middle of it; gives the event as it was."""
    events = events_of(path)
    places = [index for index, event in enumerate(events) if (event["node"], event["kind"]) == (node, kind)]
    place = places[len(places) // 2]
    before = json.loads(json.dumps(events[place]))
    change(events, place)
    write_events(log_of(path), events)
    return before


def test_a_field_that_differs(invoke: Invoke, run_dir: Path) -> None:
    """Where, what was recorded, and what the fresh agent does."""

    def change(events: list[Event], place: int) -> None:
        events[place]["fields"][0][0] += 77

    event = tamper(run_dir, 1, "send", change)
    code, out, err = invoke(run_dir, "--node", 1)
    assert (code, err) == (1, "")
    h1, h2, h3 = event["fields"][0]
    recorded, now = (f"send {event['type']} to {event['peer']} (height=({h}, {h2}, {h3}))" for h in (h1 + 77, h1))
    last = out.splitlines()[-1]
    time = f"{event['t'] / 1e9:.9f}".rstrip("0").rstrip(".")
    assert last.startswith(f"DIFFERS at t={time}, ")
    assert last.endswith(f": recorded {recorded}, now {now}")
    assert out.count("DIFFERS: recorded ") == 1  # it goes on, and the rest is as recorded
    document = json.loads(invoke(run_dir, "--node", 1, "--json")[1])
    (difference,) = document["differences"]
    assert document["steps"][difference["step"]]["differs"]
    assert difference["t"] == event["t"] / 1e9
    assert difference["recorded"]["fields"][0][0] == difference["now"]["fields"][0][0] + 77


def test_outputs_that_are_not_there(run_dir: Path) -> None:
    """An output that only one of the two has."""
    gone = tamper(run_dir, 1, "send", lambda events, place: events.pop(place))
    done = replay(run_dir, node=1)
    assert done.differences[0].given.t == gone["t"]
    assert done.differences[0].difference is not None
    assert done.differences[0].difference.now is not None
    entry = tamper(
        run_dir,
        0,
        "exit",
        lambda events, place: events.insert(
            place + 1, {**events[place], "kind": "enter", "priority": 0, "deadline": None}
        ),
    )
    (first, *_) = replay(run_dir, node=0).differences
    assert (first.given.t, first.given.kind) == (entry["t"], "exit")
    assert first.difference is not None
    assert first.difference.recorded is not None
    assert first.difference.recorded.kind == "enter"


def test_an_agent_that_cannot_go_on(invoke: Invoke, run_dir: Path) -> None:
    """A log without the request before an entry: the outputs differ, and the release is refused."""
    request = tamper(run_dir, 0, "request", lambda events, place: events.pop(place))
    code, out, _ = invoke(run_dir, "--node", 0)
    assert code == 1
    steps = replay(run_dir, node=0).steps
    assert re.search(r"raises MisuseError: node 0: release while REMAINDER$", out, re.MULTILINE)
    assert steps[-1].given.kind == "exit"
    assert steps[-1].given.t > request["t"]


class Touchy(ReverseLink):
    """Fails at a LinkInfo that it has nothing to answer to."""

    def on_link_info(self, j: int, message: LinkInfo) -> None:
        super().on_link_info(j, message)
        if not self.outbox:
            raise RuntimeError("nothing to do")


def test_an_agent_that_fails_where_it_did_not(invoke: Invoke, finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception is a difference if the log goes on, also where no output is recorded."""
    monkeypatch.setitem(ALGORITHMS, "rl", Touchy)
    code, out, _ = invoke(finished, "--node", 1)
    assert code == 1
    assert re.search(
        r"^DIFFERS at .*: recorded no exception, now raises RuntimeError: nothing to do$", out, re.MULTILINE
    )


def test_outputs_missing_at_the_end_of_a_finished_run(run_dir: Path) -> None:
    """A run that came to its end has logged everything."""
    events = events_of(run_dir)
    last = max(index for index, event in enumerate(events) if (event["node"], event["kind"]) == (1, "send"))
    kept = [event for index, event in enumerate(events) if index < last or event["node"] != 1]
    write_events(log_of(run_dir), kept)
    (step,) = replay(run_dir, node=1).differences
    assert step.given.t == events[last]["t"]
    write_events(log_of(run_dir), kept[:-1])
    assert kept[-1]["kind"] == "stop"
    assert_as_recorded([replay(run_dir, node=1)])


# -- runs that did not come to their end ------------------------------------------------------------------------------


@pytest.mark.parametrize("half_a_line", [False, True])
def test_killed_run(half_a_line: bool, run_dir: Path) -> None:
    """Wherever the log of a run that was killed ends, what it lacks is no difference."""
    lines = log_of(run_dir).read_bytes().splitlines(keepends=True)
    mid_step = [index for index, line in enumerate(lines) if b'"send"' in lines[index - 1] and b'"send"' in line]
    assert len(mid_step) > 20
    for place in (*mid_step[:: len(mid_step) // 12], *range(2, len(lines), len(lines) // 12)):
        rest = lines[place][: len(lines[place]) // 2] if half_a_line else b""
        log_of(run_dir).write_bytes(b"".join(lines[:place]) + rest)
        assert_as_recorded([replay(run_dir, node=json.loads(lines[place]).get("node") or 0)])


class Failing(ReverseLink):
    """Fails at a token from node 2."""

    def on_token(self, j: int, message: Token) -> None:
        if j == 2:
            raise RuntimeError("a token from node 2")
        super().on_token(j, message)


def test_failure_of_an_agent(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails again, in the same place, with its traceback; once it is fixed, it does not."""
    monkeypatch.setitem(ALGORITHMS, "rl", Failing)
    contract = run(loads(tiny("trace: events\n")), tmp_path).summary["checks"]["contract"]
    assert contract["offenders"][0].endswith("RuntimeError: a token from node 2")
    path, node = only_run(tmp_path), contract["first"]["node"]
    assert contract["replay"].startswith(f"testbed replay {path} --repetition 0 --node {node} ")
    code, out, err = invoke(path, "--node", node)
    assert (code, err) == (1, "")
    assert re.search(r"^ +File .*test_replayer\.py.*, in on_token$", out, re.MULTILINE)
    assert out.endswith("; the agent failed as it does now: RuntimeError: a token from node 2\n")
    assert "testbed/replay/replayer.py" not in out
    assert "DIFFERS" not in out
    monkeypatch.setitem(ALGORITHMS, "rl", ReverseLink)
    code, out, err = invoke(path, "--node", node)
    assert (code, err) == (0, "")
    assert "recv Token from 2" in out


# -- logs of stations -------------------------------------------------------------------------------------------------


def split(path: Path, *, logs_crashes: bool) -> None:
    """Give every node logs of its own, as stations write them, with or without their crashes and restarts."""
    folder, incarnations = log_of(path).parent / "nodes", dict.fromkeys(range(8), 1)
    logs: dict[Path, list[Event]] = {folder / f"{node:03d}-1.jsonl": [] for node in incarnations}
    for event in events_of(path):
        node, kind = event["node"], event["kind"]
        if node is not None:
            incarnations[node] += kind == "restart"
            log = logs.setdefault(folder / f"{node:03d}-{incarnations[node]}.jsonl", [])
            if logs_crashes or kind not in ("crash", "restart"):
                log.append(event)
    for file, events in logs.items():
        write_events(file, events)
    log_of(path).unlink()


@pytest.mark.parametrize("logs_crashes", [True, False])
def test_logs_of_stations(logs_crashes: bool, run_dir: Path, invoke: Invoke) -> None:
    """Messages are found in the logs of their senders, and every incarnation has a log."""
    together = replay_all(run_dir)
    split(run_dir, logs_crashes=logs_crashes)
    apart = replay_all(run_dir)
    assert_as_recorded(apart)
    assert [one.state for one in apart] == [one.state for one in together]
    for one, other in zip(apart, together, strict=True):
        kinds = [
            [step.given.kind for step in done.steps if logs_crashes or step.given.kind != "crash"]
            for done in (one, other)
        ]
        assert kinds[0] == kinds[1]
    out = invoke(run_dir, "--node", 3)[1]
    files = ", ".join(f"rep-000/nodes/003-{incarnation}.jsonl" for incarnation in (1, 2, 3))
    assert out.startswith(f"{run_dir}: node 3, rl, from {files}\n")


def test_log_of_a_later_incarnation_alone(run_dir: Path) -> None:
    """Without the log of its first incarnation, a node starts with an empty state."""
    split(run_dir, logs_crashes=True)
    (run_dir / "rep-000/nodes/003-1.jsonl").unlink()
    done = replay(run_dir, node=3)
    assert_as_recorded([done])
    assert [step.given.kind for step in done.steps].count("restart") == 2
    assert "start" not in inputs_of(done)


@pytest.mark.parametrize("end", ["", "half a line", "crash"])
def test_killed_station(end: str, run_dir: Path) -> None:
    """The log of one process may end anywhere, with a next incarnation after it or with its crash logged."""
    split(run_dir, logs_crashes=False)
    log = run_dir / "rep-000/nodes/003-1.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    for place in range(1, len(lines), 3):
        crash = {"t": json.loads(lines[place])["t"], "node": 3, "kind": "crash", "units": 0, "tokens": 0}
        rest = {"": b"", "half a line": lines[place][:20], "crash": json.dumps(crash).encode() + b"\n"}[end]
        log.write_bytes(b"".join(lines[:place]) + rest)
        assert_as_recorded([replay(run_dir, node=3)])


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_message_that_no_log_has(more: tuple[str, ...], run_dir: Path, invoke: Invoke) -> None:
    """The replay stops there and names the missing message in one line, unless the log of all nodes has it."""
    log = log_of(run_dir).read_bytes()
    split(run_dir, logs_crashes=True)
    received = [step.given for step in replay(run_dir, node=0).steps if step.given.kind == "recv"]
    sender = received[-1].peer
    (run_dir / f"rep-000/nodes/{sender:03d}-1.jsonl").unlink()
    first = next(given for given in received if given.peer == sender)
    code, out, err = invoke(run_dir, "--node", 0, *more)
    assert code == 2
    assert is_one_line(err)
    assert f"no log has message {first.number} from node {sender} to node 0" in err
    steps = replay(run_dir, node=0).steps
    assert len(steps) > 1
    assert steps[-1].given.t <= first.t
    assert f"no log has message {first.number} " in out
    log_of(run_dir).write_bytes(log)
    assert_as_recorded([replay(run_dir, node=0)])


# -- wrong input ------------------------------------------------------------------------------------------------------


def drop_scenario(path: Path) -> None:
    (path / "scenario.yaml").unlink()


def break_scenario(path: Path) -> None:
    (path / "scenario.yaml").write_text((path / "scenario.yaml").read_text() + "bogus: 1\n")


def drop_log(path: Path) -> None:
    log_of(path).unlink()


def empty_log(path: Path) -> None:
    log_of(path).write_bytes(b"")


def lower_level(path: Path) -> None:
    start, *others = events_of(path)
    write_events(log_of(path), [{**start, "trace": "cs"}, *(one for one in others if one["kind"] == "request")])


def other_version(path: Path) -> None:
    start, *others = events_of(path)
    write_events(log_of(path), [{**start, "version": 99}, *others])


def other_fields(path: Path) -> None:
    write_events(log_of(path), [{**one, "fields": [1, 2]} if one["kind"] == "send" else one for one in events_of(path)])


def no_fields(path: Path) -> None:
    write_events(log_of(path), [{**one, "fields": 1} if one["kind"] == "send" else one for one in events_of(path)])


def events_after_a_crash(path: Path) -> None:
    write_events(log_of(path), [one for one in events_of(path) if one["kind"] != "restart"])


def words_for_times(path: Path) -> None:
    write_events(log_of(path), [{**one, "t": "x"} if one["kind"] == "recv" else one for one in events_of(path)])


@pytest.mark.parametrize(
    ("options", "spoil", "expected"),
    [
        (("--node", "8"), None, "--node 8: no such node; RUN has nodes 0..7"),
        (("--node", "-1"), None, "--node -1: no such node"),
        (("--node", "0", "--repetition", "1"), None, "--repetition 1: no such repetition; RUN has rep-000 to rep-000"),
        (("--node", "0", "--repetition", "-1"), None, "--repetition -1: no such repetition"),
        (("--node", "0", "--until", "nan"), None, "--until nan: a time in time units"),
        (("--node", "0", "--until", "-1"), None, "--until -1: a time in time units"),
        (("--node", "0", "--until", "inf"), None, "--until inf: a time in time units"),
        (("--node", "0"), shutil.rmtree, "RUN: not a run directory"),
        (("--node", "0"), drop_scenario, "RUN/scenario.yaml: no such file"),
        (("--node", "0"), break_scenario, "bogus: found unknown key"),
        (("--node", "0"), drop_log, "RUN/rep-000: holds no log of node 0; run with --set trace=events"),
        (("--node", "0"), empty_log, "RUN/rep-000/events.jsonl: the log is empty"),
        (("--node", "0"), lower_level, "events.jsonl: trace level cs has no messages; run with --set trace=events"),
        (("--node", "0"), other_version, "log version 99"),
        (("--node", "0"), other_fields, "rl has no message LinkInfo with fields (1, 2) in this version"),
        (("--node", "0"), no_fields, "a send event that makes no sense"),
        (("--node", "3"), events_after_a_crash, "event that makes no sense"),
        (("--node", "0"), words_for_times, "a recv event that makes no sense"),
    ],
)
def test_wrong_input_is_one_line(
    options: tuple[str, ...], spoil: Callable[[Path], None] | None, expected: str, invoke: Invoke, run_dir: Path
) -> None:
    """Exit code 2, nothing on stdout, and one line that says what is wrong."""
    if spoil is not None:
        spoil(run_dir)
    code, out, err = invoke(run_dir, *options)
    assert (code, out) == (2, "")
    assert is_one_line(err)
    assert expected.replace("RUN", str(run_dir)) in err


def test_no_run_directory(tmp_path: Path) -> None:
    """A scenario that never ran has no repetitions."""
    (tmp_path / "meta.json").write_text("{}")
    (tmp_path / "scenario.yaml").write_text(tiny())
    with pytest.raises(InputError, match=r"no such repetition; .* has none"):
        replay(tmp_path, node=0)
