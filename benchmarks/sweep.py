"""What a store and its workers cost a study: `python -m benchmarks.sweep [--json] [--quick] [--rounds N]`.

Two questions, each answered against something bare in the same run, in turn, several rounds:

- The overhead of a point: a study of points of one critical section each, on one core, against a loop over the same
  repetitions in one process; and against `testbed run` of such a point, which is a process for every point.
- The gain of two cores: a study of equal points on one core and on two, against the loop in one process and in two
  processes that share the points.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from analysis.store import Store
from testbed.experiments.measure import measure
from testbed.experiments.studies.study import Study
from testbed.experiments.studies.sweep import Sweep
from testbed.scenario.schema import Scenario
from testbed.scenario.yaml_reader import Document, parse

POINTS = 200
ROUNDS = 9
COMMANDS = 3
"""How often a round runs `testbed run`."""
GOAL_MS, GOAL_SHARE = 15.0, 0.9
SHORT = "{name: short, algorithm: rl, nodes: 3, topology: complete, workload: {rate: 1}, entries: 1}"
LONG = "{name: long, algorithm: rl, nodes: 20, topology: complete, workload: {rate: 1}, entries: 300}"
_CONTEXT = multiprocessing.get_context("fork")


def study_of(scenario: str, points: int) -> Study:
    """A study of equal points: only their seeds differ."""
    base: Document = parse(scenario, "benchmark")
    return Study("benchmark", base, base, grid={"seed": list(range(points))})


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """This process and its children may use so many cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def times_of(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds that work takes, and seconds of processor time of this process and of its children that have ended."""
    began, cpu = time.perf_counter(), _cpu()
    work()
    return time.perf_counter() - began, _cpu() - cpu


def _cpu() -> float:
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, whose))


def loop(scenarios: Sequence[Scenario]) -> None:
    """The repetitions one after the other, and nothing else."""
    for scenario in scenarios:
        measure(scenario, 0)


def loops(scenarios: Sequence[Scenario], processes: int) -> None:
    """The same in several processes, each with its part of the points."""
    running = [_CONTEXT.Process(target=loop, args=(scenarios[number::processes],)) for number in range(processes)]
    for process in running:
        process.start()
    for process in running:
        process.join()
        assert process.exitcode == 0


def sweep(scenario: str, points: int) -> None:
    """The study, from its beginning, into a new store."""
    study = study_of(scenario, points)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder, "store")) as store:
        Sweep(study, store).run(lambda share, words: None)
        assert not Sweep(study, store).missing()


def command() -> None:
    """One point by a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "short.yaml")
        file.write_text(SHORT)
        line = [sys.executable, "-m", "testbed.cli", "run", str(file), "--out", folder]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)


def overhead(points: int, rounds: int) -> dict[str, float]:
    """Milliseconds of a short point in a loop, in a sweep, and as a command: the least, for other work adds to them."""
    scenarios = [point.scenario for point in study_of(SHORT, points).points]
    loop(scenarios[:10])
    found: dict[str, list[tuple[float, float]]] = {"loop": [], "sweep": [], "run": []}
    with on_cores(1):
        for number in range(rounds):
            _say(f"overhead, round {number + 1} of {rounds}")
            found["loop"].append(_each(times_of(lambda: loops(scenarios, 1)), points))
            found["sweep"].append(_each(times_of(lambda: sweep(SHORT, points)), points))
            found["run"] += [_each(times_of(command), 1) for _ in range(COMMANDS)]
    wall = {f"{name}_ms": min(one[0] for one in times) for name, times in found.items()}
    cpu = {f"{name}_cpu_ms": min(one[1] for one in times) for name, times in found.items()}
    differences = {"overhead_ms": wall["sweep_ms"] - wall["loop_ms"],
                   "overhead_cpu_ms": cpu["sweep_cpu_ms"] - cpu["loop_cpu_ms"]}  # fmt: skip
    return {**wall, **cpu, **differences, "ratio_run": wall["run_ms"] / wall["sweep_ms"]}


def _each(times: tuple[float, float], points: int) -> tuple[float, float]:
    return 1e3 * times[0] / points, 1e3 * times[1] / points


def gain(points: int, rounds: int) -> dict[str, float]:
    """How much faster two cores are than one, bare and in a sweep, by the least times of all rounds."""
    scenarios = [point.scenario for point in study_of(LONG, points).points]
    found: dict[tuple[str, int], list[float]] = {(what, cores): [] for what in ("loop", "sweep") for cores in (1, 2)}
    for number in range(rounds):
        _say(f"two cores, round {number + 1} of {rounds}")
        for cores in (1, 2):
            with on_cores(cores):
                found["loop", cores].append(times_of(partial(loops, scenarios, cores))[0])
                found["sweep", cores].append(times_of(partial(sweep, LONG, points))[0])
    least = {which: min(seconds) for which, seconds in found.items()}
    bare, swept = (least[what, 1] / least[what, 2] for what in ("loop", "sweep"))
    return {"bare_gain": bare, "sweep_gain": swept, "share": swept / bare, "point_ms": 1e3 * least["loop", 1] / points}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def text_of(found: dict[str, Any]) -> str:
    """The results as lines."""
    one, two = found["overhead"], found["gain"]
    lines = [
        f"a point of one critical section: {one['loop_ms']:.2f} ms in a loop, {one['sweep_ms']:.2f} ms in a sweep, "
        f"{one['run_ms']:.0f} ms by `testbed run`",
        f"overhead: {one['overhead_ms']:.2f} ms, {one['overhead_cpu_ms']:.2f} ms of processor time "
        f"(goal: at most {GOAL_MS:g} ms)",
    ]
    if two is None:
        return "\n".join([*lines, "two cores: not measured, for this machine has one"])
    lines.append(
        f"two cores, points of {two['point_ms']:.0f} ms: {two['bare_gain']:.2f} times as fast bare, "
        f"{two['sweep_gain']:.2f} times in a sweep: {two['share']:.2f} of it (goal: at least {GOAL_SHARE:g})"
    )
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--quick", action="store_true", help="few points and one round: the numbers mean little")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is measured (default: %(default)s)")
    arguments = parser.parse_args()
    points, rounds = (8, 1) if arguments.quick else (POINTS, arguments.rounds)
    has_two = len(os.sched_getaffinity(0)) > 1
    found = {"points": points, "overhead": overhead(points, rounds), "gain": gain(points, rounds) if has_two else None}
    print(json.dumps(found, indent=1) if arguments.json else text_of(found))


if __name__ == "__main__":
    main()
