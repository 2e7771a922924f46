"""Processes that this process starts: where their programs are, and how they are killed when it ends."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys

_LIBC = ctypes.CDLL(None)  # loaded here, because a process that has just been forked should not load libraries
_PR_SET_PDEATHSIG = 1
SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin")

last_words_fd = 2
"""Where a library that ends this process writes why, in one line: stderr, or what the parent process reads later."""


def die_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when the thread that started it ends.

    A parent that ended before this call is noticed only if it is named. A caller that does not name it must have
    another way to see that the parent has ended, such as the end of a stream. Checking for a parent with process number
    1 is not enough: in a container, process 1 may be the parent itself.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def find_program(program: str) -> str | None:
    """Where a program is. A user's PATH often lacks Debian's folders for system programs, and that of our Python."""
    path = os.environ.get("PATH", os.defpath)
    return shutil.which(program, path=os.pathsep.join((path, *SYSTEM_PATHS, os.path.dirname(sys.executable))))
