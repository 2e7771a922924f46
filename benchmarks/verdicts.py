"""What judging a run while it goes on costs the simulator: `python -m benchmarks.verdicts [--rounds N]`.

The same run of RL is measured in turn as it is, and with one part of the judging switched off, in one process; the best
time of each counts. The reference is the run as it is.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import analysis.audit
from analysis.progress import Progress
from benchmarks import testbed_rl
from testbed.backends.sim.simulation import Simulation
from testbed.runtime import driver

ENTRIES = 20_000


@contextmanager
def without_conservation() -> Iterator[None]:
    """Nodes are not asked what they hold, except at the start."""
    ask = Simulation._compare
    Simulation._compare = lambda self: [self.held_by(node) for node in range(self.scenario.nodes)]  # type: ignore[method-assign]
    try:
        yield
    finally:
        Simulation._compare = ask  # type: ignore[method-assign]


@contextmanager
def without_progress() -> Iterator[None]:
    """Progress is not judged."""
    checks = analysis.audit.BATCHED_CHECKS  # type: ignore[attr-defined]
    analysis.audit.BATCHED_CHECKS = tuple(one for one in checks if one is not Progress)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        analysis.audit.BATCHED_CHECKS = checks  # type: ignore[attr-defined]


@contextmanager
def without_inspection() -> Iterator[None]:
    """No message is inspected."""
    first, every = driver.INSPECTED_FIRST, driver.INSPECTED_EVERY
    driver.INSPECTED_FIRST, driver.INSPECTED_EVERY = 0, 1 << 60
    try:
        yield
    finally:
        driver.INSPECTED_FIRST, driver.INSPECTED_EVERY = first, every


PARTS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "as it is": nullcontext,
    "without asking what nodes hold": without_conservation,
    "without progress": without_progress,
    "without inspecting messages": without_inspection,
}


def measure(entries: int, rounds: int) -> dict[str, float]:
    """Seconds of each, at best."""
    scenario = testbed_rl.scenario(nodes=30, connectivity=0.2, rate=1.0, entries=entries)
    seconds: dict[str, list[float]] = {name: [] for name in PARTS}
    for _ in range(rounds):
        for name, part in PARTS.items():
            gc.collect()
            with part():
                seconds[name].append(testbed_rl.run(scenario).whole_s)
    return {name: min(times) for name, times in seconds.items()}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts", description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=ENTRIES, help="critical sections (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="how often each is measured (default: %(default)s)")
    arguments = parser.parse_args()
    found = measure(arguments.entries, arguments.rounds)
    whole = found["as it is"]
    for name, seconds in found.items():
        print(f"{name:32} {seconds:7.3f} s  {100 * (whole - seconds) / whole:5.1f} % of the run saved")


if __name__ == "__main__":
    main()
