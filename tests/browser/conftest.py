"""A browser for the tests of pages: Debian's Chromium, driven by Playwright, without any network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.browser.real_time import Runs, real_time_run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"


def cannot(reason: str) -> None:
    """Skip, or fail in continuous integration, which installs the browser: a silent skip would test nothing."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"continuous integration should have this: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for the tests of a file; they are in the group `browser`, so that there is only one at a time.

    It ends with the file: until then Playwright's event loop runs in this process, and no other test can have its own.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        cannot("playwright is not installed; for these tests: ./setup.sh test")
    if not Path(CHROMIUM).exists():
        cannot("chromium is not installed; for these tests: apt-get install --no-install-recommends chromium (as root)")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has no sandbox for root
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield launched
        launched.close()


@dataclass
class Opened:
    """A page in the browser, and what it did that it must not do."""

    page: Any
    requests: list[str] = field(default_factory=list)
    """Everything it asked for except itself; all of it was refused."""
    errors: list[str] = field(default_factory=list)
    """Its errors, those on its console and what its policy refused among them."""

    def assert_well_behaved(self) -> None:
        """It asked for nothing and made no error."""
        assert (self.requests, self.errors) == ([], [])


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a file: `opened(path, fragment="#t=5", color_scheme="dark")`. Options are those of a browser context."""
    contexts = []

    def open_page(page_file: Path, fragment: str = "", **options: Any) -> Opened:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        result, address = Opened(page), page_file.resolve().as_uri()

        def decide(route: Any) -> None:
            if route.request.url.partition("#")[0] == address:
                route.continue_()
            else:
                result.requests.append(route.request.url)
                route.abort()

        context.route("**/*", decide)
        page.on("pageerror", lambda error: result.errors.append(str(error)))
        page.on("console", lambda line: result.errors.append(line.text) if line.type == "error" else None)
        page.goto(address + fragment)
        return result

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def real_time_runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A run of every backend in `REAL_TIME`, by its name; all tests share them."""
    return Runs(lambda backend: real_time_run(backend, tmp_path_factory.mktemp(backend)))
