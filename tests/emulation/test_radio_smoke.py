"""Scenarios on Linux's own Wi-Fi: what CI must see work, all in one guest.

The runs take real time and mostly wait. So two that need little of the guest's processors go on at once: each has
radios, namespaces and a medium of its own.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.backends import in_guest
from testbed.backends.base import RunOptions
from testbed.cli.main import main
from testbed.errors import InconclusiveError
from testbed.experiments.runner import Result, run
from testbed.experiments.smoke import find_scenarios
from testbed.guest.host import Guest
from testbed.scenario.loader import load, write_scenario
from tests.conftest import PROJECT
from tests.testbed.simulate import ALL_OK, all_ok, verdicts_of
from tests.testbed.tiny import only_run

pytestmark = pytest.mark.xdist_group("guest")

SCRIPT = Path(__file__).with_name("runs_in_guest.py")
FOLDER = PROJECT / "scenarios" / "smoke" / "radio"
ROUTING = PROJECT / "scenarios" / "radio-routing"
SCENARIOS = {path.stem: path for folder in (FOLDER, ROUTING) for path in find_scenarios(folder)}
CAPTURED = ("line", "edge")
WATCHED = ("partition", "routed")
AT_ONCE = (CAPTURED, WATCHED, ("routed-babel", "routed-batman"))
"""All others run alone: with a second run beside them, eight stations that move are more than a guest without KVM can
do in time."""
OPTIONS = {CAPTURED: ["--pcap"], WATCHED: ["--live"]}


@dataclass(frozen=True)
class Done:
    """A run that has ended in the guest, and what it left."""

    code: int
    folder: Path

    def result(self) -> Result:
        """What came of it; on a busy machine it may be inconclusive."""
        assert self.code in (0, InconclusiveError.exit_code), (self.folder / "printed").read_text()
        path = only_run(self.folder / "runs")
        return Result(path, json.loads((path / "summary.json").read_bytes()))


def run_at_once(guest: Guest, names: Sequence[str], folder: Path) -> dict[str, Done]:
    """Make runs in the guest, and bring what they left into a folder."""
    for name in names:
        (folder / "planned" / name).mkdir(parents=True)
        write_scenario(load(SCENARIOS[name], ["backend=hwsim", "trace=events"]), folder / "planned" / name)
    printed: list[bytes] = []
    errors: list[bytes] = []
    code = guest.run(
        ["python", "runs_in_guest.py", *names, *OPTIONS.get(tuple(names), [])],
        send={"/tmp/planned": folder / "planned", "/tmp/runs_in_guest.py": SCRIPT},
        bring=[("/tmp/done", folder / "done")],
        timeout_s=180,
        stdout=printed.append,
        stderr=errors.append,
    )
    assert code == 0, b"".join(errors).decode()
    guest.run(["rm", "-rf", "/tmp/planned", "/tmp/done"])
    codes = json.loads(b"".join(printed))
    return {name: Done(codes[name], folder / "done" / name) for name in names}


@pytest.fixture(scope="module")
def done() -> dict[str, Done]:
    """The runs that were made so far."""
    return {}


@pytest.fixture
def result(
    request: pytest.FixtureRequest, guest: Guest, done: dict[str, Done], tmp_path_factory: pytest.TempPathFactory
) -> Result:
    """The run that a test is named by, made when the first test asks for it."""
    name = request.param
    if name not in done:
        names = next((names for names in AT_ONCE if name in names), (name,))
        done |= run_at_once(guest, names, tmp_path_factory.mktemp("radio"))
    return done[name].result()


def of(*names: str) -> pytest.MarkDecorator:
    """A test of these runs."""
    return pytest.mark.parametrize("result", names, indirect=True)


def verdicts(result: Result) -> dict[str, str]:
    return verdicts_of(result.summary["checks"])


def air_frames(path: Path) -> Counter[str]:
    """How many frames of a kind are in a capture: beacons, data, and tries of those to one station."""
    data = path.read_bytes()
    magic, linktype = struct.unpack_from("<I", data)[0], struct.unpack_from("<I", data, 20)[0]
    assert magic in (0xA1B2C3D4, 0xA1B23C4D)
    assert linktype == 127, "radiotap"
    kinds, at = Counter[str](), 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        radiotap = struct.unpack_from("<H", data, at + 16 + 2)[0]
        control, flags = data[at + 16 + radiotap], data[at + 16 + radiotap + 1]
        is_data, is_broadcast = control & 0x0C == 0x08, bool(data[at + 16 + radiotap + 4] & 1)
        kinds["data" if is_data else "beacon" if control == 0x80 else "other"] += 1
        kinds["unicast tries"] += is_data and not is_broadcast
        kinds["unicast retries"] += is_data and not is_broadcast and bool(flags & 0x08)
        at += 16 + length
    return kinds


@of("line")
def test_a_static_line(result: Result) -> None:
    """RL on five stations: real ad hoc frames in the capture, hop by hop, verdicts, replays."""
    assert verdicts(result) == ALL_OK
    assert result.summary["metrics"]["entries"]["mean"] > 3
    kinds = air_frames(result.path / "rep-000" / "air.pcap")
    assert kinds["beacon"] > 20
    assert kinds["data"] > 100
    lines = (result.path / "rep-000" / "events.jsonl").read_text().splitlines()
    received = [event for event in map(json.loads, lines) if event["kind"] == "recv"]
    assert received
    assert {abs(event["node"] - event["peer"]) for event in received} == {1}, "only neighbours hear each other"
    for node in range(5):
        assert main(["replay", str(result.path), "--node", str(node)]) == 0


@of("line")
def test_a_run_imports_nothing_that_was_not_imported_ahead(result: Result) -> None:
    """Imports are slow in a guest, and a list of modules that is out of date goes unnoticed."""
    assert (result.path.parents[1] / "imported").read_text() == ""


@of(*WATCHED)
def test_a_run_on_radios_is_served_while_it_goes_on(result: Result) -> None:
    """There the guest's kernel is the machine's own; a viewer in it has got the whole log."""
    folder = result.path.parents[1]
    lines = (folder / "streamed").read_bytes().splitlines(keepends=True)
    said = [json.loads(line)["live"] for line in lines if line.startswith(b'{"live"')]
    log = (result.path / "rep-000" / "events.jsonl").read_bytes()
    assert b"".join(line for line in lines if not line.startswith(b'{"live"')) == log
    assert said[-1]["ended"]
    assert len({one["words"] for one in said}) > 3, "it was served while the run went on"


def descendants(pid: int) -> set[int]:
    """The processes that a process has started, directly or indirectly."""
    found: set[int] = set()
    with suppress(OSError):
        for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
            found |= {child} | descendants(child)
    return found


def is_running(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def files() -> set[Path]:
    """Temporary files that a run might leave behind."""
    return set(Path(tempfile.gettempdir()).glob("testbed-*"))


@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_is_killed_leaves_nothing(seed: int, tmp_path: Path) -> None:
    """At a random moment, while the guest comes up or stations run."""
    before = files()
    command = [sys.executable, "-m", "testbed.cli", "run", str(FOLDER / "line.yaml"), "--backend", "hwsim", "--live"]
    started = subprocess.Popen([*command, "--out", str(tmp_path)], cwd=PROJECT, stderr=subprocess.PIPE, text=True)
    assert started.stderr is not None
    assert "--live: this run happens in a guest, which hands its logs over at the end" in started.stderr.readline()
    moment_s = random.Random(seed).uniform(0.5, 6.0)
    time.sleep(moment_s)
    assert started.poll() is None
    theirs = descendants(started.pid)
    started.kill()
    started.communicate()
    deadline = time.monotonic() + 5.0
    while any(map(is_running, theirs)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in theirs if is_running(pid)], f"killed after {moment_s:.1f} s"
    assert files() <= before


@pytest.mark.parametrize(
    ("result", "control"), [("routed-babel", "Babel"), ("routed-batman", "Batman")], indirect=["result"]
)
def test_real_routing(result: Result, control: str) -> None:
    """RR over babeld and over batman-adv: kernels forward, and what that costs is counted."""
    assert verdicts(result) == ALL_OK, result.summary["checks"]
    assert result.summary["metrics"]["entries"]["mean"] > 1
    lines = (result.path / "rep-000" / "events.jsonl").read_text().splitlines()
    counted = {event["type"]: event["count"] for event in map(json.loads, lines) if event["kind"] == "frames"}
    assert (
        {"Packet", "Receipt", "Forwarded", control}
        <= set(counted)
        <= {"Packet", "Receipt", "Forwarded", "Who", control}
    )
    assert counted[control] > 6 * 10, "every station says hello twice a second for 15 s"


@of(*(path.stem for path in find_scenarios(FOLDER)))
def test_smoke(result: Result) -> None:
    """A line, mobile stations, a partition that heals, the edge of range, algorithms over a router."""
    assert verdicts(result) == all_ok(result.summary["algorithm"]), result.summary["checks"]
    assert result.summary["metrics"]["entries"]["mean"] > 1
    assert not result.summary["unmet"], result.summary["unmet"]


@of("edge")
def test_most_frames_at_the_edge_of_range_are_repeated(result: Result) -> None:
    """Or it would not be the edge."""
    kinds = air_frames(result.path / "rep-000" / "air.pcap")
    assert kinds["unicast retries"] > 0.3 * kinds["unicast tries"] > 10


def test_frames_that_overlap_spoil_each_other(guest: Guest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If the scenario says so: three stations, of which the outer two do not hear each other, in a hurry.

    The run is started here, as a user does; where this kernel has no radios, the testbed itself takes it to a guest. On
    a busy machine stations wake up in turns and their frames may miss each other, so it is run several times.
    """
    monkeypatch.setattr(in_guest, "shared_guest", lambda: guest)
    keys = ["nodes=3", "placement.places=[[0, 0], [80, 0], [160, 0]]", "workload.rate=2", "links.hello=0.2"]
    scenario = load(FOLDER / "line.yaml", ["backend=hwsim", "links.collisions=true", "duration=14", *keys])
    collisions = 0
    for _ in range(5):
        result = run(scenario, tmp_path, options=RunOptions(pcap=True))
        assert verdicts(result) == ALL_OK
        assert result.path.parent == tmp_path
        assert air_frames(result.path / "rep-000" / "air.pcap")["data"] > 100
        medium = json.loads((result.path / "rep-000" / "nodes" / "ends.json").read_text())["medium"]
        collisions += medium["frames"]["lost"].get("collision", 0)
        if collisions:
            break
    assert collisions > 0
