"""The project's own code for the guest: a tar archive in memory, made at every boot.

An edit of the code therefore needs no new root image. The guest sees the archive as a read-only disk and unpacks it
into memory.
"""

from __future__ import annotations

import compileall
import os
import sys
import tarfile
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("agents", "analysis", "testbed")


def project_archive(root: Path = ROOT) -> BinaryIO:
    """The archive, in a file without a name, of which nothing can be left behind."""
    for package in PACKAGES:
        # As an import would do. If the folder is read-only, the guest compiles the code at every boot.
        compileall.compile_dir(root / package, quiet=2)
    file = os.fdopen(os.memfd_create("testbed-project"), "w+b")
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for package in PACKAGES:
            archive.add(root / package, package, filter=_only_ours)
    file.flush()
    return file


def _only_ours(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out files that other Pythons compiled, and everything but plain files and folders."""
    name = Path(entry.name)
    if name.suffix == ".pyc" and not name.name.endswith(f".{sys.implementation.cache_tag}.pyc"):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry if entry.isfile() or entry.isdir() else None
