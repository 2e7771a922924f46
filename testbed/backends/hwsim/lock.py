"""Which runs go on: each holds a lock on a file of its own, which the kernel releases when the run ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from testbed.errors import BackendError

FOLDER = Path("/run/testbed")
_SUFFIX = ".hwsim"
_held: set[Path] = set()
"""Locks of this process, which must not be tested by opening the file: closing any descriptor of it releases them."""


class Lock:
    """The lock of a run, held by the process that took it and not by its forks (`lockf`, not `flock`)."""

    def __init__(self, run: str, folder: Path | None = None) -> None:
        self.run = run
        self._path = (folder or FOLDER) / (run + _SUFFIX)
        self._descriptor = -1

    def take(self) -> None:
        """Take the lock; refused if a run of that name goes on."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if is_alive(self.run, self._path.parent):
            raise BackendError(f"a run called {self.run} is under way ({self._path} is locked)")
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _held.add(self._path)
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Release the lock and remove the file."""
        if self._descriptor >= 0:
            self._path.unlink(missing_ok=True)
            _held.discard(self._path)
            self.forget()

    def forget(self) -> None:
        """Close the descriptor: in a forked process, which never had the lock, this leaves the lock alone."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def is_alive(run: str, folder: Path | None = None) -> bool:
    """Whether a process holds a run's lock."""
    path = (folder or FOLDER) / (run + _SUFFIX)
    if path in _held:
        return True
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def remove_stale(folder: Path | None = None) -> list[str]:
    """Remove the files of runs that have ended; returns their names."""
    stale = []
    for path in sorted((folder or FOLDER).glob("*" + _SUFFIX)):
        run = path.name.removesuffix(_SUFFIX)
        if not is_alive(run, folder):
            path.unlink(missing_ok=True)
            stale.append(run)
    return stale
