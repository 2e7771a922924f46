"""The run directory: what a run leaves behind, readable at any time, also after a kill."""

from __future__ import annotations

import os
import platform
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import testbed
from testbed.checkout import commit
from testbed.files import make_directory, results_in, write_json
from testbed.scenario.loader import write_scenario
from testbed.scenario.schema import Scenario


class RunDirectory:
    """`<out>/<name>-<utc time>-<short id>/`; its `meta.json` always has the state of the run."""

    def __init__(self, scenario: Scenario, out: Path | None = None, *, path: Path | None = None) -> None:
        """A new directory under `out`, or `path`, which is there and empty."""
        self._started = started = datetime.now(UTC)
        assert out is not None or path is not None
        self.path = path or _fresh(out or Path(), scenario.name, started)
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
        with results_in(self.path):
            self._meta.update(write_scenario(scenario, self.path))
        self._write_json("meta.json", self._meta)

    def repetition(self, number: int) -> Path:
        """The folder of a repetition, which is made when the repetition starts."""
        return self.path / f"rep-{number:03d}"

    def finish(self, summary: dict[str, Any], exit_code: int) -> None:
        """Record the summary of a run that has come to its end; it has failed if repetitions were lost."""
        self._write_json("summary.json", summary)
        if summary["lost"]:
            self.end("failed", exit_code, error=" | ".join(summary["lost"]))
        else:
            self.end("finished", exit_code)

    def end(self, status: str, exit_code: int, **more: Any) -> None:
        """Record that the run has ended, and how."""
        wall = (datetime.now(UTC) - self._started).total_seconds()
        self._meta.update(status=status, exit=exit_code, wall_time_s=round(wall, 3), **more)
        self._write_json("meta.json", self._meta)

    def _write_json(self, name: str, value: dict[str, Any]) -> None:
        write_json(self.path / name, value)


@contextmanager
def fresh_directory(out: Path, name: str) -> Iterator[Path]:
    """Make a directory for results before the work starts, so that no work is lost if it cannot be made.

    It is removed at the end if it is empty.
    """
    path = _fresh(out, name, datetime.now(UTC))
    try:
        with results_in(path):
            yield path
    finally:
        with suppress(OSError):
            path.rmdir()  # fails if there is anything in it


def _fresh(out: Path, name: str, started: datetime) -> Path:
    path = out / f"{name}-{started:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    make_directory(path)
    return path
