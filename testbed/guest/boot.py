"""From images to a guest whose first process answers: with KVM, from a snapshot, or by a whole boot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from testbed.errors import BackendError
from testbed.guest.accel import kvm_works, may_use_kvm
from testbed.guest.connection import Connection
from testbed.guest.images import Images
from testbed.guest.qemu import Qemu
from testbed.guest.snapshot import find_snapshot, restore_arguments, save_snapshot, snapshot_key

_BOOT_TIMEOUT_S = 180.0
_RESTORE_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Booted:
    """A QEMU whose guest answers."""

    qemu: Qemu
    connection: Connection
    accel: str
    is_restored: bool


def boot(images: Images, project: BinaryIO, *, cpus: int, memory_mb: int, accel: str, snapshot: bool) -> Booted:
    """Start a guest and wait until its first process is ready."""

    def start(accel: str, *more: str) -> Qemu:
        return Qemu(images, project, *more, accel=accel, cpus=cpus, memory_mb=memory_mb)

    if may_use_kvm(accel):
        qemu = start("kvm")
        with _killed_on_error(qemu):
            if kvm_works(qemu):
                return Booted(qemu, _ready(qemu), "kvm", False)
            reason = qemu.last_output()
        qemu.kill()
        if accel == "kvm":
            raise BackendError(f"KVM does not work here: the guest does not start; {reason}")
    key = snapshot_key(images, project, cpus=cpus, memory_mb=memory_mb) if snapshot else None
    known = find_snapshot(key) if key else None
    if known is not None:
        qemu = start("tcg", *restore_arguments(known))
        with _killed_on_error(qemu):
            connection = Connection(qemu)
            if _answers(connection):
                return Booted(qemu, connection, "tcg", True)
        qemu.kill()
        known.unlink(missing_ok=True)  # it cannot be restored
    qemu = start("tcg")
    with _killed_on_error(qemu):
        connection = _ready(qemu)
        if key:
            connection.ask(do="warm")
            save_snapshot(key, qemu.monitor)
        return Booted(qemu, connection, "tcg", False)


@contextmanager
def _killed_on_error(qemu: Qemu) -> Iterator[None]:
    try:
        yield
    except BaseException:
        qemu.kill()
        raise


def _ready(qemu: Qemu) -> Connection:
    """Wait until the guest's first process says that it is ready."""
    connection = Connection(qemu)
    connection.answer(within_s=_BOOT_TIMEOUT_S)
    return connection


def _answers(connection: Connection) -> bool:
    """Whether a restored guest answers."""
    try:
        connection.ask(do="warm", within_s=_RESTORE_TIMEOUT_S)
    except BackendError:
        return False
    return True
