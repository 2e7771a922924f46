"""One guest for all tests that need one, and what happens where there cannot be one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.errors import BackendError
from testbed.guest.host import Guest
from testbed.guest.images import prepare


def is_promised() -> bool:
    """Whether this is continuous integration that sets itself up with all that a guest needs."""
    return os.environ.get("CI") == "true" and os.geteuid() == 0 and Path("/etc/debian_version").exists()


def cannot(reason: str) -> None:
    """Skip, or fail where the capability is promised: a suite that skips in silence tests nothing."""
    if is_promised():
        pytest.fail(f"continuous integration should have this: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def guest_images() -> None:
    """What guests boot from is in the cache, for tests that boot their own."""
    try:
        prepare()
    except BackendError as error:
        cannot(str(error))


@pytest.fixture(scope="session")
def guest(guest_images: None) -> Iterator[Guest]:
    """A guest that all tests share; it leaves a snapshot behind, so that any further guest comes up in seconds."""
    with Guest() as booted:
        yield booted
