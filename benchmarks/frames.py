"""How long a data frame of 100,000 events takes: `python -m benchmarks.frames`. The target is 2 seconds."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sized
from functools import partial
from pathlib import Path

from analysis.open_run import OpenRun
from testbed.experiments.runner import run
from testbed.scenario.loader import load

CHANGES = ["repeat=1", "trace=cs", "topology.link_change_rate=0", "duration=300000"]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        opened = OpenRun(run(load(Path("scenarios/quickstart.yaml"), CHANGES), Path(folder)).path)
        makers: dict[str, Callable[[], Sized]] = {
            "enter events": partial(opened.events, "enter"),
            "waiting times": opened.waiting_times,
        }
        for name, make in makers.items():
            make()  # pandas is imported
            started = time.process_time()
            print(f"{name}: {len(make()):,} rows in {time.process_time() - started:.2f} s of CPU time")
