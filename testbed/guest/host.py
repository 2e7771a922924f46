"""A guest as the host sees it: boot it, run commands in it, send files in and bring them back.

    with Guest() as guest:
        code = guest.run(["testbed", "run", "s.yaml", "--out", "/tmp/runs"], send={"/tmp/s.yaml": Path("s.yaml")},
                         bring=[("/tmp/runs", Path("runs"))])

A guest belongs to the thread that made it: QEMU is killed when that thread ends.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Self

from testbed.errors import BackendError, TestbedError
from testbed.guest.boot import boot
from testbed.guest.images import prepare
from testbed.guest.interrupts import noted_interrupts
from testbed.guest.layout import PROJECT, WORK
from testbed.guest.project import ROOT, project_archive
from testbed.guest.protocol import CHUNK, ERR, IN, MESSAGE, OUT, frame, message
from testbed.guest.rootfs import Extra

Sink = Callable[[bytes], object]
"""Takes what a command prints, piece by piece as it comes."""
_GRACE_S = 10.0
"""How long a command may take to end after a signal, and after that the guest to kill it."""


class GuestTimeout(TestbedError):
    """A command took too long; 124 is what timeout(1) makes of that."""

    exit_code = 124


class Guest:
    """A booted guest; a context manager whose exit ends it.

    `snapshot`: without KVM, start from the saved state of an earlier guest with the same code; if there is none, save
    one. `is_restored` says whether there was one, `boot_s` how long it took until the guest was ready. `extra`: more
    programs and packages for the guest.
    """

    def __init__(
        self,
        *,
        cpus: int = 2,
        memory_mb: int = 1024,
        accel: str = "auto",
        snapshot: bool = True,
        extra: Extra | None = None,
    ) -> None:
        images = prepare(extra=extra)
        began = time.monotonic()
        with project_archive() as project:
            booted = boot(images, project, cpus=cpus, memory_mb=memory_mb, accel=accel, snapshot=snapshot)
        self._qemu, self._connection = booted.qemu, booted.connection
        self.accel, self.is_restored = booted.accel, booted.is_restored
        try:
            self._set_clock_and_seed()
            self._send_scenarios()
        except BaseException:
            self.close()
            raise
        self.boot_s = time.monotonic() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the guest."""
        self._qemu.kill()

    @property
    def pid(self) -> int:
        """QEMU's process."""
        return self._qemu.pid

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        stdout: Sink | None = None,
        stderr: Sink | None = None,
        stdin: int | None = None,
        send: Mapping[str, Path] | None = None,
        bring: Iterable[tuple[str, Path]] = (),
    ) -> int:
        """Run a command as root; returns its exit code (128 + the number of the signal that ended it).

        `send` maps paths in the guest to files or folders of the host, which are copied there first. `bring` names
        folders of the guest whose contents are copied into folders of the host afterwards, also if the command failed,
        took longer than `timeout_s` or was interrupted; a folder that does not exist is an error only if the command
        succeeded. Relative paths in the guest are below /tmp, where commands run unless `cwd` says otherwise. `stdin`:
        a descriptor of this process from which the command reads.
        """
        if not argv:
            raise ValueError("no command")
        if send:
            self.send(send)
        sinks = {OUT: stdout or _to(sys.stdout), ERR: stderr or _to(sys.stderr)}
        with noted_interrupts() as noted:
            self._connection.say(
                message(do="run", argv=list(argv), cwd=cwd, env=dict(env or {}), reads=stdin is not None)
            )
            code = self._follow(sinks, noted, timeout_s, stdin)
            for path, folder in bring:
                self.bring(path, folder, must_exist=code == 0)
        if noted:
            signal.raise_signal(noted[0])  # only now, after the results have been brought back
        if code is None:
            raise GuestTimeout(f"{argv[0]}: took longer than {timeout_s:g} s in the guest and was ended")
        return code

    def send(self, files: Mapping[str, Path | bytes]) -> None:
        """Copy files and folders of the host, or the bytes of a file, into the guest; the keys are the paths there."""
        self._connection.put({str(PurePosixPath(WORK, path)): source for path, source in files.items()})

    def bring(self, path: str, folder: Path, *, must_exist: bool = True) -> None:
        """Copy the contents of a folder of the guest, or a single file, into a folder of the host."""
        self._connection.get(str(PurePosixPath(WORK, path)), folder, must_exist=must_exist)

    def _set_clock_and_seed(self) -> None:
        """A restored guest has the clock of its snapshot, and would draw the same random numbers as others from it."""
        self._connection.ask(do="begin", time=time.time(), seed=os.urandom(32).hex())

    def _send_scenarios(self) -> None:
        """Send them apart from the code, so that a snapshot stays valid if a scenario is edited."""
        folder = ROOT / "scenarios"
        if folder.is_dir():
            self.send({f"{PROJECT}/scenarios": folder})

    def _follow(
        self, sinks: dict[bytes, Sink], noted: list[signal.Signals], timeout_s: float | None, stdin: int | None
    ) -> int | None:
        """Pass on what the command prints until it ends; its exit code, or None if it took too long."""
        deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        is_late = False
        # First a signal asks the command to end, then the guest kills all its processes; if that fails, it hangs.
        steps: list[int] = [signal.SIGTERM, signal.SIGKILL]
        while True:
            if (noted and len(steps) == 2) or time.monotonic() >= deadline:
                if not steps:
                    raise BackendError("the guest does not answer and was ended")
                is_late = is_late or not noted
                step = steps.pop(0)
                self._connection.say(message(do="signal", number=noted[0] if noted and len(steps) == 1 else step))
                deadline = time.monotonic() + _GRACE_S
            if stdin is not None and select.select([stdin], (), (), 0.0)[0]:
                typed = os.read(stdin, CHUNK)
                self._connection.say(frame(IN, typed))  # no bytes mean the end of the input
                stdin = stdin if typed else None
            found = self._connection.next_frame(within_s=0.2 if stdin is None else 0.02)
            if found is None:
                continue
            kind, body = found
            if kind in sinks:
                sinks[kind](body)
            elif kind == MESSAGE:
                answer = json.loads(body)
                if "error" in answer:
                    raise TestbedError(f"the guest cannot run the command: {answer['error']}")
                return None if is_late else int(answer["exit"])


def _to(stream: Any) -> Sink:
    """A sink that writes to a standard stream of this process, also if a test has replaced it."""
    binary: BinaryIO | None = getattr(stream, "buffer", None)

    def write(data: bytes) -> None:
        if binary is not None:
            binary.write(data)
        else:
            stream.write(data.decode(errors="replace"))
        stream.flush()

    return write
