"""System calls of Linux that Python 3.11 does not have: namespaces, kernel modules, timer precision."""

from __future__ import annotations

import ctypes
import gzip
import lzma
import os
import platform
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.errors import BackendError

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_PR_SET_TIMERSLACK = 29
_FINIT_MODULE = {"x86_64": 313, "aarch64": 273}
_INIT_MODULE = {"x86_64": 175, "aarch64": 105}
_OWN_NAMESPACE = "/proc/thread-self/ns/net"
_MODULE = "mac80211_hwsim"


def _call(what: str, result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def current_namespace() -> int:
    """A descriptor of the network namespace that the calling thread is in."""
    return os.open(_OWN_NAMESPACE, os.O_RDONLY | os.O_CLOEXEC)


def enter_namespace(descriptor: int) -> None:
    """Move the calling thread into a network namespace, and what it forks afterwards with it."""
    _call("setns", _LIBC.setns(descriptor, _CLONE_NEWNET))


def new_namespace() -> None:
    """Move the calling thread into a network namespace of its own."""
    _call("unshare", _LIBC.unshare(_CLONE_NEWNET))


@contextmanager
def namespace_kept() -> Iterator[None]:
    """Return the calling thread to its network namespace at the end, whichever it enters meanwhile."""
    before = current_namespace()
    try:
        yield
    finally:
        enter_namespace(before)
        os.close(before)


def allow_many_files() -> None:
    """Raise the limit of open files as far as this process may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def be_punctual() -> None:
    """Take the highest priority, and have short sleeps end on time, not 50 µs late."""
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    _call("prctl", _LIBC.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0))


def has_hwsim(modules: Path | None = None) -> bool:
    """Whether the module is loaded or can be."""
    if Path("/sys/module", _MODULE).exists():
        return True
    try:
        return bool(load_order(modules or Path("/lib/modules", platform.release()), _MODULE))
    except BackendError:
        return False


def load_hwsim(modules: Path | None = None) -> None:
    """Load the kernel's module of virtual radios, without any radio, and the modules it depends on."""
    load_module(_MODULE, "radios=0", modules)


def load_module(module: str, options: str = "", modules: Path | None = None) -> None:
    """Load a kernel module and the modules it depends on, if it is not there."""
    if Path("/sys/module", module).exists():
        return
    needs = load_order(modules or Path("/lib/modules", platform.release()), module)
    for path in needs:
        _insert(path, options if path is needs[-1] else "")


def load_order(folder: Path, module: str) -> list[Path]:
    """The files of a module and of all that it depends on, in the order in which they are loaded."""
    try:
        lines = (folder / "modules.dep").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, needs = line.partition(":")
        if Path(name).name.partition(".")[0].replace("-", "_") == module:
            return [folder / need for need in (*reversed(needs.split()), name)]
    raise BackendError(
        f"the kernel {platform.release()} has no {module}: run `testbed guest`, which brings one that has"
    )


def _insert(path: Path, options: str) -> None:
    name = path.name.partition(".")[0].replace("-", "_")
    if Path("/sys/module", name).exists():
        return
    machine = platform.machine()
    try:
        data = path.read_bytes()
        if path.suffix == ".xz":
            data = lzma.decompress(data)
        elif path.suffix == ".gz":
            data = gzip.decompress(data)
        if path.suffix == ".zst":  # only the kernel can unpack it, and only a new one
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            _call("finit_module", _LIBC.syscall(_FINIT_MODULE[machine], descriptor, options.encode(), 4))
            os.close(descriptor)
        else:
            _call(
                "init_module",
                _LIBC.syscall(_INIT_MODULE[machine], data, ctypes.c_ulong(len(data)), options.encode()),
            )
    except (OSError, KeyError) as error:
        fix = f"`modprobe {' '.join((name, options)).strip()}` as root may say more"
        raise BackendError(f"cannot load the kernel module {name} ({error}): {fix}") from None
