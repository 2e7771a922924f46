"""A station's own log: every event of its node, with all that is needed to replay it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.batches import Noting
from analysis.events import LEVELS
from testbed.runtime.event_log import Recorder


def log_path(folder: Path, node: int, life: int) -> Path:
    """Where a life of a node logs its events."""
    return folder / "nodes" / f"{node:03d}-{life}.jsonl"


def output_path(folder: Path, name: str) -> Path:
    """Where a process leaves what it prints."""
    return folder / "nodes" / f"{name}.log"


class StationLog(Recorder, Noting):
    """Takes everything that the driver tells, as it happens."""

    each_message = True

    def __init__(self, path: Path) -> None:
        super().__init__(path, LEVELS[-1])
        self.others = self
        self.note_step = self.note_move = _leave


def _leave(note: Any) -> None:
    """Nobody needs notes who is told of the events themselves."""
