"""A copy of the checkout, for tests of commands that write into it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import PROJECT

FOLDERS = ("agents", "analysis", "scenarios", "testbed", "tests")


def copy_checkout(folder: Path) -> Path:
    """Copy what the package, its tests and its linters need."""
    for name in FOLDERS:
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "pyproject.toml", folder)
    return folder


def python_in(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module in a checkout, so that the packages imported are its own. Bytecode is kept beside the checkout."""
    bytecode = checkout.with_name(f"{checkout.name}-bytecode")
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": str(bytecode)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def files_in(checkout: Path) -> dict[str, bytes]:
    """Every file, and what is in it."""
    return {str(path.relative_to(checkout)): path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
