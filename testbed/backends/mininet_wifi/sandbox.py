"""A sandbox for Mininet-WiFi: namespaces of its own for network, processes and mounts.

Mininet-WiFi starts shells and daemons, and writes files. All of that ends with the sandbox: when its first process
exits, the kernel kills every process in it, destroys the radios that were made in its network, and unmounts its files.
So nothing has to be cleaned up, not even after `kill -9`. Mininet-WiFi's own clean-up is never called: it kills
processes by their names and unloads kernel modules that other programs may be using.

In the sandbox the process has the same process number as outside. Mininet-WiFi puts that number into the names of its
radios, and these names must be unique on the whole machine.
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
"""The working directory in the sandbox, in memory."""
_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS, _NEW_PROCESSES, _NEW_NETWORK = 0x00020000, 0x20000000, 0x40000000
_PRIVATE, _RECURSIVE = 1 << 18, 1 << 14
_LAST_PID = "/proc/sys/kernel/ns_last_pid"


def enter(work: Callable[[], None]) -> NoReturn:
    """Do the work in a new sandbox, and exit with its exit code. The calling process must have only one thread."""
    number = os.getpid()
    _call("unshare", _LIBC.unshare(_NEW_MOUNTS | _NEW_PROCESSES | _NEW_NETWORK))
    first = os.fork()
    if first:
        _close_all_but_output()
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xFF)
    die_with_parent()
    code = 1
    try:
        _mount_all()
        with suppress(
            OSError
        ):  # this kernel does not let us choose the number: two runs at once may use the same names
            Path(_LAST_PID).write_text(str(number - 1))
        worker = os.fork()
        if worker == 0:
            die_with_parent(1)
            work()
        else:
            _close_all_but_output()
            code = _reap_until(worker)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        os._exit(code)


def _mount_all() -> None:
    """Give the sandbox mounts of its own."""
    _mount("none", "/", None, _PRIVATE | _RECURSIVE)
    _mount("proc", "/proc", "proc")
    _mount("run", "/run", "tmpfs")
    _mount("sys", "/sys", "sysfs")  # it shows the radios of the network namespace that mounts it
    _mount("debug", "/sys/kernel/debug", "debugfs")
    WORK.mkdir()
    os.chdir(WORK)


def _reap_until(child: int) -> int:
    """As process 1, wait for all orphans that exit, until the child has exited; returns its exit code."""
    while True:
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status) & 0xFF


def _close_all_but_output() -> None:
    """Close everything in a process that only waits: others see by the end of a stream that a process has exited."""
    os.closerange(3, 1 << 16)


def _mount(what: str, where: str, kind: str | None, flags: int = 0) -> None:
    kind_bytes = kind.encode() if kind else None
    _call(f"mount {where}", _LIBC.mount(what.encode(), where.encode(), kind_bytes, ctypes.c_ulong(flags), None))


def _call(what: str, result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
