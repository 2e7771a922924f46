"""What a guest needs for Mininet-WiFi: the host's own is copied, with all that it imports and calls."""

from __future__ import annotations

import atexit
import sys
from functools import cache
from pathlib import Path

from testbed.backends.in_guest import announce
from testbed.backends.mininet_wifi.hwsim_mgmt import NAME, stand_in
from testbed.backends.mininet_wifi.installation import MODULES, PROGRAMS, load
from testbed.guest.host import Guest
from testbed.guest.layout import PROJECT
from testbed.guest.rootfs import Extra

_OPTIONAL = ("wmediumd", "batctl", "babeld", "ethtool")
"""Programs that are copied if the host has them."""


def extra() -> Extra:
    """For `Guest`; `BackendError` if the host lacks something."""
    there = load()
    return Extra(
        distributions=tuple(MODULES.values()),
        programs=(*(program for program in PROGRAMS if program != "modprobe"), *_OPTIONAL),
        folders=(there.mn_wifi, there.mininet),
        scripts=((NAME, stand_in(PROJECT, str(Path(sys.executable).resolve()))),),
    )


@cache
def shared_guest() -> Guest:
    """One guest for all runs of this process."""
    guest = Guest(extra=extra(), memory_mb=1536)
    atexit.register(guest.close)
    announce(guest)
    return guest
