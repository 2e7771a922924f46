"""How far the making of a page is: a long log takes seconds to read, and the states of its agents many more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from analysis.events import KINDS
from analysis.listener import Listener, method_name
from testbed.progress import Report
from testbed.replay.replayer import NodeReplay

EVERY = 1_000
"""Events between two reports."""
READING = 0.15
"""The share of reading in the time that a page with states takes."""


class ReadingProgress(Listener):
    """Reports how much of a log has been read. It takes every event of the log and looks at none of them."""

    def __init__(self, report: Report, lines: int, share: float) -> None:
        self._report = report
        self._lines = lines
        self._share = share
        self._read = 0
        report(0.0, "reading the log")
        for name in map(method_name, KINDS):
            setattr(self, name, self._count)

    def _count(self, *event: Any) -> None:
        self._read += 1
        if self._read % EVERY == 0:
            self._report(self._share * self._read / self._lines, "reading the log")


def with_progress(replays: Iterable[NodeReplay], nodes: int, report: Report) -> Iterator[NodeReplay]:
    """The replays of all nodes, each reported before it is made."""
    following = iter(replays)
    for number in range(nodes):
        report(READING + (1 - READING) * number / nodes, f"states of node {number + 1} of {nodes}")
        yield next(following)


def count_lines(log: Path) -> int:
    """How many events a log has at most; 0 if it cannot be read, which is for its reader to report."""
    try:
        with log.open("rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0
