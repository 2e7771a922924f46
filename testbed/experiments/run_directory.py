"""The run directory: what a run leaves behind, readable at any moment, also after a kill."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import testbed
from testbed.errors import InputError
from testbed.scenario.schema import Scenario

PROJECT = Path(__file__).resolve().parent.parent


class RunDirectory:
    """`<out>/<name>-<utc time>-<short id>/`, with `meta.json` telling at all times how far the run has come."""

    def __init__(self, scenario: Scenario, out: Path) -> None:
        self._started = started = datetime.now(UTC)
        self.path = _fresh(out, scenario.name, started)
        self._meta: dict[str, Any] = {
            "status": "running",
            "started": started.isoformat(),
            "wall_time_s": None,
            "exit": None,
            "pid": os.getpid(),
            "backend": scenario.backend,
            "seed": scenario.seed,
            "repeat": scenario.repeat,
            "command": sys.argv,
            "versions": {"testbed": testbed.__version__, "python": platform.python_version()},
            "commit": commit(),
            "host": {"system": platform.platform(), "machine": platform.machine(), "cores": os.cpu_count()},
        }
        self._meta.update(self.write_scenario(scenario, self.path))
        self._write_json("meta.json", self._meta)

    @staticmethod
    def write_scenario(scenario: Scenario, folder: Path) -> dict[str, Any]:
        """Put a scenario and its trace into a folder, so that it can be run from there; the hash of the trace."""
        trace, hashes = scenario.trace_file, {}
        if trace is not None:
            hashes = {"traces": {trace.name: _copy(trace, folder / trace.name)}}
            scenario = scenario.with_trace_file(trace.name)
        (folder / "scenario.yaml").write_text(scenario.to_yaml(), encoding="utf-8")
        return hashes

    def repetition(self, number: int) -> Path:
        """The folder of a repetition, made on first use."""
        folder = self.path / f"rep-{number:03d}"
        folder.mkdir(exist_ok=True)
        return folder

    def finish(self, summary: dict[str, Any], exit_code: int) -> None:
        """The run came to its end."""
        self._write_json("summary.json", summary)
        self.end("finished", exit_code)

    def end(self, status: str, exit_code: int, **more: Any) -> None:
        """The run ends, well or not."""
        wall = (datetime.now(UTC) - self._started).total_seconds()
        self._meta.update(status=status, exit=exit_code, wall_time_s=round(wall, 3), **more)
        self._write_json("meta.json", self._meta)

    def _write_json(self, name: str, value: dict[str, Any]) -> None:
        write_json(self.path / name, value)


@contextmanager
def fresh_directory(out: Path, name: str) -> Iterator[Path]:
    """A directory for results to come, made at once: nobody should work for one that cannot be made.

    If nothing got into it, it goes again.
    """
    path = _fresh(out, name, datetime.now(UTC))
    try:
        yield path
    finally:
        with suppress(OSError):
            path.rmdir()  # which the system refuses if there is anything in it


def _fresh(out: Path, name: str, started: datetime) -> Path:
    path = out / f"{name}-{started:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    make_directory(path)
    return path


def make_directory(path: Path, *, exist_ok: bool = False) -> None:
    """Make a directory that a user has asked for."""
    try:
        path.mkdir(parents=True, exist_ok=exist_ok)
    except OSError as error:
        raise InputError(f"{path}: cannot be made: {error.strerror}") from None


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a file in one step, so that no reader ever sees half of it."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def _copy(source: Path, target: Path) -> str:
    """Copy a file; returns its hash."""
    shutil.copyfile(source, target)
    with target.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


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
