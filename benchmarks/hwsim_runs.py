"""Whole runs on virtual radios: `python -m benchmarks.hwsim_runs [--json] [--out DIR]`.

It measures the time from the command to the first entry into a critical section, once everything is cached; then ten
mobile stations with a time unit of half a second and thirty with one of three seconds: how late the medium was, and
whether the checks held. If this machine's kernel has no virtual radios, the runs are in a guest, and the guest is
measured. Last, what the medium costs by itself (`hwsim_medium.py`), in the same place.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from testbed.backends.hwsim import backend
from testbed.checkout import PROJECT
from testbed.guest.host import Guest

LINE, TEN, THIRTY = "smoke/radio/line", "worlds/radio-ten", "worlds/radio-thirty"


def run(name: str, out: Path, *more: str) -> tuple[Path, dict[str, Any]]:
    """`testbed run` as a user calls it; returns the run directory and the printed document."""
    scenario = PROJECT / "scenarios" / f"{name}.yaml"
    command = [sys.executable, "-m", "testbed.cli", "run", str(scenario), "--backend", "hwsim", "--json"]
    done = subprocess.run([*command, "--out", str(out), *more], cwd=PROJECT, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(done.stderr.strip())
    document = json.loads(done.stdout)
    return Path(document["run_dir"]), document


def first_entry_s(out: Path) -> dict[str, Any]:
    """Seconds from the command to the first entry, and how many of them passed before the run began."""
    run(LINE, out, "--set", "duration=8", "--set", "drain=10")  # fills the caches
    called = time.time()
    path, document = run(LINE, out, "--set", "drain=10")
    events = [json.loads(line) for line in (path / "rep-000" / "events.jsonl").read_text().splitlines()]
    began = datetime.fromisoformat(json.loads((path / "rep-000" / "nodes" / "ends.json").read_text())["began"])
    entered = min(event["t"] for event in events if event["kind"] == "enter") / 1e9 * 0.5  # its time unit
    meta = json.loads((path / "meta.json").read_text())
    return {
        "first_entry_s": began.timestamp() + entered - called,
        "until_the_run_began_s": began.timestamp() - called,
        "guest": meta.get("guest"),
        "checks": verdicts(document),
    }


def verdicts(document: dict[str, Any]) -> dict[str, str]:
    """The verdict of every check."""
    return {name: check["verdict"] for name, check in document["checks"].items()}


def lateness(name: str, out: Path) -> dict[str, Any]:
    """How late the medium was in a run."""
    path, document = run(name, out)
    report = json.loads((path / "rep-000" / "nodes" / "ends.json").read_text())["medium"]
    return {
        "lateness_ms": report["lateness_ms"],
        "frames": report["frames"],
        "medium_cpu_s": report["cpu_s"],
        "time_units": document["metrics"]["time"]["mean"],
        "entries": document["metrics"]["entries"]["mean"],
        "checks": verdicts(document),
    }


def medium() -> list[str]:
    """What `hwsim_medium` prints."""
    arguments = ["-m", "benchmarks.hwsim_medium", "--stations", "10", "--rounds", "3"]
    if backend.runs_here():
        done = subprocess.run([sys.executable, *arguments], cwd=PROJECT, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()
    printed = bytearray()
    with Guest() as guest:
        send = {"benchmarks": PROJECT / "benchmarks"}
        code = guest.run(["python", *arguments], send=send, stdout=printed.extend, timeout_s=300)
    if code:
        raise SystemExit(f"hwsim_medium ended with {code} in the guest")
    return printed.decode().splitlines()


def measure(out: Path) -> dict[str, Any]:
    """Everything, ready for JSON."""
    runs = {"line": first_entry_s(out), "ten": lateness(TEN, out), "thirty": lateness(THIRTY, out)}
    return {**runs, "medium": medium()}


def render(found: dict[str, Any]) -> str:
    """The results as text."""
    line = found["line"]
    lines = [
        f"first entry {line['first_entry_s']:.1f} s after the command, {line['until_the_run_began_s']:.1f} s of which "
        f"passed before the run began (guest: {line['guest']})"
    ]
    for name in ("ten", "thirty"):
        one = found[name]
        late = ", ".join(f"{key} {value:.1f}" for key, value in one["lateness_ms"].items())
        failed = [check for check, verdict in one["checks"].items() if verdict != "ok"]
        lines.append(f"{name}: lateness in ms: {late}; {one['entries']:.0f} entries, checks {failed or 'ok'}")
    return "\n".join([*lines, *found["medium"]]) + "\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Whole runs on virtual radios.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, help="keep the run directories here")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        found = measure(arguments.out or Path(name))
    print(json.dumps(found, indent=1) if arguments.json else render(found), end="\n" if arguments.json else "")


if __name__ == "__main__":
    main()
