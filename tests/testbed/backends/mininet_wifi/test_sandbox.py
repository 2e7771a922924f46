"""The cage, with real namespaces and real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.experiments.run_directory import PROJECT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces take root")

LIVES = """
import json, os, subprocess, sys, time
from pathlib import Path
from testbed.mininet import cage

def live():
    orphan = subprocess.Popen(["sh", "-c", "(sleep 1234567 & echo $!)"], stdout=subprocess.PIPE, text=True)
    orphan.wait()
    (cage.WORK / "file").write_text("something")
    seen = {
        "pid": os.getpid(),
        "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
        "orphan": int(orphan.stdout.readline()),
        "interfaces": os.listdir("/sys/class/net"),
        "run": os.listdir("/run"),
        "cwd": os.getcwd(),
        "debug": os.path.ismount("/sys/kernel/debug"),
    }
    print(json.dumps(seen), flush=True)
    if sys.argv[1] == "stay":
        time.sleep(1000)
    if sys.argv[1] == "fail":
        raise SystemExit(7)

print(os.getpid(), flush=True)
cage.enter(live)
"""


def begin(what: str) -> tuple[subprocess.Popen[str], int, dict[str, object]]:
    """A process that has gone into a cage: its number outside, and what it sees inside."""
    started = subprocess.Popen([sys.executable, "-c", LIVES, what], stdout=subprocess.PIPE, text=True, cwd=PROJECT)
    assert started.stdout is not None
    number = int(started.stdout.readline())
    return started, number, json.loads(started.stdout.readline())


def sleepers() -> list[str]:
    """Processes of the cage that are alive, by their command."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if b"1234567" in command:
            found.append(entry.name)
    return found


def wait_until_gone() -> None:
    give_up = time.monotonic() + 10
    while sleepers() and time.monotonic() < give_up:
        time.sleep(0.02)
    assert sleepers() == []


def test_inside_there_is_nothing_but_its_own() -> None:
    started, number, seen = begin("leave")
    assert seen["pid"] == number, "names of radios have it, and must not be those of another cage"
    assert set(seen["processes"]) == {1, seen["pid"], seen["orphan"]}  # type: ignore[call-overload]
    assert seen["interfaces"] == ["lo"]
    assert seen["run"] == ["mininet-wifi"]
    assert seen["cwd"] == "/run/mininet-wifi"
    assert seen["debug"]
    assert started.wait(10) == 1, "who lives there is to be ended, not to leave"
    wait_until_gone()
    assert not Path("/run/mininet-wifi").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_everything_goes_with_it(number: signal.Signals) -> None:
    started, _, _ = begin("stay")
    assert sleepers()
    started.send_signal(number)
    started.wait(10)
    wait_until_gone()
    assert not Path("/run/mininet-wifi").exists()


def test_how_it_ended_is_told() -> None:
    started, _, _ = begin("fail")
    assert started.wait(10) == 1
    wait_until_gone()
