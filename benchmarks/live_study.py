"""What `testbed sweep --live` costs a study: `python -m benchmarks.live_study [--points N] [--viewers N] [--rounds N]`.

The same study, without and with `--live`, in turn, into a new store each time: of points that take almost no time, and
of longer ones. Processor time is that of all processes of the command, the server among them. Viewers open the page and
read its news to the end; they are not counted.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from statistics import median
from typing import Any

STUDY = """\
name: live-benchmark
scenario: {{algorithm: rl, nodes: 5, topology: complete, workload: {{rate: 1}}, entries: {entries}}}
algorithms: [rl, krl]
vary: {{nodes: [4, 5, 6, 7, 8], seed: {seeds}}}
"""
ENTRIES = {"short": 1, "long": 1500}
"""Critical sections of a point."""


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--viewers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    chosen = parser.parse_args()
    found = {name: compare(entries, chosen) for name, entries in ENTRIES.items()}
    if chosen.json:
        print(json.dumps(found, indent=1))
        return
    for name, one in found.items():
        print(f"{name} points")
        for key, value in one.items():
            print(f"  {key}: {value}")


def compare(entries: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """Sweeps of one kind of points, without and with viewers, in turn."""
    text = STUDY.format(entries=entries, seeds=list(range(chosen.points // 10)))
    pairs = [(sweep(text, None), sweep(text, chosen.viewers)) for _ in range(chosen.rounds)]
    (wall, cpu), (live_wall, live_cpu) = (
        tuple(min(pair[which][at] for pair in pairs) for at in (0, 1)) for which in (0, 1)
    )
    return {
        "wall time without, s": round(wall, 2),
        "wall time with --live, s": round(live_wall, 2),
        "processor time without, s": round(cpu, 2),
        "processor time with --live, s": round(live_cpu, 2),
        "median of the ratios of processor times": round(median(live[1] / plain[1] for plain, live in pairs), 3),
        "editions that a viewer got": [live[2] for _, live in pairs],
    }


def sweep(text: str, viewers: int | None) -> tuple[float, float, int]:
    """The wall time and the processor time of a sweep, and how many editions of the report a viewer got."""
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study.yaml"
        study.write_text(text)
        line = [sys.executable, "-m", "testbed.cli", "sweep", str(study)] + ["--live"] * (viewers is not None)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr is not None
            editions: list[int] = []
            threads = []
            if viewers is not None:
                found = re.search(r"http://\S+", running.stderr.readline())
                assert found
                threads = [threading.Thread(target=_watch, args=(found[0], editions)) for _ in range(viewers)]
            for thread in threads:
                thread.start()
            for _ in running.stderr:
                pass
        took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        assert running.returncode == 0
        for thread in threads:
            thread.join()
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, used, editions[0] if editions else 0


def _watch(address: str, editions: list[int]) -> None:
    """Do what the page does: get it, then its news."""
    urllib.request.urlopen(address).read()
    with urllib.request.urlopen(f"{address}news?since=1") as news:
        editions.append(sum(b'"report"' in line[:40] for line in news))


if __name__ == "__main__":
    main()
