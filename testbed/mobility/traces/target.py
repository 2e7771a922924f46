"""A trace file that is being written: completely or not at all, and the same bytes for the same trace."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from testbed.errors import FULL, MachineError
from testbed.mobility.traces.source import fault


def decimal(value: float) -> str:
    """The shortest decimal that reads back as the same number, and no negative zero."""
    return repr(value + 0.0)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines, compressed if the name ends in .gz, and replace the file in one step.

    If producing the lines fails, the file stays unchanged.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        with _opened(partial, zipped=path.suffix.lower() == ".gz") as file:
            file.writelines(line.encode() for line in lines)
        partial.replace(path)
    except OSError as error:
        if error.errno in FULL:
            raise MachineError.of(error, path) from None
        raise fault(path, f"cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            partial.unlink()


@contextmanager
def _opened(path: Path, zipped: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as file:
        if not zipped:
            yield file
            return
        # The header contains neither a time nor a name: the bytes depend on the trace alone.
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as compressed:
            yield compressed  # type: ignore[misc]
