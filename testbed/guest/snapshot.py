"""The state of a guest that has booted and imported everything, kept as a file; the next guest starts from it.

Without KVM this takes two seconds instead of half a minute. A snapshot is valid for one state of the code, one set of
images and one start of the host, whose clock rate the guest has measured. The file is QEMU's migration stream.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import socket
import time
from pathlib import Path
from typing import Any, BinaryIO

from testbed.errors import BackendError
from testbed.guest import cache
from testbed.guest.images import Images
from testbed.guest.needs import tool

_SAVE_TIMEOUT_S = 60.0


def snapshot_key(images: Images, project: BinaryIO, *, cpus: int, memory_mb: int) -> str:
    """A fingerprint of everything that a snapshot depends on."""
    project.seek(0)
    qemu = os.stat(tool("qemu-system-x86_64"))
    names = [images.kernel.parent.name, images.initramfs.name, images.root.name]
    code = hashlib.sha256(project.read()).hexdigest()
    here = Path(__file__).with_name("qemu.py").read_text()  # the devices and the kernel's arguments
    return cache.fingerprint([names, code, here, qemu.st_size, qemu.st_mtime_ns, cpus, memory_mb, cache.boot_id()])


def find_snapshot(key: str) -> Path | None:
    """The snapshot, if there is one."""
    return cache.find("snapshot", key)


def save_snapshot(key: str, monitor: socket.socket) -> bool:
    """Write the state of the waiting guest into the cache; returns whether that worked. The guest then goes on."""
    try:
        cache.build_once("snapshot", key, lambda path: _save(path, monitor))
    except (BackendError, OSError):
        return False  # for example, the disk is full: the next guest boots as this one did
    return True


def restore_arguments(snapshot: Path) -> list[str]:
    """The arguments with which QEMU starts from a snapshot."""
    return ["-incoming", f"exec:cat {shlex.quote(str(snapshot))}"]


def _save(path: Path, monitor: socket.socket) -> None:
    monitor.settimeout(_SAVE_TIMEOUT_S)
    with monitor.makefile("rw", encoding="utf-8") as stream:
        stream.readline()  # the greeting
        _ask(stream, "qmp_capabilities")
        _ask(stream, "migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        _ask(stream, "migrate", uri=f"exec:cat >{shlex.quote(str(path))}")
        deadline = time.monotonic() + _SAVE_TIMEOUT_S
        while (state := _ask(stream, "query-migrate").get("status")) != "completed":
            if state in ("failed", "cancelled") or time.monotonic() > deadline:
                raise BackendError(f"the guest's state could not be saved: {state}")
            time.sleep(0.02)
        _ask(stream, "cont")


def _ask(stream: Any, command: str, **arguments: Any) -> dict[str, Any]:
    """Send a command to QEMU's monitor and return its answer; events in between are ignored."""
    stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
    stream.flush()
    while line := stream.readline():
        answer = json.loads(line)
        if "error" in answer:
            raise BackendError(f"QEMU refuses `{command}`: {answer['error'].get('desc')}")
        if "return" in answer:
            result: dict[str, Any] = answer["return"]
            return result
    raise BackendError("QEMU has ended")
