"""The events of a run in the order of time, from the logs that its processes are still writing.

Every process reports its clock: all its events up to that time can be read then. So the events up to the earliest clock
are complete, and are passed on in order; later ones wait.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from heapq import merge
from pathlib import Path
from typing import IO, Any

FOR_EVER = 1 << 62

Item = tuple[int, Any]
"""A time, and what happened then: an event of a log as a dict, or a function to call."""


class LogTail:
    """The events of a log that is still being written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._rest = b""
        self.waiting: deque[Item] = deque()
        self.clock = -1
        """All events up to this time can be read."""

    def read(self) -> None:
        """Read the lines that have been written since the last call; an incomplete last line waits."""
        if self._file is None:
            try:
                self._file = self._path.open("rb")
            except FileNotFoundError:
                return
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            event = json.loads(line)
            self.waiting.append((event["t"], event))

    @property
    def is_closed(self) -> bool:
        """Whether the log is known to be complete."""
        return self.clock == FOR_EVER

    def close(self) -> None:
        """The log is complete: read the rest."""
        if self.is_closed:
            return
        self.read()
        self.clock = FOR_EVER
        if self._file is not None:
            self._file.close()


class Timeline:
    """All logs of a run, and what the orchestrator itself adds."""

    def __init__(self) -> None:
        self.tails: list[LogTail] = []
        self._own: deque[Item] = deque()

    def add(self, t: int, happen: Callable[[], None]) -> None:
        """Something that happens at time t, which must not be earlier than what was added last."""
        self._own.append((t, happen))

    def take(self, now: int) -> Iterator[Item]:
        """What is complete: everything up to the earliest of all clocks and `now`."""
        clocks = [tail.clock for tail in self.tails]  # taken first: what was logged up to them can be read now
        limit = min([now, *clocks])
        for tail in self.tails:
            if not tail.is_closed:
                tail.read()
        queues = [self._own, *(tail.waiting for tail in self.tails)]
        ready = [_up_to(queue, limit) for queue in queues if queue and queue[0][0] <= limit]
        return merge(*ready, key=lambda item: item[0])


def _up_to(queue: deque[Item], limit: int) -> list[Item]:
    taken = []
    while queue and queue[0][0] <= limit:
        taken.append(queue.popleft())
    return taken
