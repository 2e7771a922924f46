"""Runs of real processes for tests, and what is known of processes from outside.

A run takes real time, so scenarios are short. How much is done in that time depends on how busy the machine is: tests
check what holds at any speed. `drain` may be long: a run ends as soon as every request is served.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from analysis.check import INCONCLUSIVE, NOT_APPLICABLE, OK
from analysis.timing import late
from testbed.checkout import PROJECT
from tests.testbed.tiny import interruptible

MOBILE: dict[str, Any] = {
    "name": "mobile",
    "algorithm": {"name": "rl"},
    "nodes": 10,
    "topology": {"kind": "geometric"},
    "time_unit": 0.1,
    "area": [300, 300],
    "placement": "uniform",
    "mobility": {"kind": "random-waypoint", "speed": [4, 12]},
    "radio": {"range": 150},
    "links": {"kind": "radio", "loss": 0.2, "duplicate": 0.05, "hello": 1.0},
    "delays": {"hop": {"uniform": [0.01, 0.1]}},
    "workload": {"rate": 0.1, "cs_time": 0.2},
    "warmup": 5.0,
    "duration": 40.0,
    "drain": 300.0,
    "backend": "loopback",
}
LINE: dict[str, Any] = {
    "name": "line",
    "algorithm": {"name": "krl", "k": 2},
    "nodes": 4,
    "topology": {"kind": "explicit", "links": [[0, 1], [1, 2], [2, 3]]},
    "time_unit": 0.05,
    "links": {"kind": "radio", "hello": 1.0},
    "delays": {"hop": 0.05},
    "workload": {"rate": 0.2, "cs_time": 0.2},
    "warmup": 6.0,
    "duration": 30.0,
    "drain": 1200.0,
    "backend": "loopback",
}


def write(folder: Path, scenario: dict[str, Any]) -> Path:
    """The scenario as a file."""
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario), encoding="utf-8")
    return path


def start(folder: Path, scenario: dict[str, Any], **environment: str) -> subprocess.Popen[str]:
    """`testbed run` as a user starts it from a terminal: the leader of its process group, and Ctrl-C interrupts it."""
    command = [sys.executable, "-m", "testbed.cli", "run", str(write(folder, scenario)), "--out", str(folder / "runs")]
    return subprocess.Popen(
        command,
        cwd=PROJECT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        preexec_fn=interruptible,
        env={**os.environ, **environment},
    )


def run_directory(folder: Path) -> Path:
    """The only run directory there."""
    (found,) = (folder / "runs").iterdir()
    return found


def events(run: Path, *kinds: str) -> list[dict[str, Any]]:
    """The events of some kinds in the log of a run's first repetition."""
    lines = (run / "rep-000" / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] in kinds]


def check_requests(run: Path) -> None:
    """There were requests, and each was served, given up by leaving, or is logged as pending at the end.

    Not for runs with crashes.
    """
    count = Counter(event["kind"] for event in events(run, "request", "enter", "evict", "exit", "pending"))
    abandoned = sum(event["abandoned"] for event in events(run, "left"))
    assert count["request"] > 0
    assert count["request"] == count["exit"] + count["evict"] + abandoned + count["pending"]
    assert count["enter"] == count["exit"] + count["evict"]


def failures(checks: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The checks that are not as they should be at any speed of the machine.

    If the machine was late, some are inconclusive; what is not a matter of time must hold all the same.
    """
    good = {OK, NOT_APPLICABLE} | ({INCONCLUSIVE} if late(checks) else set())
    return {name: check for name, check in checks.items() if check["verdict"] not in good}


def wait_for(is_so: Callable[[], Any], seconds: float = 20.0) -> Any:
    """What `is_so` returns, once that is true."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        found = is_so()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not so after {seconds:g} s")


def processes(folder: Path) -> dict[str, int]:
    """The processes of runs in a folder, by name: station-3, fork-server, medium.

    They are recognised by their standard error, which is a file in the run directory.
    """
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            name, output = (entry / "comm").read_text().strip(), os.readlink(entry / "fd" / "2")
        except OSError:  # it has ended meanwhile
            continue
        if output.startswith(str(folder)):
            found[name] = int(entry.name)
    return found


def has_begun(folder: Path) -> bool:
    """Whether critical sections are being entered, and the orchestrator has read of some."""
    return any(log.read_text().count('"enter"') >= 3 for log in folder.glob("runs/*/rep-000/events.jsonl"))


def kill(pid: int) -> None:
    """As a crash would."""
    os.kill(pid, signal.SIGKILL)
