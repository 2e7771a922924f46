"""Writes the archive that a kernel takes as its first file system (cpio, format `newc`), without a cpio program."""

from __future__ import annotations

import stat
from typing import BinaryIO


class CpioWriter:
    """Entries in the order they are added; a folder must come before what is in it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inode = 0

    def add_folder(self, name: str) -> None:
        self._add(name, stat.S_IFDIR | 0o755)

    def add_file(self, name: str, data: bytes, permissions: int = 0o644) -> None:
        self._add(name, stat.S_IFREG | permissions, data)

    def add_link(self, name: str, target: str) -> None:
        self._add(name, stat.S_IFLNK | 0o777, target.encode())

    def add_device(self, name: str, major: int, minor: int) -> None:
        """A character device: only an entry of the archive, so no privilege is needed."""
        self._add(name, stat.S_IFCHR | 0o600, device=(major, minor))

    def close(self) -> None:
        """End the archive; the file stays open."""
        self._add("TRAILER!!!", 0)

    def _add(self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        self._inode += 1
        encoded = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        self._file.write(_padded(header) + _padded(data))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
