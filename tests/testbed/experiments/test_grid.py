"""Repetitions over the cores: the same results as one after the other, and nothing left when it ends."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from agents.rl import ReverseLink
from testbed.errors import TestbedError
from testbed.experiments.grid import Job, measure, spread
from testbed.scenario.schema import loads
from tests.agents.rl_variants import registered
from tests.testbed.network.test_faults import Broken

TEXT = """
name: p
algorithm: rl
nodes: 8
topology: {kind: random, connectivity: 0.4}
workload: {rate: 0.1}
duration: 100
"""


def test_results_are_those_of_single_runs_and_in_order():
    """Whatever core they ran on, and however heavy they were."""
    scenario = loads(TEXT)
    jobs = [Job(scenario, repetition, weight=float(repetition % 3 + 1)) for repetition in range(6)]
    assert spread(jobs, "test") == [measure(scenario, repetition) for repetition in range(6)]


def test_progress_begins_with_nothing_and_never_goes_back():
    """By the weight of what is done."""
    seen: list[float] = []
    spread([Job(loads(TEXT), repetition) for repetition in range(8)], "test", lambda share, what: seen.append(share))
    assert seen[0] == 0.0
    assert seen == sorted(seen)


def test_an_agent_that_raises_ends_it_all():
    """With the agent's own words, and no worker left behind."""
    with registered(Broken), pytest.raises(TestbedError, match="failed in on_request"):
        spread([Job(loads(TEXT), repetition) for repetition in range(4)], "test")
    deadline = time.monotonic() + 10
    while multiprocessing.active_children():
        assert time.monotonic() < deadline, "workers are left"
        time.sleep(0.01)


class Unportable(Exception):
    """Cannot be made again from what it says, as a process would that is sent one."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


class Odd(ReverseLink):
    """Fails where no step of its own is to blame."""

    @property
    def units(self) -> int:
        raise Unportable("this", "that")


def test_an_exception_that_cannot_travel():
    """It is named all the same, and where it was raised; no memory is blamed."""
    with registered(Odd), pytest.raises(TestbedError, match=r"Unportable: this and that \(.*test_parallel.py:\d+\)"):
        spread([Job(loads(TEXT), 0)], "test")


def processes_of(group: int) -> list[int]:
    """The processes of a session, zombies left out."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    fields = stat.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == group and fields[0] != "Z":
                found.append(int(entry))
    return found


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)])
def test_nothing_is_left_behind(signum, code, tmp_path):
    """Ctrl-C, kill and kill -9 of `testbed reproduce` take its workers with it within seconds."""
    command = [sys.executable, "-m", "testbed.cli.main", "reproduce", "rl", "--out", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as running:
        deadline = time.monotonic() + 30
        while len(processes_of(running.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(processes_of(running.pid)) >= 2, "workers have started"
        time.sleep(0.5)
        running.send_signal(signum)
        assert running.wait(timeout=20) == code
        while processes_of(running.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert processes_of(running.pid) == []
