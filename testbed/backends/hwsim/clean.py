"""Removes what a killed run has left, and nothing else.

When all processes of a run have exited, their namespaces are gone, and the radios with them. A radio can be left only
in a namespace that a surviving process holds. Such radios are recognised by their names; those of runs that go on are
not touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from testbed.backends.hwsim import kernel, lock, messages, netlink
from testbed.backends.hwsim.control_plane import ControlError
from testbed.backends.hwsim.names import run_of_radio
from testbed.backends.hwsim.netlink import attribute, generic
from testbed.errors import BackendError


def clean() -> list[str]:
    """Destroy the radios of runs that have ended; returns their names, and those of runs whose lock files were left."""
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
                    found += _stale_radios(asking, netlink.family(asking, messages.FAMILY))
            os.close(descriptor)
    return sorted(set(found))


def _clean_here() -> list[str]:
    with netlink.Socket(netlink.NETLINK_GENERIC) as asking:
        family = netlink.family(asking, messages.FAMILY)
        names = _stale_radios(asking, family)
        for name in names:
            with suppress(ControlError):
                asking.ask(family, generic(messages.DEL_RADIO, attribute(messages.RADIO_NAME, name.encode())))
    return names


def _stale_radios(asking: netlink.Socket, family: int) -> list[str]:
    """The names of radios in this namespace that a run of the testbed made and that has ended."""
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
