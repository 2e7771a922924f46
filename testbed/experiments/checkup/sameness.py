"""The same seed gives the same events, also in another process; and every node does the same again from its log.

An algorithm may pass every check and still do something else each time: it iterates over a set whose order depends on
addresses in memory, reads a clock, draws from `random`, or keeps state where other nodes find it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from itertools import zip_longest
from pathlib import Path

from agents.contract import TICKS
from testbed.checkout import PROJECT
from testbed.errors import TestbedError
from testbed.experiments.checkup.trials import RUN_LIMIT_S, Overdue, within_limit
from testbed.experiments.workers import Failure, spread
from testbed.replay.replayer import NodeReplay, replay
from testbed.runtime.breach import shown
from testbed.scenario.loader import write_scenario
from testbed.scenario.schema import Scenario

REPETITIONS = 2
HASH_SEEDS = ("1", "2")
"""Two processes that keep their sets in different orders."""


def differences(scenarios: Sequence[Scenario]) -> list[str]:
    """What differs when the scenarios are run twice, and when their nodes are replayed; empty if nothing does.

    `Overdue` if that takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="testbed-check-") as folder, ExitStack() as running:
        runs = []
        for number, scenario in enumerate(scenarios):
            runs.append(_Twice(scenario, Path(folder) / str(number)))
            running.callback(runs[-1].close)
        found = [problem for run in runs for problem in run.differences()]
        return found or _replay_all([run.first for run in runs], [scenario.nodes for scenario in scenarios])


class _Twice:
    """A scenario that runs in two processes at the same time, each into a folder of its own."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        folder.mkdir()
        write_scenario(scenario.model_copy(update={"trace": "events", "repeat": REPETITIONS}), folder)
        self._outs = [folder / seed for seed in HASH_SEEDS]
        self._processes = [
            _start(folder / "scenario.yaml", out, seed) for out, seed in zip(self._outs, HASH_SEEDS, strict=True)
        ]

    @property
    def first(self) -> Path:
        """One of the two run directories, which are the same."""
        return _run_in(self._outs[0])

    def differences(self) -> list[str]:
        """A line on what went wrong or differs, if anything."""
        for process in self._processes:
            try:
                _, errors = process.communicate(timeout=RUN_LIMIT_S)
            except subprocess.TimeoutExpired:
                raise Overdue([]) from None
            if process.returncode not in (0, 1, 4):  # 1: a check failed, which is not the question here
                return [errors.strip().rpartition("\n")[2] or f"a run ended with exit code {process.returncode}"]
        runs = [_run_in(out) for out in self._outs]
        for number in range(REPETITIONS):
            logs = [(run / f"rep-{number:03d}/events.jsonl").read_bytes() for run in runs]
            if logs[0] != logs[1]:
                return [f"two runs with the same seed differ: {_first_difference(*logs)}"]
        return []

    def close(self) -> None:
        """End the processes, if they have not ended."""
        for process in self._processes:
            process.kill()
            process.communicate()


def _start(scenario: Path, out: Path, hash_seed: str) -> subprocess.Popen[str]:
    path = os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "testbed.cli", "run", str(scenario), "--out", str(out)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run_in(out: Path) -> Path:
    (run,) = out.iterdir()
    return run


def _first_difference(one: bytes, other: bytes) -> str:
    for line, (a, b) in enumerate(zip_longest(one.splitlines(), other.splitlines(), fillvalue=b""), 1):
        if a != b:
            return f"event {line} is {shown(a.decode())} and {shown(b.decode())}"
    return "one log is longer"


# -- replays ----------------------------------------------------------------------------------------------------------


def _replay_all(runs: Sequence[Path], sizes: Sequence[int]) -> list[str]:
    """Replay every node of every run; a line on the first that does something else."""
    jobs = [
        (run, repetition, node)
        for run, nodes in zip(runs, sizes, strict=True)
        for repetition in range(REPETITIONS)
        for node in range(nodes)
    ]
    progress = within_limit(lambda begun: None, RUN_LIMIT_S)
    with closing(spread(_replay_node, jobs, range(len(jobs)), progress)) as ended:
        for done in ended:
            text = done.result.text if isinstance(done.result, Failure) else done.result
            if text:
                _, _, node = jobs[done.index]
                return [f"a replay of node {node} does something else than the run: {text}"]
    return []


def _replay_node(job: tuple[Path, int, int], report: Callable[[float, str], None]) -> str:
    """What a node does differently when it is replayed; empty if nothing."""
    run, repetition, node = job
    try:
        return _first_step_that_differs(replay(run, node=node, repetition=repetition))
    except TestbedError as error:
        return str(error)


def _first_step_that_differs(done: NodeReplay) -> str:
    for step in done.differences:
        found = step.difference
        now = step.raised if step.raised is not None else None if found is None else found.now
        recorded = None if found is None else found.recorded
        return f"at t={step.given.t / TICKS:g}, {step.given.kind}: {shown(recorded)} was recorded, now {shown(now)}"
    return done.missing or ""
