"""The programs that the host must have for a guest, and one line on how to get those that are missing."""

from __future__ import annotations

import platform

from testbed.errors import BackendError
from testbed.processes import find_program

TOOLS = {
    # program: the Debian package that has it
    "qemu-system-x86_64": "qemu-system-x86",
    "mke2fs": "e2fsprogs",
    "busybox": "busybox-static",
}
FETCHERS = {"apt-get": "apt", "apt-cache": "apt", "dpkg-deb": "dpkg"}
"""Only needed until the kernel is in the cache."""


def tool(program: str) -> str:
    """The path of a program that the guest needs, or a `BackendError` that says how to get it."""
    found = find_program(program)
    if found is None:
        raise BackendError(f"the guest needs {program}; {_how_to_get([program])}")
    return found


def missing(*, fetching: bool = False) -> str | None:
    """None if a guest can run here, else one line on why not; `fetching`: the kernel is not in the cache yet."""
    machine = platform.machine()
    if platform.system() != "Linux" or machine != "x86_64":
        return f"the guest runs on Linux on x86_64, not on {platform.system()} on {machine}"
    wanted = {**TOOLS, **FETCHERS} if fetching else TOOLS
    absent = [program for program in wanted if find_program(program) is None]
    return f"the guest needs {', '.join(absent)}; {_how_to_get(absent)}" if absent else None


def _how_to_get(absent: list[str]) -> str:
    if find_program("apt-get") is None:
        return f"on Debian or Ubuntu: apt-get install {_packages(absent)}; other systems are not supported"
    return f"./setup.sh --guest as root, or: apt-get install --no-install-recommends {_packages(absent)}"


def _packages(absent: list[str]) -> str:
    return " ".join(sorted({(TOOLS | FETCHERS)[program] for program in absent}))
