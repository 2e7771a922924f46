"""Runs of real processes for tests, and what is known of processes from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from testbed.experiments.run_directory import PROJECT

MOBILE: dict[str, Any] = {
    "name": "mobile",
    "algorithm": {"name": "rl"},
    "nodes": 10,
    "topology": {"kind": "geometric"},
    "time_unit": 0.2,
    "area": [300, 300],
    "placement": "uniform",
    "mobility": {"kind": "random-waypoint", "speed": [2, 6]},
    "radio": {"range": 150},
    "links": {"kind": "radio", "loss": 0.2, "duplicate": 0.05, "hello": 1.0},
    "delays": {"hop": {"uniform": [0.01, 0.1]}},
    "workload": {"rate": 0.1, "cs_time": 0.2},
    "warmup": 5.0,
    "duration": 60.0,
    "drain": 150.0,
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
    "duration": 80.0,
    "drain": 100.0,
    "backend": "loopback",
}


def write(folder: Path, scenario: dict[str, Any]) -> Path:
    """The scenario as a file."""
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario), encoding="utf-8")
    return path


def start(folder: Path, scenario: dict[str, Any], **environment: str) -> subprocess.Popen[str]:
    """`testbed run` as a user starts it from a terminal: the leader of its process group."""
    command = [sys.executable, "-m", "testbed.cli.main", "run", str(write(folder, scenario)), "--out", str(folder / "runs")]
    return subprocess.Popen(
        command,
        cwd=PROJECT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        env={**os.environ, **environment},
    )


def run_directory(folder: Path) -> Path:
    """The only run directory there."""
    (found,) = (folder / "runs").iterdir()
    return found


def wait_for(is_so: Callable[[], Any], seconds: float = 20.0) -> Any:
    """What `is_so` says, once it says anything."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        found = is_so()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def processes(folder: Path) -> dict[str, int]:
    """The processes of runs in a folder: station-3, nursery, medium; by name.

    They are known by what they have open: their outputs are in the run directory.
    """
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            name, output = (entry / "comm").read_text().strip(), os.readlink(entry / "fd" / "2")
        except OSError:  # it has gone meanwhile
            continue
        if output.startswith(str(folder)):
            found[name] = int(entry.name)
    return found


def has_begun(folder: Path) -> bool:
    """Whether critical sections are being entered, and the orchestrator has heard of some."""
    return any(log.read_text().count('"enter"') >= 3 for log in folder.glob("runs/*/rep-000/events.jsonl"))


def kill(pid: int) -> None:
    """As a crash would."""
    os.kill(pid, signal.SIGKILL)
