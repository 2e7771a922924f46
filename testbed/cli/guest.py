"""What `testbed guest` does."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.errors import InputError
from testbed.guest.host import Guest
from testbed.guest.images import prepare
from testbed.guest.rootfs import Extra


def prepare_guest(*, update: bool) -> dict[str, Any]:
    """Prepare; what there is then, ready for JSON."""
    began = time.monotonic()
    images = prepare(update=update)
    seconds = round(time.monotonic() - began, 1)
    files = {"kernel": images.kernel, "initramfs": images.initramfs, "root": images.root}
    return {
        "seconds": seconds,
        **{name: {"path": str(path), "bytes": path.stat().st_size} for name, path in files.items()},
    }


def run_in_guest(
    command: Sequence[str],
    *,
    cpus: int,
    memory_mb: int,
    accel: str,
    snapshot: bool,
    timeout_s: float | None,
    send: Sequence[str],
    bring: Sequence[str],
    verbose: bool,
    mininet_wifi: str | None = None,
) -> int:
    """Boot, run one command, bring folders back; the command's exit code."""
    if not command:
        raise InputError("guest run: which command? Write it after --")
    if not 1 <= cpus <= 64:
        raise InputError(f"--cpus: found {cpus}; allowed: 1 to 64")
    if memory_mb < 256:
        raise InputError(f"--memory: found {memory_mb}; allowed: 256 MB or more")
    if timeout_s is not None and not timeout_s > 0:
        raise InputError(f"--timeout: found {timeout_s:g}; allowed: more than 0")
    sent = dict(map(parse_send, send))
    brought = list(map(parse_bring, bring))
    extra = _mininet_wifi(mininet_wifi) if mininet_wifi is not None else None
    with Guest(cpus=cpus, memory_mb=memory_mb, accel=accel, snapshot=snapshot, extra=extra) as guest:
        if verbose:
            how = "restored" if guest.is_restored else "booted"
            print(f"testbed: guest {how} in {guest.boot_s:.1f} s ({guest.accel})", file=sys.stderr)
        return guest.run(command, timeout_s=timeout_s, send=sent, bring=brought)


def _mininet_wifi(checkout: str) -> Extra:
    """What goes in for Mininet-WiFi: a checkout's, or the one that is installed."""
    from testbed.backends.mininet_wifi.installation import name_checkout
    from testbed.backends.mininet_wifi.in_guest import extra

    if checkout != "installed":
        name_checkout(Path(checkout))
    return extra()


def parse_send(text: str) -> tuple[str, Path]:
    """`PATH[:GUEST_PATH]`: without the second part a file lands where commands run, by its own name."""
    here, _, there = text.partition(":")
    source = Path(here)
    if not here or not source.exists():
        raise InputError(f"--send {text}: {here or 'an empty path'}: no such file or folder")
    return there or source.resolve().name, source


def parse_bring(text: str) -> tuple[str, Path]:
    """`GUEST_PATH:DIR`; a relative path in the guest is below where commands run."""
    there, colon, here = text.partition(":")
    if not there or not colon or not here:
        raise InputError(f"--bring {text}: allowed: PATH:DIR, a path in the guest and a folder here")
    folder = Path(here)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--bring {text}: {here} is not a folder")
    return there, folder
