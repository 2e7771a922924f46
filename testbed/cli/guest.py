"""`testbed guest`: a throwaway Linux guest that has Wi-Fi radios."""

from __future__ import annotations

import argparse
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli.arguments import add_command, add_json
from testbed.cli.output import print_json
from testbed.errors import InputError

if TYPE_CHECKING:
    from testbed.guest.rootfs import Extra


def add(commands: Any) -> None:
    """Add its arguments."""
    guest = add_command(
        commands, "guest", "a throwaway Linux guest that has Wi-Fi radios, for machines that have none", None
    )
    actions = guest.add_subparsers(title="actions", metavar="ACTION", required=True)

    one = add_command(actions, "prepare", "fetch and build what guests boot from, once, into the cache", _prepare)
    one.add_argument("--update", action="store_true", help="fetch the current kernel even if there is one")
    add_json(one)

    one = add_command(actions, "run", "boot, run a command in the guest as root, and end with its exit code", _run)
    one.usage = "testbed guest run [options] -- COMMAND..."
    one.add_argument("--cpus", type=int, default=2, metavar="N", help="processors of the guest (2)")
    one.add_argument("--memory", type=int, default=1024, metavar="MB", help="memory of the guest (1024)")
    one.add_argument(
        "--accel", choices=("auto", "kvm", "tcg"), default="auto", help="kvm if it works, or the one named (auto)"
    )
    one.add_argument(
        "--timeout", type=float, metavar="S", help="end the command after so many seconds, with exit code 124"
    )
    one.add_argument("--send", action="append", default=[], metavar="PATH[:GUEST_PATH]",
                     help="put a file or folder into the guest first (may be repeated)")  # fmt: skip
    one.add_argument("--bring", action="append", default=[], metavar="GUEST_PATH:DIR",
                     help="put what is in a folder of the guest into DIR afterwards (may be repeated)")  # fmt: skip
    one.add_argument("--cold", action="store_true", help="boot, even if there is a snapshot of a ready guest")
    one.add_argument("--verbose", action="store_true", help="print on stderr how long the guest took to start")
    one.add_argument("--mininet-wifi", metavar="CHECKOUT",
                     help="a guest with Mininet-WiFi: from this checkout, or the `installed` one")  # fmt: skip
    one.add_argument("argv", nargs=argparse.REMAINDER, metavar="COMMAND", help="and its arguments")


def _prepare(arguments: Namespace) -> int:
    facts = prepare_guest(update=arguments.update)
    if arguments.json:
        print_json(facts)
    else:
        for name in ("kernel", "initramfs", "root"):
            print(f"{name:10} {facts[name]['bytes'] / 1e6:6.1f} MB  {facts[name]['path']}")
        print(f"ready after {facts['seconds']} s")
    return 0


def _run(arguments: Namespace) -> int:
    return run_in_guest(
        arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv,
        cpus=arguments.cpus,
        memory_mb=arguments.memory,
        accel=arguments.accel,
        snapshot=not arguments.cold,
        timeout_s=arguments.timeout,
        send=arguments.send,
        bring=arguments.bring,
        verbose=arguments.verbose,
        mininet_wifi=arguments.mininet_wifi,
    )


def prepare_guest(*, update: bool) -> dict[str, Any]:
    """Prepare; returns the files and the seconds it took, ready for JSON."""
    from testbed.guest.images import prepare

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
    """Boot, run one command, bring folders back; returns the command's exit code."""
    from testbed.guest.host import Guest

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
    """The files of Mininet-WiFi for the guest: from a checkout, or from the one that is installed."""
    from testbed.backends.mininet_wifi.in_guest import extra
    from testbed.backends.mininet_wifi.installation import name_checkout

    if checkout != "installed":
        name_checkout(Path(checkout))
    return extra()


def parse_send(text: str) -> tuple[str, Path]:
    """`PATH[:GUEST_PATH]`: without a path in the guest, a file keeps its name and goes to where commands run."""
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
