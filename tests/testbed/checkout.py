"""A copy of the checkout, for tests of what writes into it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import PROJECT

PARTS = ("agents", "analysis", "scenarios", "testbed", "tests")


def copy_checkout(folder: Path) -> Path:
    """Copy what the package, its tests and its linters need."""
    for part in PARTS:
        shutil.copytree(PROJECT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "pyproject.toml", folder)
    return folder


def python_in(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module in a checkout, so that the packages imported are its own."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def files_in(checkout: Path) -> dict[str, bytes]:
    """Every file, and what is in it."""
    return {str(path.relative_to(checkout)): path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
