"""ns-3, for tests that need it; they are all in one process, because loading it takes seconds."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from testbed.backends.registry import find_backend


@pytest.fixture
def ns3() -> Iterator[None]:
    """Skip where it is missing, but fail in continuous integration, which installs it."""
    lacking = find_backend("ns3").missing()
    if lacking is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"continuous integration should have this: {lacking}", pytrace=False)
        pytest.skip(lacking)
    from testbed.backends.ns3 import library

    yield
    library.clear()
