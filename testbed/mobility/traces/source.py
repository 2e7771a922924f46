"""A trace file that is being read within bounds, and its error lines."""

from __future__ import annotations

import gzip
import math
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from testbed.errors import InputError, one_line
from testbed.mobility.traces import limits

CHUNK_BYTES = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def fault(file: Path, found: str, allowed: str = "", line: int | None = None) -> InputError:
    """The one line that says what is wrong with a file, worded like those about scenarios."""
    place = f"{file}:{line}" if line else f"{file}"
    return InputError(one_line(f"{place}: found {found}; allowed: {allowed}" if allowed else f"{place}: {found}"))


class Source:
    """A trace file and the line that is being read; its errors name both.

    Files compressed by gzip are recognised by their first bytes, whatever their name says.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line: int | None = None
        self._bytes = 0

    def error(self, found: str, allowed: str = "") -> InputError:
        """What is wrong with the line that is being read."""
        return fault(self.path, found, allowed, self.line)

    def number(self, text: str, what: str, low: float, high: float) -> float:
        """A number within bounds. nan, inf and spellings that only Python accepts, such as 1_000, are refused."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if "_" in text or not low <= value <= high:
            raise self.error(f"{what} {text[:40]!r}", f"a number from {low:g} to {high:g}")
        return value

    def seconds(self, text: str) -> float:
        """A time of the run."""
        return self.number(text, "the time", 0, limits.MAX_SECONDS)

    def metres(self, text: str, what: str) -> float:
        """A coordinate."""
        return self.number(text, what, -limits.MAX_METRES, limits.MAX_METRES)

    def name(self, text: str) -> str:
        """The name of a node: it must fit on one line in every format."""
        name = text.strip()
        if not name or not name.isprintable():
            raise self.error(f"a node called {text[:40]!r}", "a name of printable characters")
        return name

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the file, decompressed."""
        with self._opened() as file:
            while chunk := file.read(CHUNK_BYTES):
                self._count(chunk)
                yield chunk

    def lines(self, max_bytes: int | None = None) -> Iterator[str]:
        """The lines of the file, each without its line end."""
        longest = max_bytes or limits.MAX_LINE_BYTES
        self.line = 0
        with self._opened() as file:
            while raw := file.readline(longest + 1):
                self.line += 1
                self._count(raw)
                if len(raw) > longest:
                    raise self.error(f"a line of more than {longest} bytes")
                if self.line > limits.MAX_LINES:
                    raise self.error(f"more than {limits.MAX_LINES} lines")
                yield self._decoded(raw)

    def _decoded(self, raw: bytes) -> str:
        if self.line == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        try:
            return raw.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise self.error("bytes that are not text", "UTF-8") from None

    def _count(self, read: bytes) -> None:
        self._bytes += len(read)
        if self._bytes > limits.MAX_BYTES:
            raise self.error(f"more than {limits.MAX_BYTES} bytes once decompressed")

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """The file, decompressed if needed; every failure is an `InputError`."""
        self._bytes = 0
        try:
            self._check_regular()
            with self.path.open("rb") as file:
                start = file.peek(len(_GZIP_MAGIC))
                if not start:
                    raise self.error("an empty file")
                zipped = start.startswith(_GZIP_MAGIC)
                yield gzip.GzipFile(fileobj=file) if zipped else file  # type: ignore[misc]
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.error(f"a broken gzip file: {error}") from None
        except FileNotFoundError:
            raise fault(self.path, "no such file") from None
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror}") from None

    def _check_regular(self) -> None:
        """Refuse everything but regular files: a pipe, for example, might never end."""
        try:
            mode = self.path.stat().st_mode
        except ValueError:  # a name with a zero byte
            raise fault(self.path, "no such file") from None
        if stat.S_ISDIR(mode):
            raise fault(self.path, "a directory, not a trace")
        if not stat.S_ISREG(mode):
            raise fault(self.path, "neither a file nor a link to one")
