"""The sandbox, with real namespaces and real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.checkout import PROJECT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")

SCRIPT = """
import json, os, subprocess, sys, time
from pathlib import Path
from testbed.backends.mininet_wifi import sandbox

def work():
    orphan = subprocess.Popen(["sh", "-c", "(sleep 1234567 & echo $!)"], stdout=subprocess.PIPE, text=True)
    orphan.wait()
    (sandbox.WORK / "file").write_text("something")
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
sandbox.enter(work)
"""


def begin(what: str) -> tuple[subprocess.Popen[str], int, dict[str, object]]:
    """Start a process in a sandbox; returns its number outside, and what it sees inside."""
    started = subprocess.Popen([sys.executable, "-c", SCRIPT, what], stdout=subprocess.PIPE, text=True, cwd=PROJECT)
    assert started.stdout is not None
    number = int(started.stdout.readline())
    return started, number, json.loads(started.stdout.readline())


def sleepers() -> list[str]:
    """The processes of the sandbox that still run, found by their command."""
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


def test_a_process_in_a_sandbox_sees_nothing_of_the_machine() -> None:
    started, number, seen = begin("leave")
    assert seen["pid"] == number, "the names of radios contain it, and must differ from those of other sandboxes"
    assert set(seen["processes"]) == {1, seen["pid"], seen["orphan"]}  # type: ignore[call-overload]
    assert seen["interfaces"] == ["lo"]
    assert seen["run"] == ["mininet-wifi"]
    assert seen["cwd"] == "/run/mininet-wifi"
    assert seen["debug"]
    assert started.wait(10) == 1, "a worker that returns is an error: it has to be killed"
    wait_until_gone()
    assert not Path("/run/mininet-wifi").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_everything_in_it_ends_with_it(number: signal.Signals) -> None:
    started, _, _ = begin("stay")
    assert sleepers()
    started.send_signal(number)
    started.wait(10)
    wait_until_gone()
    assert not Path("/run/mininet-wifi").exists()


def test_its_exit_code_is_reported() -> None:
    started, _, _ = begin("fail")
    assert started.wait(10) == 1
    wait_until_gone()
