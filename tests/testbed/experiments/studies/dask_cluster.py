"""A Dask cluster of real processes for tests, started as docs/studies.md says, and the processes that belong to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from tests.testbed.tiny import interruptible

MARK = "TESTBED_TEST_CLUSTER"
DASK = str(Path(sys.executable).parent / "dask")


class DaskCluster:
    """A scheduler and workers. All of their processes, and those that these start, have a mark in the environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.workers: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        self.scheduler = self._start("scheduler", options, folder, {})
        until(lambda: file.exists() and file.read_text().endswith("}"), "no scheduler")
        self.address: str = json.loads(file.read_text())["address"]

    def worker(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker in a folder of its own."""
        place = self.folder / f"worker-{len(self.workers)}"
        place.mkdir()
        more = ["--nthreads", "1", "--no-dashboard", "--no-nanny", "--memory-limit", "0"]
        self.workers.append(self._start("worker", [self.address, *more, *options], place, environment))
        log = place / "log"
        until(lambda: "Registered to" in log.read_text(), lambda: f"no worker: {log.read_text()}")
        return self.workers[-1]

    def _start(
        self, command: str, options: list[str], place: Path, environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        (place / "scratch").mkdir(exist_ok=True)
        environment = {**os.environ, MARK: self.mark, "DASK_TEMPORARY_DIRECTORY": str(place / "scratch"), **environment}
        with (place / "log").open("wb") as log:
            line = [DASK, command, *options]
            return subprocess.Popen(line, cwd=place, env=environment, stdout=log, stderr=log, preexec_fn=interruptible)

    def close(self) -> None:
        """End all: workers first, as one does by hand. Nothing may be left of them."""
        for one in [*self.workers, self.scheduler]:
            one.terminate()
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()
        until(lambda: not marked(self.mark), lambda: f"left: {[words(one) for one in marked(self.mark)]}")

    def job_servers(self) -> list[int]:
        """The processes in which jobs run."""
        return [one for one in marked(self.mark) if "job_server" in words(one)]

    def scratch(self) -> list[Path]:
        """What there is in the folders of workers, besides Dask's locks."""
        return [path for path in self.folder.glob("worker-*/scratch/*/*") if path.suffix != ".lock"]


def until(is_so: Callable[[], bool], otherwise: str | Callable[[], str], seconds: float = 60.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, otherwise if isinstance(otherwise, str) else otherwise()
        time.sleep(0.05)


def marked(mark: str) -> list[int]:
    """The processes with a mark in their environment, without those that have ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def words(process: int) -> str:
    """The command line of a process."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
