"""Starts QEMU, with KVM or with software emulation (TCG), so that it ends when this process does."""

from __future__ import annotations

import os
import socket
import subprocess
from functools import partial
from pathlib import Path
from typing import BinaryIO

from testbed.guest.images import Images
from testbed.guest.layout import PORT
from testbed.guest.needs import tool
from testbed.processes import die_with_parent

KERNEL_ARGUMENTS = (
    "console=ttyS0 quiet panic=-1 "  # a kernel that panics ends QEMU, by -no-reboot
    "tsc=reliable no_timer_check "  # the only clock that is cheap to read without KVM
    "mitigations=off rodata=off audit=0 apparmor=0 nowatchdog cryptomgr.notests random.trust_cpu=on"
)


class Qemu:
    """A running QEMU. Its console goes to a file without a name, the guest's port and QEMU's monitor to sockets."""

    def __init__(self, images: Images, project: BinaryIO, *more: str, accel: str, cpus: int, memory_mb: int) -> None:
        self.port, port = socket.socketpair()
        self.monitor, monitor = socket.socketpair()
        self._console = os.fdopen(os.memfd_create("console"), "w+b")
        with port, monitor:
            theirs = {"project": project.fileno(), "port": port.fileno(), "monitor": monitor.fileno()}
            self._process = subprocess.Popen(
                [*command_line(images, **theirs, accel=accel, cpus=cpus, memory_mb=memory_mb), *more],
                stdin=subprocess.DEVNULL,
                stdout=self._console,
                stderr=self._console,
                pass_fds=tuple(theirs.values()),
                start_new_session=True,  # Ctrl-C goes to this process only, which then ends the guest
                preexec_fn=partial(die_with_parent, os.getpid()),
            )

    def console(self) -> str:
        """What the kernel, the first process and QEMU itself have printed."""
        size = os.fstat(self._console.fileno()).st_size
        return os.pread(self._console.fileno(), size, 0).decode(errors="replace")

    def last_output(self) -> str:
        """The last lines of the console, as one line."""
        lines = [line.strip() for line in self.console().splitlines() if line.strip()]
        return f"its console says: {' / '.join(lines[-3:])}" if lines else "its console is empty"

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """End it at once: the guest has no disk whose data it would have to write."""
        self._process.kill()
        self._process.wait()
        for file in (self.port, self.monitor, self._console):
            file.close()


def command_line(
    images: Images, *, project: int, port: int, monitor: int, accel: str, cpus: int, memory_mb: int
) -> list[str | Path]:
    """QEMU's arguments; `project`, `port` and `monitor` are descriptors that it inherits."""
    return [
        tool("qemu-system-x86_64"),
        "-machine", "q35", "-accel", "kvm" if accel == "kvm" else "tcg,thread=multi", "-cpu", "max",
        "-smp", str(cpus), "-m", str(memory_mb),
        "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
        "-kernel", images.kernel, "-initrd", images.initramfs, "-append", KERNEL_ARGUMENTS,
        "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
        "-drive", f"if=none,id=root,format=raw,readonly=on,file={_escaped(images.root)}",
        "-device", "virtio-blk-pci,drive=root",
        # The archive has no name, so no other process can open it, and it needs no lock.
        "-drive", f"if=none,id=project,format=raw,readonly=on,file.locking=off,file=/proc/self/fd/{project}",
        "-device", "virtio-blk-pci,drive=project",
        "-device", "virtio-serial-pci",
        "-chardev", f"socket,id=control,fd={port}", "-device", f"virtserialport,chardev=control,name={PORT}",
        "-chardev", f"socket,id=monitor,fd={monitor}", "-mon", "chardev=monitor,mode=control",
    ]  # fmt: skip


def _escaped(path: Path) -> str:
    return str(path).replace(",", ",,")
