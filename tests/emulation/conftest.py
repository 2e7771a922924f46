"""One guest for all tests that need one, and what happens where no guest can run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.errors import BackendError
from testbed.guest.host import Guest
from testbed.guest.images import prepare


def is_promised() -> bool:
    """Whether this is continuous integration, which installs all that a guest needs."""
    return os.environ.get("CI") == "true" and os.geteuid() == 0 and Path("/etc/debian_version").exists()


def cannot(reason: str) -> None:
    """Skip, or fail where the capability is promised: tests that are skipped without notice test nothing."""
    if is_promised():
        pytest.fail(f"continuous integration should have this: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def guest_images() -> None:
    """Have the images that guests boot from in the cache, for tests that boot their own."""
    try:
        prepare()
    except BackendError as error:
        cannot(str(error))


@pytest.fixture(scope="session")
def guest(guest_images: None) -> Iterator[Guest]:
    """A guest that all tests share. It saves a snapshot, so that any further guest starts in seconds."""
    with Guest() as booted:
        yield booted
