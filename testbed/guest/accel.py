"""KVM where it works, software emulation (TCG) where it does not. Tested once after each start of the host."""

from __future__ import annotations

import os
import time
from typing import Protocol

from testbed.guest import cache
from testbed.guest.layout import HELLO

SILENCE_S = 6.0
"""How long a guest with KVM may take until its first line on the console; it needs less than one second."""


class Booting(Protocol):
    """What `kvm_works` needs of a QEMU that has just been started."""

    def console(self) -> str: ...

    def has_ended(self) -> bool: ...


def may_use_kvm(accel: str) -> bool:
    """Whether to try KVM: it exists, we may use it, and it has not failed since this machine was started."""
    if accel != "auto":
        return accel == "kvm"
    return cache.recall("accel") != "tcg" and os.access("/dev/kvm", os.R_OK | os.W_OK)


def kvm_works(qemu: Booting, within_s: float = SILENCE_S) -> bool:
    """Whether a guest that was started with KVM reaches its first process; the answer goes into the cache.

    A machine may have /dev/kvm, and QEMU may accept it, and the guest may still hang in its first instructions.
    """
    deadline = time.monotonic() + within_s
    works = False
    while not works and time.monotonic() < deadline and not qemu.has_ended():
        time.sleep(0.05)
        works = HELLO in qemu.console()
    cache.remember("accel", "kvm" if works else "tcg")
    return works
