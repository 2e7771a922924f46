"""A scenario small enough to run in milliseconds, as text that a test can change, and what it takes to run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from agents.contract import Demand
from agents.rl import ReverseLink

KEYS = {
    "name": "tiny",
    "algorithm": "rl",
    "nodes": "5",
    "topology": "complete",
    "workload": "{rate: 0.1}",
    "duration": "50",
}


def tiny(more: str = "", **changes: str | None) -> str:
    """The scenario with some keys changed (None leaves one out) and more lines, the first of which is line 7."""
    keys = {**KEYS, **changes}
    return "".join(f"{key}: {value}\n" for key, value in keys.items() if value is not None) + more


def write_tiny(folder: Path, more: str = "", **changes: str | None) -> Path:
    """The scenario as a file."""
    path = folder / "tiny.yaml"
    path.write_text(tiny(more, **changes), encoding="utf-8")
    return path


def command(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(command_line(*arguments), capture_output=True, text=True, timeout=60, **options)


def command_line(*arguments: object) -> list[str]:
    """The command line as a list."""
    return [sys.executable, "-m", "testbed.cli.main", *map(str, arguments)]


def only_run(out: Path) -> Path:
    """The one run directory in a folder."""
    (path,) = out.iterdir()
    return path


def is_one_line(text: str) -> bool:
    """Whether a text is one line, by any idea of what a line is."""
    return text.endswith("\n") and len(text.splitlines()) == 1


class Unsafe(ReverseLink):
    """Lets everybody in."""

    def on_request(self, demand: Demand) -> None:
        self.enter()

    def on_release(self) -> None:
        """Nothing was taken, so nothing is given back."""
