"""A guest as the host sees it: boot it, run commands in it, send files in and bring them back.

    with Guest() as guest:
        code = guest.run(["testbed", "run", "s.yaml", "--out", "/tmp/runs"], send={"/tmp/s.yaml": Path("s.yaml")},
                         bring=[("/tmp/runs", Path("runs"))])

A guest belongs to the thread that made it: QEMU is killed when that thread ends.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

from testbed.errors import BackendError, TestbedError
from testbed.guest import cache
from testbed.guest.initramfs import initramfs
from testbed.guest.kernel import kernel
from testbed.guest.layout import HELLO
from testbed.guest.needs import missing
from testbed.guest.project import project_archive
from testbed.guest.protocol import CHUNK, DATA, ERR, MESSAGE, OUT, Frames, frame, message
from testbed.guest.qemu import Images, Qemu
from testbed.guest.rootfs import root_image

Sink = Callable[[bytes], object]
"""Takes what a command prints, piece by piece as it comes."""
ACCELS = ("auto", "kvm", "tcg")
_SILENCE_S = 6.0
"""How long a guest with KVM may take to its first line; a healthy one needs less than one second."""
_GRACE_S = 10.0
"""How long a command may take to end after it was asked to."""


class GuestTimeout(TestbedError):
    """A command took too long; 124 is what timeout(1) makes of that."""

    exit_code = 124


def prepare(*, update: bool = False) -> Images:
    """All that a guest boots from: built if it is not in the cache."""
    lacking = missing()
    if lacking:
        raise BackendError(lacking)
    cache.tidy()
    chosen = kernel(update=update)
    return Images(chosen.image, initramfs(chosen), root_image(chosen))


class Guest:
    """A booted guest; a context manager whose exit ends it."""

    def __init__(
        self, *, cpus: int = 2, memory_mb: int = 1024, accel: str = "auto", boot_timeout_s: float = 120.0
    ) -> None:
        self._frames = Frames()
        self._boot_timeout_s = boot_timeout_s
        images = prepare()
        began = time.monotonic()
        with project_archive() as project:

            def start(accel: str) -> Qemu:
                return Qemu(images, project, accel=accel, cpus=cpus, memory_mb=memory_mb)

            self.accel, self._qemu = start_accelerated(start, accel)
            try:
                self._wait_until_ready(began)
            except BaseException:
                self._qemu.kill()
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
        send: Mapping[str, Path] | None = None,
        bring: Iterable[tuple[str, Path]] = (),
    ) -> int:
        """Run a command as root; returns its exit code (128 + the number of the signal that ended it).

        `send` maps paths in the guest to files or folders here that are put there first. `bring` names folders of the
        guest whose contents are put into folders here afterwards, also if the command failed, took longer than
        `timeout_s` or was interrupted; one that does not exist then is left out unless the command succeeded.
        """
        if send:
            self.send(send)
        sinks = {OUT: stdout or _to(sys.stdout), ERR: stderr or _to(sys.stderr)}
        self._say(message(do="run", argv=list(argv), cwd=cwd, env=dict(env or {})))
        with _caught_signals() as caught:
            code = self._follow(sinks, caught, timeout_s)
        for path, folder in bring:
            self.bring(path, folder, must_exist=code == 0)
        if caught:
            signal.raise_signal(caught[0])  # now that everything is back, what it would have done at once
        if code is None:
            raise GuestTimeout(f"{argv[0]}: took longer than {timeout_s:g} s in the guest and was ended")
        return code

    def send(self, files: Mapping[str, Path]) -> None:
        """Put files and folders of the host into the guest, at the paths that they are named by."""
        self._say(message(do="put"))
        with tarfile.open(fileobj=_Outgoing(self), mode="w|", format=tarfile.PAX_FORMAT) as archive:
            for path, source in files.items():
                archive.add(source, path.lstrip("/"))
        self._say(frame(DATA, b""))
        self._check_answer()

    def bring(self, path: str, folder: Path, *, must_exist: bool = True) -> None:
        """Put what is in a folder of the guest, or a single file, into a folder of the host."""
        self._say(message(do="get", path=path))
        incoming = _Incoming(self)
        first = incoming.read(1)
        if first or must_exist:
            folder.mkdir(parents=True, exist_ok=True)
        try:
            if first:
                with tarfile.open(fileobj=io.BufferedReader(incoming.put_back(first)), mode="r|") as archive:
                    archive.extractall(folder, **_SAFELY)
        finally:
            incoming.finish()
        if incoming.error and (must_exist or first):
            raise TestbedError(f"cannot bring {path} back: {incoming.error}")

    # -- the conversation ---------------------------------------------------------------------------------------------

    def _follow(self, sinks: dict[bytes, Sink], caught: list[int], timeout_s: float | None) -> int | None:
        """Pass on what the command prints until it ends; its exit code, or None if it took too long."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        is_late, told, last = False, False, None
        while True:
            if not told and (caught or (deadline is not None and time.monotonic() >= deadline)):
                told, is_late = True, not caught
                self._say(message(do="signal", number=caught[0] if caught else signal.SIGTERM))
                last = time.monotonic() + _GRACE_S
            elif last is not None and time.monotonic() >= last:
                self._say(message(do="signal", number=signal.SIGKILL))
                last = None
            found = self._next_frame(until=time.monotonic() + 0.2)
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

    def _wait_until_ready(self, began: float) -> None:
        found = self._next_frame(until=began + self._boot_timeout_s)
        if found is None:
            raise BackendError(f"the guest did not start within {self._boot_timeout_s:g} s; {self._last_words()}")

    def _check_answer(self) -> None:
        error = self.next_message()["error"]
        if error:
            raise TestbedError(f"cannot send files to the guest: {error}")

    def next_message(self) -> dict[str, Any]:
        """The next message of the agent."""
        while True:
            kind, body = self.next_frame()
            if kind == MESSAGE:
                content: dict[str, Any] = json.loads(body)
                return content

    def next_frame(self) -> tuple[bytes, bytes]:
        """The next frame from the agent, however long it takes."""
        found = self._next_frame(until=None)
        assert found is not None
        return found

    def _next_frame(self, *, until: float | None) -> tuple[bytes, bytes] | None:
        while (found := self._frames.next()) is None:
            left = None if until is None else max(0.0, until - time.monotonic())
            self._qemu.socket.settimeout(left if left != 0 else 0.001)
            try:
                data = self._qemu.socket.recv(CHUNK)
            except TimeoutError:
                return None
            except ConnectionError:
                data = b""
            if not data:
                raise BackendError(f"the guest has ended by itself; {self._last_words()}")
            self._frames.feed(data)
        return found

    def _say(self, data: bytes) -> None:
        self._qemu.socket.settimeout(None)
        try:
            self._qemu.socket.sendall(data)
        except ConnectionError:
            raise BackendError(f"the guest has ended by itself; {self._last_words()}") from None

    def say_data(self, data: bytes) -> None:
        """Send a piece of a stream."""
        self._say(frame(DATA, data))

    def _last_words(self) -> str:
        return last_words(self._qemu.console())


def last_words(console: str) -> str:
    """The end of what a console shows, for one line."""
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    return f"its console says: {' / '.join(lines[-3:])}" if lines else "its console is empty"


def start_accelerated(start: Callable[[str], Qemu], accel: str) -> tuple[str, Qemu]:
    """Start a guest, with KVM if that works here.

    A machine may have /dev/kvm and still hang in the guest's first instructions, so a guest with KVM must say something
    soon or is started again without. What was found is remembered until this machine is started again.
    """
    if accel == "auto" and cache.recall("accel") != "tcg" and os.access("/dev/kvm", os.R_OK | os.W_OK):
        qemu = start("kvm")
        try:
            is_up = says_hello(qemu, _SILENCE_S)
        except BaseException:
            qemu.kill()
            raise
        cache.remember("accel", "kvm" if is_up else "tcg")
        if is_up:
            return "kvm", qemu
        qemu.kill()
    chosen = "kvm" if accel == "kvm" else "tcg"
    return chosen, start(chosen)


def says_hello(qemu: Qemu, within_s: float) -> bool:
    """Whether the guest's kernel gets as far as its first process."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and not qemu.has_ended():
        if HELLO in qemu.console():
            return True
        time.sleep(0.05)
    return False


class _Outgoing(io.RawIOBase):
    """A file whose contents go to the guest as DATA frames."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        if piece:  # an empty frame would end the stream
            self._guest.say_data(piece)
        return len(piece)


class _Incoming(io.RawIOBase):
    """A file whose contents come from the guest as DATA frames, up to a message that tells how it went."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._held = b""
        self._ended = False
        self.error: str | None = None

    def readable(self) -> bool:
        return True

    def put_back(self, data: bytes) -> Self:
        self._held = data + self._held
        return self

    def readinto(self, buffer: Any) -> int:
        while not self._held and not self._ended:
            self._take()
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

    def finish(self) -> None:
        """Read whatever still comes, so that the conversation can go on."""
        while not self._ended:
            self._take()

    def _take(self) -> None:
        kind, body = self._guest.next_frame()
        if kind == DATA:
            self._held = body
        elif kind == MESSAGE:
            self._ended = True
            self.error = json.loads(body)["error"]


_SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""Nothing of an archive may land outside its folder; the oldest Pythons we support lack this."""


def _to(stream: Any) -> Sink:
    """Writes to one of our own standard streams, whatever it is at the moment."""
    binary: BinaryIO | None = getattr(stream, "buffer", None)

    def write(data: bytes) -> None:
        if binary is not None:
            binary.write(data)
        else:
            stream.write(data.decode(errors="replace"))
        stream.flush()

    return write


@contextmanager
def _caught_signals() -> Iterator[list[int]]:
    """Note the first Ctrl-C or SIGTERM instead of dying of it; the second acts as if we were not here.

    Only the main thread can do this; elsewhere signals do what they always do.
    """
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, _: object) -> None:
        caught.append(number)
        restore()

    for number in before:
        signal.signal(number, note)
    try:
        yield caught
    finally:
        restore()
