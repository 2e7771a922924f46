"""What `testbed run --live` costs a run: `python -m benchmarks.live [--viewers N] [--quick]`.

The same run without and with `--live`, in turn. The cost is the ratio of the processor times of all processes of the
command, the server among them; browsers are not counted. Viewers read the log as the page does, from its beginning. The
goal is at most 5 %. A run at a leisurely pace sleeps most of the time, so that its own processor time says little: for
such a run see the share of a core. In real time about the same happens in every run, but not exactly: the benchmark
gives the entries too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from statistics import mean, median
from typing import Any

NODES = 20
RUNS = {
    "loopback": ("backend: loopback\nlinks: radio\ntime_unit: 0.1\n", 10),
    "sim over radio links": ("backend: sim\nlinks: radio\n", 10),
    "sim over ideal links, fast": ("backend: sim\nlinks: ideal\n", 1000),
    "sim over ideal links, leisurely": ("backend: sim\nlinks: ideal\n", 10),
}
"""The beginning of each scenario, and how many time units pass in a second."""
SCENARIO = """\
name: live-benchmark
algorithm: rl
nodes: {nodes}
topology: geometric
area: [300, 300]
placement: uniform
mobility: {{kind: random-waypoint, speed: [1, 4]}}
radio: {{range: 120}}
workload: {{rate: 0.2, cs_time: 0.2}}
warmup: 20
duration: {duration}
drain: 100
trace: events
"""


def main() -> None:
    """Print what was measured."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--seconds", type=float, default=30.0, help="how long a run takes (30)")
    arguments.add_argument("--viewers", type=int, default=1)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--quick", action="store_true", help="short runs: only shows that it runs")
    arguments.add_argument("--json", action="store_true")
    chosen = arguments.parse_args()
    seconds, rounds = (5.0, 1) if chosen.quick else (chosen.seconds, chosen.rounds)
    results = {name: compare(*one, seconds, chosen.viewers, rounds) for name, one in RUNS.items()}
    if chosen.json:
        print(json.dumps(results))
        return
    for name, result in results.items():
        print(name)
        for key, value in result.items():
            print(f"  {key}: {value}")


def compare(text: str, units_per_second: int, seconds: float, viewers: int, rounds: int) -> dict[str, Any]:
    """One kind of run, without and with viewers, in turn."""
    units = seconds * units_per_second
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.yaml"
        scenario.write_text(text + SCENARIO.format(nodes=NODES, duration=units), encoding="utf-8")
        pace = [] if "loopback" in text else ["--pace", str(units_per_second)]
        pairs = [(_run(scenario, pace, None), _run(scenario, pace, viewers)) for _ in range(rounds)]
    return {
        "processor time without, s": round(mean(one["cpu"] for one, _ in pairs), 3),
        "processor time with --live, s": round(mean(one["cpu"] for _, one in pairs), 3),
        "ratio, median of rounds": round(median(live["cpu"] / bare["cpu"] for bare, live in pairs), 3),
        "more, as a share of a core": round(median(live["cpu"] - bare["cpu"] for bare, live in pairs) / seconds, 4),
        "ratios": [round(live["cpu"] / bare["cpu"], 3) for bare, live in pairs],
        "events": [[bare["events"], live["events"]] for bare, live in pairs],
        "entries": [[bare["entries"], live["entries"]] for bare, live in pairs],
    }


def _run(scenario: Path, more: list[str], viewers: int | None) -> dict[str, Any]:
    """A whole command; its processor time is that of all its processes."""
    command = [
        sys.executable,
        "-m",
        "testbed.cli",
        "run",
        str(scenario),
        "--json",
        "--out",
        str(scenario.parent),
        *more,
    ]
    command += [] if viewers is None else ["--live"]
    before = _children_cpu()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        if viewers is not None:
            address = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))
            for _ in range(viewers):
                threading.Thread(target=_watch, args=(address,), daemon=True).start()
        document = json.loads(process.stdout.read())
        process.stderr.read()
    log = Path(document["run_dir"]) / "rep-000" / "events.jsonl"
    return {
        "cpu": _children_cpu() - before,
        "events": sum(1 for _ in log.open("rb")),
        "entries": document["metrics"]["entries"]["mean"],
    }


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _watch(address: str) -> None:
    """Read as the page does."""
    with suppress(OSError):
        while b'id="ground"' not in urllib.request.urlopen(address).read():
            time.sleep(1.0)
        with urllib.request.urlopen(f"{address}log?repetition=0") as log:
            while log.read1(1 << 16):
                pass


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    main()
