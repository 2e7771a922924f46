"""babeld beside a station: in its namespace, started before it and killed with it. It leaves nothing behind.

It keeps no file: its configuration is its command line, it writes no process number, and it has nowhere to keep its
state, in place of which it takes a new identity whenever it starts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from testbed.backends.hwsim.control_plane import BABEL_ROUTES, open_control
from testbed.backends.hwsim.fleet import INTERFACE
from testbed.backends.hwsim.names import network
from testbed.errors import BackendError
from testbed.processes import die_with_parent, find_program

_NOWHERE = "/proc/self/no-state"  # it deletes its state file at the start, so this must be none that exists
_LEAST_S = 0.05


def program() -> str:
    """Where babeld is, or a `BackendError`."""
    found = find_program("babeld")
    if found is None:
        raise BackendError("routing babel needs babeld, which is not installed: `apt-get install babeld` (as root)")
    return found


def start(hello_s: float) -> subprocess.Popen[bytes]:
    """Start it in the namespace of the calling process. They end together: neither is of use without the other."""
    forget_routes()
    parent = os.getpid()
    hello_s = max(_LEAST_S, hello_s)
    interface = f"interface {INTERFACE} type wireless hello-interval {hello_s:.2f} update-interval {4 * hello_s:.2f}"
    started = subprocess.Popen(
        [program(), "-I", "", "-S", _NOWHERE, "-r", "-C", interface, "-C", f"redistribute local ip {network()}",
         "-C", "redistribute local deny", INTERFACE],
        cwd=Path("/"),
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: die_with_parent(parent),
    )  # fmt: skip
    signal.signal(signal.SIGCHLD, lambda *_: _end_without(started))
    return started


def _end_without(started: subprocess.Popen[bytes]) -> None:
    if started.poll() is not None:
        print(f"babeld has ended with exit code {started.returncode}", file=sys.stderr, flush=True)
        os._exit(1)


def forget_routes() -> int:
    """Take out of the kernel the routes that a killed babeld of an earlier incarnation has left: how many."""
    with closing(open_control()) as control:
        return control.remove_routes(BABEL_ROUTES)
