"""Processes that end when the one that started them does, however that ends."""

from __future__ import annotations

import ctypes
import os
import signal

_LIBC = ctypes.CDLL(None)  # looked up here, not between a fork and what follows it
_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when the thread that started it ends.

    A parent that died before this call is noticed only if it is named. Whoever does not name it has another way to see
    that it is gone, such as the end of a stream. To look for a parent with the number 1 will not do: in a container
    that may be the living one.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os._exit(1)
