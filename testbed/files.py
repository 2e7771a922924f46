"""Files and directories that results go to."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from testbed.errors import FULL, InputError, MachineError


def make_directory(path: Path, *, exist_ok: bool = False) -> None:
    """Make a directory that the user has asked for."""
    try:
        path.mkdir(parents=True, exist_ok=exist_ok)
    except OSError as error:
        if error.errno in FULL:
            raise MachineError.of(error, path) from None
        raise InputError(f"{path}: cannot be made: {error.strerror}") from None


@contextmanager
def results_in(folder: Path) -> Iterator[None]:
    """An operating system's error in this context is one of the machine; it names the folder if it names no file."""
    try:
        yield
    except OSError as error:
        raise MachineError.of(error, folder) from error


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a file in one step, so that no reader ever sees half of it. Nothing is left of one that fails."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError):
            raise MachineError(f"{path}: {error.strerror}") from error
        raise


def open_output(path: Path, buffering: int) -> IO[str]:
    """A text file for results, to be written in large blocks."""
    return io.TextIOWrapper(io.BufferedWriter(_OutputFile(str(path), "w"), buffering), encoding="utf-8")


class _OutputFile(io.FileIO):
    """Errors name the file: Python's own files name it only in errors of opening them."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.name) from None


def copy_with_hash(source: Path, target: Path) -> str:
    """Copy a file; returns its hash."""
    shutil.copyfile(source, target)
    with target.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
