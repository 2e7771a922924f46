"""Parts of tests that need a kernel with virtual radios and a Mininet-WiFi; each prints its findings as JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LINE = "/testbed/scenarios/mininet-wifi/line.yaml"


def radios() -> list[str]:
    """The names of all radios of this machine, in all namespaces."""
    return sorted(os.listdir("/sys/kernel/debug/ieee80211"))


def processes() -> list[str]:
    """The commands of all processes of Mininet-WiFi and of the testbed, but for this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in (1, os.getpid(), os.getppid()):
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if any(word in command for word in ("mininet", "wmediumd", "testbed", "mnexec")):
            found.append(command)
    return found


def wait_for(condition: Any, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def start(*options: str) -> subprocess.Popen[bytes]:
    command = ["testbed", "run", LINE, "--out", "/tmp/runs", "--set", "duration=1000", *options]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def is_running(runs: int = 1) -> bool:
    """Whether an agent has entered its critical section in this many runs."""
    logs = Path("/tmp/runs").glob("*/rep-000/events.jsonl")
    return sum('"enter"' in log.read_text() for log in logs) == runs


def kill() -> dict[str, Any]:
    """Kill the orchestrator of a run by each of three signals; what runs before and after."""
    seen: dict[str, Any] = {}
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        subprocess.run(["rm", "-rf", "/tmp/runs"], check=True)
        run = start(*sys.argv[2:])
        began = wait_for(is_running, 150)
        before = (len(radios()), len(processes()))
        run.send_signal(number)
        run.wait(20)
        gone = wait_for(lambda: not radios() and not processes(), 10)
        left = [*radios(), *processes(), *map(str, Path("/tmp").glob("mn*")), *map(str, Path("/run").glob("*mininet*"))]
        seen[number.name] = {"began": began, "before": before, "gone": gone, "left": left}
    return seen


def two() -> dict[str, Any]:
    """Two runs at a time."""
    subprocess.run(["rm", "-rf", "/tmp/runs"], check=True)
    runs = [start("--seed", str(seed)) for seed in (1, 2)]
    both = wait_for(lambda: is_running(2), 200)
    names = radios()
    for run in runs:
        run.kill()
        run.wait(20)
    return {"both": both, "radios": names, "gone": wait_for(lambda: not radios(), 10)}


if __name__ == "__main__":
    print(json.dumps({"kill": kill, "two": two}[sys.argv[1]]()))
