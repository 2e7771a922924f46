"""A cage for Mininet-WiFi: namespaces of its own for networks, processes and mounts.

It starts shells and daemons and writes files wherever it is. In the cage all of that goes with the cage: when its first
process dies, the kernel kills everything in it, destroys the radios that were made in its network, and unmounts its
files. So nothing has to be cleaned up, not even after `kill -9`; and Mininet-WiFi's own cleaning up, which kills
processes by their names and unloads kernel modules whoever uses them, is never called.

In the cage the process has the number that it would have outside: Mininet-WiFi names radios by it, and these names are
the whole machine's.
"""

from __future__ import annotations

import ctypes
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from testbed.processes import die_with_parent

WORK = Path("/run/mininet-wifi")
"""Where it works, in the cage: in memory."""
_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS, _NEW_PROCESSES, _NEW_NETWORK = 0x00020000, 0x20000000, 0x40000000
_PRIVATE, _RECURSIVE = 1 << 18, 1 << 14
_LAST_PID = "/proc/sys/kernel/ns_last_pid"


def enter(live: Callable[[], None]) -> NoReturn:
    """Go into a new cage and live there; ends with whatever happens in it. The calling process must have one thread."""
    number = os.getpid()
    _call("unshare", _LIBC.unshare(_NEW_MOUNTS | _NEW_PROCESSES | _NEW_NETWORK))
    first = os.fork()
    if first:
        _close_all_but_output()
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xFF)
    die_with_parent()
    code = 1
    try:
        _furnish()
        with suppress(OSError):  # a kernel that does not let us choose: two runs at a time may get in each other's way
            Path(_LAST_PID).write_text(str(number - 1))
        lives = os.fork()
        if lives == 0:
            die_with_parent(1)
            live()
        else:
            _close_all_but_output()
            code = _reap_until(lives)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        os._exit(code)


def _furnish() -> None:
    """Mounts that are nobody else's."""
    _mount("none", "/", None, _PRIVATE | _RECURSIVE)
    _mount("proc", "/proc", "proc")
    _mount("run", "/run", "tmpfs")
    _mount("sys", "/sys", "sysfs")  # which shows the radios of the network that it was mounted in
    _mount("debug", "/sys/kernel/debug", "debugfs")
    WORK.mkdir()
    os.chdir(WORK)


def _reap_until(child: int) -> int:
    """As the first process, bury all orphans, until the one that counts has ended."""
    while True:
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status) & 0xFF


def _close_all_but_output() -> None:
    """Who only waits keeps nothing open: others see by the end of a stream that a process is gone."""
    os.closerange(3, 1 << 16)


def _mount(what: str, where: str, kind: str | None, flags: int = 0) -> None:
    kind_bytes = kind.encode() if kind else None
    _call(f"mount {where}", _LIBC.mount(what.encode(), where.encode(), kind_bytes, ctypes.c_ulong(flags), None))


def _call(what: str, result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
