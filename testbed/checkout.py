"""The folder that this code runs from, and the commit it is at."""

from __future__ import annotations

import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
"""The project's folder in a checkout; where the packages are installed otherwise."""


def commit() -> str | None:
    """The commit the code is at, with `-dirty` if it has changed since; None outside a checkout."""
    if not (PROJECT / ".git").exists():
        return None
    try:
        described = subprocess.run(
            ["git", "-C", str(PROJECT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return described.stdout.strip() or None
