"""What is built once and kept: a folder of artefacts, each named by a fingerprint of its inputs.

An artefact appears in one step, so no process ever sees half of one. Builders hold a lock that the kernel releases when
their process exits; what a killed builder left unfinished is removed by the next one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from testbed.errors import BackendError

_KEPT = {"snapshot": 2}
_KEPT_OTHERS = 3
"""How many artefacts of a kind are kept, the most recently used: enough for a few environments side by side."""


def folder() -> Path:
    """`$XDG_CACHE_HOME/testbed/guest` or `~/.cache/testbed/guest`, made on first use."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # By the XDG specification, a relative path is ignored.
    path = (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "testbed" / "guest"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BackendError(f"{path}: the guest's cache cannot be made: {error.strerror}") from None
    return path


def fingerprint(inputs: Any) -> str:
    """A short name for all inputs of an artefact, which may be anything that JSON can hold."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def build_once(kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """The artefact `<kind>-<key>`. If there is none yet, `build` makes a file or a folder at the path it is given."""
    path = folder() / f"{kind}-{key}"
    if not path.exists():
        with _lock(wait=True):
            if not path.exists():  # another process may have built it while we waited
                partial = path.with_name(f".partial-{path.name}")
                build(partial)
                partial.rename(path)
    return find(kind, key) or path


def find(kind: str, key: str) -> Path | None:
    """The artefact `<kind>-<key>`, or None if there is none. A call counts as a use of it."""
    path = folder() / f"{kind}-{key}"
    try:
        os.utime(path)
    except FileNotFoundError:
        return None
    except OSError:  # another user's, which we may only read
        pass
    return path


def newest(kind: str, suffix: str) -> Path | None:
    """The most recently used artefact of a kind whose name ends with `suffix`."""
    found = [path for path in folder().glob(f"{kind}-*") if path.name.endswith(suffix)]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def tidy() -> None:
    """Remove what killed builders left and artefacts that are no longer used, unless a build is going on."""
    with suppress(BlockingIOError), _lock(wait=False):
        by_kind: dict[str, list[Path]] = {}
        for path in folder().iterdir():
            if not path.name.startswith("."):
                by_kind.setdefault(path.name.partition("-")[0], []).append(path)
        for kind, paths in by_kind.items():
            for path in sorted(paths, key=lambda path: -path.stat().st_mtime)[_KEPT.get(kind, _KEPT_OTHERS) :]:
                _remove(path)


@contextmanager
def _lock(*, wait: bool) -> Iterator[None]:
    """Only one process builds at a time, so anything unfinished that is found on entry is left over, and removed."""
    with (folder() / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        for stale in folder().glob(".partial-*"):
            _remove(stale)
        yield


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def recall(name: str) -> Any:
    """The value that was kept under a name since this machine started, or None."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        held = json.loads((folder() / f".{name}.json").read_text())
        if held["boot"] == boot_id():
            return held["value"]
    return None


def remember(name: str, value: Any) -> None:
    """Keep a fact about this machine until it is started again."""
    path = folder() / f".{name}.json"
    with suppress(OSError):  # a fact that cannot be kept is tested again next time
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps({"boot": boot_id(), "value": value}))
        partial.replace(path)


def boot_id() -> str:
    """An identifier that changes whenever the host is started."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
