"""Removes what a run left that was killed, and nothing else.

Nothing is left where all processes of a run have died: their namespaces are gone, and the radios with them. What can
be left is a radio in a namespace that a surviving process holds. Such radios are known by their names; those of runs
that live are let be.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from testbed.errors import BackendError
from testbed.backends.hwsim import messages
from testbed.backends.hwsim import kernel
from testbed.backends.hwsim import lock
from testbed.backends.hwsim import netlink
from testbed.backends.hwsim.names import run_of_radio
from testbed.backends.hwsim.netlink import attribute, generic


def clean() -> list[str]:
    """Destroy the radios of runs that are dead; their names, and those of the runs whose lock files were left."""
    if os.geteuid() != 0:
        raise BackendError("cleaning up after virtual radios needs root")
    removed = []
    if Path("/sys/module/mac80211_hwsim").exists():
        with kernel.namespace_kept():
            for descriptor in _namespaces():
                try:
                    kernel.enter_namespace(descriptor)
                    removed += _clean_here()
                except OSError:  # it went away meanwhile, or belongs to another user
                    pass
                finally:
                    os.close(descriptor)
    return sorted(set(removed)) + lock.remove_stale()


def leftovers() -> list[str]:
    """The radios that `clean` would destroy."""
    found = []
    with kernel.namespace_kept():
        for descriptor in _namespaces():
            with suppress(OSError):
                kernel.enter_namespace(descriptor)
                with netlink.Socket(netlink.NETLINK_GENERIC) as asking:
                    found += _dead_radios(asking, netlink.family(asking, messages.FAMILY))
            os.close(descriptor)
    return sorted(set(found))


def _clean_here() -> list[str]:
    with netlink.Socket(netlink.NETLINK_GENERIC) as asking:
        family = netlink.family(asking, messages.FAMILY)
        names = _dead_radios(asking, family)
        for name in names:
            with suppress(netlink.NetlinkError):
                asking.ask(family, generic(messages.DEL_RADIO, attribute(messages.RADIO_NAME, name.encode())))
    return names


def _dead_radios(asking: netlink.Socket, family: int) -> list[str]:
    """The names of radios in this namespace that a run of the testbed made which is no more."""
    answers = asking.ask(family, generic(messages.GET_RADIO), flags=netlink.DUMP)
    names = [netlink.attributes_of(body, 4)[messages.RADIO_NAME].rstrip(b"\0").decode() for body in answers]
    return [name for name in names if (run := run_of_radio(name)) is not None and not lock.is_alive(run)]


def _namespaces() -> Iterator[int]:
    """A descriptor of every network namespace that a process is in or holds; the caller closes it."""
    seen: set[int] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            held = [path for path in (process / "fd").iterdir() if os.readlink(path).startswith("net:[")]
            for path in (process / "ns/net", *held):
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                number = os.fstat(descriptor).st_ino
                if number in seen:
                    os.close(descriptor)
                else:
                    seen.add(number)
                    yield descriptor
