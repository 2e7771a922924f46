"""The host's end of the connection to the guest: frames over a socket, and tar archives as streams of frames."""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.errors import BackendError, TestbedError
from testbed.guest.protocol import CHUNK, DATA, MESSAGE, Frames, frame, message
from testbed.guest.qemu import Qemu

_PATIENCE_S = 60.0
"""How long the guest may take to answer: far longer than it needs, however busy the machine is."""
_SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""Nothing of an archive may be written outside its folder; the oldest Pythons we support lack this filter."""


class Connection:
    """Speaks with the first process of a guest."""

    def __init__(self, qemu: Qemu) -> None:
        self._qemu = qemu
        self._port = qemu.port
        self._frames = Frames()

    def say(self, data: bytes) -> None:
        """Send a frame."""
        self._port.settimeout(_PATIENCE_S)
        try:
            self._port.sendall(data)
        except TimeoutError:
            raise self._hangs() from None
        except ConnectionError:
            raise self._ended() from None

    def ask(self, *, within_s: float = _PATIENCE_S, **request: Any) -> dict[str, Any]:
        """Send a request and wait for the message that answers it."""
        self.say(message(**request))
        return self.answer(within_s=within_s)

    def next_frame(self, *, within_s: float) -> tuple[bytes, bytes] | None:
        """The next frame from the guest, or None if none comes in time."""
        deadline = time.monotonic() + within_s
        while (found := self._frames.next()) is None:
            self._port.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                data = self._port.recv(CHUNK)
            except TimeoutError:
                return None
            except ConnectionError:
                data = b""
            if not data:
                raise self._ended()
            self._frames.feed(data)
        return found

    def put(self, files: Mapping[str, Path | bytes]) -> None:
        """Copy files and folders of the host, or the bytes of a file, into the guest; the keys are the paths there."""
        for source in files.values():
            if isinstance(source, Path):
                source.stat()  # an error here leaves the connection usable
        self.say(message(do="put"))
        with tarfile.open(fileobj=_Outgoing(self), mode="w|", format=tarfile.PAX_FORMAT) as archive:
            for path, source in files.items():
                if isinstance(source, Path):
                    archive.add(source, path.lstrip("/"))
                else:
                    entry = tarfile.TarInfo(path.lstrip("/"))
                    entry.size = len(source)
                    archive.addfile(entry, io.BytesIO(source))
        self.say(frame(DATA, b""))
        error = self.answer()["error"]
        if error:
            raise TestbedError(f"cannot send files to the guest: {error}")

    def get(self, path: str, folder: Path, *, must_exist: bool) -> None:
        """Copy the contents of a folder of the guest, or a single file, into a folder of the host."""
        incoming = _Incoming(self)
        self.say(message(do="get", path=path))
        try:
            if incoming.has_begun():
                folder.mkdir(parents=True, exist_ok=True)
                with tarfile.open(fileobj=io.BufferedReader(incoming), mode="r|") as archive:
                    archive.extractall(folder, **_SAFELY)
        finally:
            incoming.finish()
        if incoming.error and (must_exist or incoming.count):
            raise TestbedError(f"cannot bring {path} back: {incoming.error}")

    def owed_frame(self, *, within_s: float = _PATIENCE_S) -> tuple[bytes, bytes]:
        """The next frame, which the guest has to send."""
        found = self.next_frame(within_s=within_s)
        if found is None:
            raise self._hangs()
        return found

    def answer(self, *, within_s: float = _PATIENCE_S) -> dict[str, Any]:
        """The next message, which the guest has to send."""
        while True:
            kind, body = self.owed_frame(within_s=within_s)
            if kind == MESSAGE:
                content: dict[str, Any] = json.loads(body)
                return content

    def _hangs(self) -> BackendError:
        return BackendError(f"the guest does not answer; {self._qemu.last_output()}")

    def _ended(self) -> BackendError:
        return BackendError(f"the guest has ended by itself; {self._qemu.last_output()}")


class _Outgoing(io.RawIOBase):
    """A file whose contents go to the guest as DATA frames."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        if piece:  # an empty frame would end the stream
            self._connection.say(frame(DATA, piece))
        return len(piece)


class _Incoming(io.RawIOBase):
    """A file whose contents come from the guest as DATA frames, up to a message that says whether all went well."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._held = b""
        self._has_ended = False
        self.count = 0
        self.error: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held and not self._has_ended:
            self._take()
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

    def has_begun(self) -> bool:
        """Whether the guest sends any data."""
        self._take()
        return not self._has_ended

    def finish(self) -> None:
        """Read the rest of the stream, so that the connection can be used for the next request."""
        while not self._has_ended:
            self._take()

    def _take(self) -> None:
        kind, body = self._connection.owed_frame()
        if kind == DATA:
            self._held = body
            self.count += len(body)
        elif kind == MESSAGE:
            self._has_ended = True
            self.error = json.loads(body)["error"]
