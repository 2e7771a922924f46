"""Two ways to start a process of a run: a new interpreter, or a fork of this process."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from testbed.backends.stations.control import Control
from testbed.checkout import PROJECT
from testbed.processes import die_with_parent


class Process(Protocol):
    """A process that was started."""

    def kill(self) -> None:
        """End it at once, if it has not ended."""

    def wait(self) -> object:
        """Wait until it has ended."""


class Forked:
    """A fork."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until it has ended."""
        os.waitpid(self._pid, 0)


def launch(module: str, control: Control, output: Path, *ours: Control) -> Process:
    """Start a process: by a fork, which has imported everything already, or by `spawn` if this process has threads.

    `ours` are this process's ends of control channels. The new process must not keep them open: neither it nor other
    processes would see the end of the stream when this process ends.
    """
    return (fork if threading.active_count() == 1 else spawn)(module, control, output, *ours)


def spawn(module: str, control: Control, output: Path, *ours: Control) -> Process:
    """A new interpreter that runs a module, given the descriptor of its control channel and no other."""
    path = os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH"))))
    with output.open("ab") as printed:
        return subprocess.Popen(
            [sys.executable, "-m", module, str(control.fileno())],
            pass_fds=(control.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            env={**os.environ, "PYTHONPATH": path},
        )


def fork(module: str, control: Control, output: Path, *ours: Control) -> Process:
    """A fork of this process that runs the module's `main`, and nothing of what this process still has to do."""
    main, parent = importlib.import_module(module).main, os.getpid()
    pid = os.fork()
    if pid:
        return Forked(pid)
    code = 1
    try:
        die_with_parent(parent)
        for end in ours:
            end.close()
        send_output_to(output)
        main(control)
        code = 0
    except BaseException:
        traceback.print_exc()  # the parent sees only that this process has ended
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def send_output_to(path: Path) -> None:
    """From now on, append what this process prints to a file, and let it read nothing."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
