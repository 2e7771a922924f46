"""babeld beside a station: in its namespace, started before it and killed with it. Nothing is left behind.

It keeps no file: its configuration is its command line, it writes no process number, and it has nowhere to keep its
state, in place of which it takes a new identity whenever it starts.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

from testbed.errors import BackendError
from testbed.guest.needs import find
from testbed.backends.hwsim import netlink
from testbed.backends.hwsim.fleet import INTERFACE
from testbed.backends.hwsim.names import network
from testbed.processes import die_with_parent

_NOWHERE = "/proc/self/no-state"  # it deletes its state file at the start, so this must be none that exists
_RTM_DELROUTE, _RTM_GETROUTE, _BABEL = 25, 26, 42
_ROUTE = struct.Struct("=BBBBBBBBI")
_PROTOCOL_AT = 5
_LEAST_S = 0.05


def program() -> str:
    """Where babeld is, or a `BackendError`."""
    found = find("babeld")
    if found is None:
        raise BackendError("routing babel needs babeld, which is not installed: `apt-get install babeld` (as root)")
    return found


def start(hello_s: float) -> subprocess.Popen[bytes]:
    """Start it in the namespace of the calling process. They die together: neither is any use without the other."""
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
    """Take out of the kernel the routes that an earlier life's babeld, which was killed, has left in it: how many."""
    with netlink.Socket(netlink.NETLINK_ROUTE) as asking:
        routes = asking.ask(_RTM_GETROUTE, _ROUTE.pack(socket.AF_INET, *(0,) * 8), netlink.DUMP)
        old = [(_RTM_DELROUTE, 0, route) for route in routes if route[_PROTOCOL_AT] == _BABEL]
        if old:
            asking.tell(old)
        return len(old)
