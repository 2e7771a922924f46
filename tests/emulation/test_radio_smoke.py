"""Scenarios on Linux's own Wi-Fi: what CI must see work, all in one guest.

Where the kernel of this machine has virtual radios and we are root, they run here; otherwise in the guest that all
tests share.
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
from contextlib import suppress
from pathlib import Path

import pytest

from testbed.cli.main import main
from testbed.backends import in_guest
from testbed.guest.host import Guest
from testbed.experiments.runner import Result, Wishes, run
from testbed.scenario.schema import load
from testbed.experiments.smoke import find_scenarios
from tests.conftest import PROJECT
from tests.testbed.simulate import ALL_OK

pytestmark = pytest.mark.xdist_group("guest")

FOLDER = PROJECT / "scenarios" / "smoke" / "radio"
ROUTING = PROJECT / "scenarios" / "radio-routing"


@pytest.fixture(autouse=True)
def in_the_shared_guest(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that need a guest take the one there is."""
    monkeypatch.setattr(delegate, "shared_guest", lambda: guest)


def on_radio(name: str, folder: Path, *, pcap: bool = False) -> Result:
    scenario = load(FOLDER / f"{name}.yaml", ["backend=hwsim", "trace=events"])
    return run(scenario, folder, wishes=Wishes(pcap=pcap))


def verdicts(result: Result) -> dict[str, str]:
    return {name: check["verdict"] for name, check in result.summary["checks"].items()}


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


def test_a_static_line(tmp_path: Path) -> None:
    """RL on five stations: real ad hoc frames in the capture, hop by hop, verdicts, the table."""
    result = on_radio("line", tmp_path, pcap=True)
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


def descendants(pid: int) -> set[int]:
    """The processes that a process has started, and those that they have."""
    found: set[int] = set()
    with suppress(OSError):
        for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
            found |= {child} | descendants(child)
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has asked after is dead all the same."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def files() -> set[Path]:
    """What a run might leave where it keeps nothing."""
    return set(Path(tempfile.gettempdir()).glob("testbed-*"))


@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_is_killed_leaves_nothing(seed: int, tmp_path: Path) -> None:
    """At a random moment, while the guest comes up or stations run."""
    before = files()
    command = [sys.executable, "-m", "testbed.cli.main", "run", str(FOLDER / "line.yaml"), "--backend", "hwsim"]
    started = subprocess.Popen([*command, "--out", str(tmp_path)], cwd=PROJECT, stderr=subprocess.DEVNULL)
    moment_s = random.Random(seed).uniform(0.5, 9.0)
    time.sleep(moment_s)
    assert started.poll() is None
    theirs = descendants(started.pid)
    started.kill()
    started.wait()
    deadline = time.monotonic() + 5.0
    while any(map(is_alive, theirs)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in theirs if is_alive(pid)], f"killed after {moment_s:.1f} s"
    assert files() <= before


@pytest.mark.parametrize(("routing", "control"), [("babel", "Babel"), ("batman", "Batman")])
def test_real_routing(routing: str, control: str, tmp_path: Path) -> None:
    """RR over babeld and over batman-adv: kernels forward, and what that costs is counted."""
    result = run(load(ROUTING / f"routed-{routing}.yaml", ["trace=events"]), tmp_path)
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


@pytest.mark.parametrize("name", [path.stem for path in find_scenarios(FOLDER) if path.stem != "line"])
def test_smoke(name: str, tmp_path: Path) -> None:
    """Mobile stations, a partition that heals, the edge of range, a routed algorithm."""
    result = on_radio(name, tmp_path, pcap=name == "edge")
    assert verdicts(result) == ALL_OK, result.summary["checks"]
    assert result.summary["metrics"]["entries"]["mean"] > 1
    assert result.passed
    if name == "edge":
        kinds = air_frames(result.path / "rep-000" / "air.pcap")
        assert kinds["unicast retries"] > 0.3 * kinds["unicast tries"] > 10, "or it would not be the edge"


def test_frames_that_overlap_spoil_each_other(tmp_path: Path) -> None:
    """If the scenario says so: three stations, of which the outer two do not hear each other, in a hurry."""
    keys = ["nodes=3", "placement.places=[[0, 0], [80, 0], [160, 0]]", "workload.rate=2", "links.hello=0.2"]
    scenario = load(FOLDER / "line.yaml", ["backend=hwsim", "links.collisions=true", "duration=14", *keys])
    result = run(scenario, tmp_path)
    assert verdicts(result) == ALL_OK
    medium = json.loads((result.path / "rep-000" / "nodes" / "ends.json").read_text())["medium"]
    assert medium["frames"]["lost"].get("collision", 0) > 0
