"""A study whose points wait until the test lets them run, and `testbed sweep --live` of it as a process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.testbed.experiments.studies.counted import wait_until
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

class Gated(ReverseLink):
    """Waits until its number is below the one that a file has; 3 and 4 are unsafe, and 5 kills its process."""
    parameters = Parameters

    @classmethod
    def initial(cls, graph, parameters):
        while int(Path(os.environ["GATE"]).read_text()) <= parameters.number:
            time.sleep(0.01)
        if parameters.number == 5:
            os._exit(7)
        return super().initial(graph, parameters)

    @classmethod
    def start(cls, node, initial, parameters, rng):
        started = super().start(node, initial, parameters, rng)
        started.is_unsafe = parameters.number in (3, 4)
        return started

    def on_request(self, demand):
        if self.is_unsafe:
            self.enter()
        else:
            super().on_request(demand)

    def on_release(self):
        if not self.is_unsafe:
            super().on_release()
'''
NAME = "<img src=http://example.org/x onerror=alert(1)>"
STUDY = f"""\
name: {json.dumps(NAME)}
scenario:
  algorithm: {{name: gated, file: gated.py}}
  nodes: 4
  topology: complete
  workload: {{rate: 1, cs_time: 1}}
  duration: 30
vary: {{algorithm.number: [NUMBERS], workload.rate: [0.5, 2]}}
repeat: 2
"""
UNSAFE, FATAL = (3, 4), 5
PER_NUMBER = 4
"""Runs of one number: two rates, twice."""
_ADDRESS = re.compile(r"^testbed: live: (http://\S+) ", re.MULTILINE)


@dataclass
class Gated:
    """The study, with so many numbers; those below `allow` run."""

    folder: Path
    numbers: int

    def __post_init__(self) -> None:
        (self.folder / "gated.py").write_text(ALGORITHM)
        self.study.write_text(STUDY.replace("NUMBERS", ", ".join(map(str, range(self.numbers)))))
        self.allow(0)

    @property
    def study(self) -> Path:
        return self.folder / "gated.yaml"

    @property
    def store(self) -> Path:
        return self.folder / "gated.store"

    @property
    def runs(self) -> int:
        return PER_NUMBER * self.numbers

    def allow(self, numbers: int) -> None:
        """Let the points with smaller numbers run."""
        partial = self.folder / "gate.partial"
        partial.write_text(str(numbers))
        partial.replace(self.folder / "gate")

    @contextmanager
    def sweep(self, *options: object) -> Iterator[Swept]:
        """`testbed sweep --live` in a session of its own; what is left of it at the end is ended."""
        with (self.folder / "stderr").open("w") as stderr:
            process = subprocess.Popen(
                command_line("sweep", self.study, "--live", *options),
                stdout=subprocess.PIPE, stderr=stderr, text=True, env={**os.environ, "GATE": str(self.folder / "gate")},
                start_new_session=True, preexec_fn=interruptible,
            )  # fmt: skip
        try:
            yield Swept(process, self.folder / "stderr")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@dataclass
class Swept:
    """A sweep that runs."""

    process: subprocess.Popen[str]
    stderr: Path

    @property
    def address(self) -> str:
        """Where it is served, as it says."""
        wait_until(lambda: _ADDRESS.search(self.stderr.read_text()) or self.process.poll() is not None, "no address")
        found: Any = _ADDRESS.search(self.stderr.read_text())
        assert found, self.stderr.read_text()
        return str(found[1])

    def end(self) -> tuple[int, str, str]:
        """Wait for its end: exit code, stdout, stderr."""
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, out, self.stderr.read_text()
