"""Studies run one thing at a time in real time on a host, whichever processes they are in."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.files import results_in


@contextmanager
def alone_on_this_host() -> Iterator[None]:
    """Wait until no other study of this user runs anything in real time here, and keep others waiting meanwhile."""
    file = Path(tempfile.gettempdir(), f"testbed-real-time-{os.getuid()}.lock")
    with results_in(file):
        lock = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the process ends, however it ends
        yield
    finally:
        os.close(lock)
