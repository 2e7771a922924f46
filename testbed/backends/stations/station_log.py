"""A station's own log: every event of its node, with everything that a replay needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.batched import BatchedListener
from analysis.events import LEVELS
from testbed.runtime.event_log import EventLog


def log_path(folder: Path, node: int, incarnation: int) -> Path:
    """Where an incarnation of a node logs its events."""
    return folder / "nodes" / f"{node:03d}-{incarnation}.jsonl"


def output_path(folder: Path, name: str) -> Path:
    """The file for what a process prints."""
    return folder / "nodes" / f"{name}.log"


class StationLog(EventLog, BatchedListener):
    """Writes every event that the driver passes, as it happens."""

    each_message = True

    def __init__(self, path: Path) -> None:
        super().__init__(path, LEVELS[-1])
        self.others = self
        self.note_step = self.note_move = _drop


def _drop(note: Any) -> None:
    """This listener receives every event, so batched notes are dropped."""
