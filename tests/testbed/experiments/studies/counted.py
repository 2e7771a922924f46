"""Studies of an algorithm that notes every run of it in a file, so that tests know what was computed and how often.

The file of the algorithm is one of the user's own. What it does besides, it is told by environment variables, which
are no part of a job's name.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.testbed.tiny import command_line, interruptible

ALGORITHM = '''
import os, time
from dataclasses import dataclass
from pathlib import Path
from agents.partition_detection import DetectingParameters
from agents.rl import ReverseLink

@dataclass(frozen=True, slots=True)
class Parameters(DetectingParameters):
    number: int = 0

class Counted(ReverseLink):
    """Notes its number and the process that asked for the run, then does what it is told."""
    parameters = Parameters

    @classmethod
    def initial(cls, graph, parameters):
        note(parameters.number)
        return super().initial(graph, parameters)

def note(number):
    file = os.environ["NOTES"]
    with open(file, "ab", buffering=0) as notes:
        notes.write(f"{number} {os.getppid()}\\n".encode())
    if os.environ.get("HANGS"):
        time.sleep(600)
    if str(number) in os.environ.get("EXITS", "").split():
        os._exit(7)
    while "MEETS" in os.environ and len({line.split()[1] for line in Path(file).read_text().splitlines()}) < 2:
        time.sleep(0.01)
'''


@dataclass
class Counted:
    """A study of so many points, each one critical section long, and the notes of what was computed."""

    folder: Path
    points: int

    def __post_init__(self) -> None:
        (self.folder / "counted.py").write_text(ALGORITHM)
        numbers = ", ".join(map(str, range(self.points)))
        self.study.write_text(
            "scenario:\n"
            "  algorithm: {name: counted, file: counted.py}\n"
            "  nodes: 2\n"
            "  topology: complete\n"
            "  workload: {rate: 1}\n"
            "  entries: 1\n"
            f"vary: {{algorithm.number: [{numbers}]}}\n"
        )
        self.notes.touch()

    @property
    def study(self) -> Path:
        return self.folder / "counted.yaml"

    @property
    def store(self) -> Path:
        return self.folder / "counted.store"

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    def start(self, *options: object, **told: object) -> subprocess.Popen[str]:
        """`testbed sweep` in a session of its own."""
        environment = {**os.environ, "NOTES": str(self.notes), **{key: str(value) for key, value in told.items()}}
        return subprocess.Popen(
            command_line("sweep", self.study, *options),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
            start_new_session=True, preexec_fn=interruptible,
        )  # fmt: skip

    def sweep(self, *options: object, **told: object) -> tuple[int, str, str]:
        """`testbed sweep` to its end: exit code, stdout, stderr."""
        with self.start(*options, **told) as running:
            out, err = running.communicate(timeout=120)
            return running.returncode, out, err

    def status(self) -> dict[str, Any]:
        """What `--status --json` says."""
        code, out, err = self.sweep("--status", "--json")
        assert (code, err) == (0, "")
        document: dict[str, Any] = json.loads(out)
        return document

    def lines(self) -> list[str]:
        """The notes: a point and a process for every run that was begun."""
        return self.notes.read_text().splitlines()

    def computed(self) -> Counter[int]:
        """How often the run of every point was begun."""
        return Counter(int(line.split()[0]) for line in self.lines())

    def computed_by(self, process: int) -> set[int]:
        """Which points a `testbed sweep` has begun."""
        return {int(number) for number, parent in map(str.split, self.lines()) if int(parent) == process}


def wait_until(holds: Callable[[], object], what: str, seconds: float = 60) -> None:
    """Wait for something that is sure to come."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


def kill(running: subprocess.Popen[str], *, whole_group: bool) -> None:
    """`kill -9`, and wait until nothing of it is left."""
    (os.killpg if whole_group else os.kill)(running.pid, signal.SIGKILL)
    running.communicate(timeout=60)
    wait_until(lambda: not group_of(running.pid), "workers are left")


def group_of(leader: int) -> list[int]:
    """The processes of a group, zombies left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found
