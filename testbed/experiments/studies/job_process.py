"""Job servers (`job_server.py`) as the process that starts them sees them, whatever thread it is in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from threading import Lock
from typing import Any

from testbed.experiments.studies.remote import JOB_SERVER
from testbed.experiments.workers import ending

_POLL_S = 0.2
_EXIT_S = 5.0
_TERMINATION_S = 25.0
"""So long a job server has to end a run in real time before it is killed."""

_STARTER = ThreadPoolExecutor(1, "job-servers")
"""The kernel ends a job server with the thread that started it. This thread lives as long as the process."""


class ServerLost(Exception):
    """A job server ended in the middle of a job. The text says how."""


class NoLongerWanted(Exception):
    """The result of the job is not wanted any more; its server has been ended."""


class JobProcess:
    """One job server. It serves one request at a time."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        command = [sys.executable, "-m", JOB_SERVER, str(theirs.fileno()), str(os.getpid())]

        def start() -> subprocess.Popen[bytes]:
            # What a job prints is no result: it goes to the log of this process.
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=[theirs.fileno()])

        try:
            self._process = _STARTER.submit(start).result()
        except BaseException:
            self._connection.close()
            raise
        finally:
            theirs.close()

    def ask(self, request: dict[str, Any], is_wanted: Callable[[], bool]) -> dict[str, Any]:
        """Have a request answered. `is_wanted` is called now and then; if it says no, the job and the server end."""
        try:
            self._connection.send(request)
            while True:
                while not self._connection.poll(_POLL_S):
                    if not is_wanted():
                        self.close(_TERMINATION_S if request["what"] == "run" else 0.0)
                        raise NoLongerWanted
                received = self._connection.recv()
                if isinstance(received, dict):  # else it is the progress of the job
                    return received
        except (EOFError, OSError):
            code = self._exit_code()
            self.close()
            raise ServerLost(ending(code)) from None

    def _exit_code(self) -> int | None:
        try:
            return self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            return None

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def close(self, patience_s: float = 0.0) -> None:
        """End it. It sees the end of the connection, and has so long to end what it has started."""
        self._connection.close()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class JobProcesses:
    """Job servers that are warm: as many as there have been jobs at a time, each used again for the next job."""

    def __init__(self) -> None:
        self._idle: list[JobProcess] = []
        self._lock = Lock()

    def ask(self, request: dict[str, Any], is_wanted: Callable[[], bool]) -> dict[str, Any]:
        """Have a request answered by one of them, or by a new one. One that is lost is not used again."""
        process = self._take() or JobProcess()
        answer = process.ask(request, is_wanted)
        with self._lock:
            self._idle.append(process)
        return answer

    def _take(self) -> JobProcess | None:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.is_alive:
                    return process
                process.close()
        return None
