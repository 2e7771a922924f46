"""What happened in a run, in the order of time, put together from the logs that its processes are still writing.

Every source says how far its clock has come, and everything it will ever say of an earlier time can be read by then. So
what is earlier than all clocks is complete, and is passed on in order; the rest waits.
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
    """The events of a log that somebody is writing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._rest = b""
        self.waiting: deque[Item] = deque()
        self.clock = -1
        """Everything up to here can be read."""

    def read(self) -> None:
        """Take the lines that have been written since the last time; one that is not whole has to wait."""
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
        """Whether it is known that nobody will write any more."""
        return self.clock == FOR_EVER

    def close(self) -> None:
        """Nobody will write any more."""
        if self.is_closed:
            return
        self.read()
        self.clock = FOR_EVER
        if self._file is not None:
            self._file.close()


class Timeline:
    """All sources of a run, and what the orchestrator itself adds."""

    def __init__(self) -> None:
        self.tails: list[LogTail] = []
        self._own: deque[Item] = deque()

    def add(self, t: int, happen: Callable[[], None]) -> None:
        """Something that happens at a time, which must not be before what was added last."""
        self._own.append((t, happen))

    def take(self, now: int) -> Iterator[Item]:
        """What is complete: all that is earlier than every clock, our own reading included."""
        clocks = [tail.clock for tail in self.tails]  # before reading: what they stand for can be read now
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
