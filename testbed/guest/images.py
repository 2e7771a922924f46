"""The files that a guest boots from, from the cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from testbed.errors import BackendError
from testbed.guest import cache
from testbed.guest.initramfs import initramfs
from testbed.guest.kernel import kernel
from testbed.guest.needs import missing
from testbed.guest.rootfs import Extra, root_image


@dataclass(frozen=True)
class Images:
    """The files that a guest boots from; the name of each has a fingerprint of its inputs."""

    kernel: Path
    initramfs: Path
    root: Path


def prepare(*, update: bool = False, extra: Extra | None = None) -> Images:
    """The images, built where they are not in the cache; `update` looks for a newer kernel."""
    lacking = missing()
    if lacking:
        raise BackendError(lacking)
    cache.tidy()
    chosen = kernel(update=update)
    return Images(chosen.image, initramfs(chosen), root_image(chosen, extra))
