"""Files and directories that results go to."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from testbed.errors import InputError


def make_directory(path: Path, *, exist_ok: bool = False) -> None:
    """Make a directory that the user has asked for."""
    try:
        path.mkdir(parents=True, exist_ok=exist_ok)
    except OSError as error:
        raise InputError(f"{path}: cannot be made: {error.strerror}") from None


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a file in one step, so that no reader ever sees half of it."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def copy_with_hash(source: Path, target: Path) -> str:
    """Copy a file; returns its hash."""
    shutil.copyfile(source, target)
    with target.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
