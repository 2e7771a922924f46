"""Progress on a terminal: one line on stderr that is rewritten. Nothing is printed if stderr is not a terminal.

A run in a guest prints its progress as lines of JSON, which the process that asked for the run shows.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

Report = Callable[[float, str], None]
"""Takes the share that is done and what is being done."""
AS_LINES = "TESTBED_PROGRESS_LINES"
"""An environment variable: if it is set, progress is printed as lines `[share, "what"]`."""


class Progress:
    """Call it with the share that is done and what is being done; leaving the context clears the line."""

    def __init__(self) -> None:
        self._as_lines = bool(os.environ.get(AS_LINES))
        self._shown = sys.stderr.isatty() and not self._as_lines
        self._begin = time.monotonic()
        self._last = 0.0

    def __call__(self, share: float, what: str) -> None:
        now = time.monotonic()
        if not (self._shown or self._as_lines) or now - self._last < 0.1:
            return
        self._last = now
        if self._as_lines:
            self._write(json.dumps([share, what]) + "\n")
            return
        elapsed = now - self._begin
        left = f", {elapsed / share - elapsed:.0f} s left" if share > 0.02 else ""
        bar = ("#" * round(share * 20)).ljust(20, ".")
        self._write(f"\r\x1b[K[{bar}] {share:4.0%} {what}{left}")

    def clear(self) -> None:
        """Clear the line, so that something else can be printed."""
        if self._shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:  # the terminal was closed, which must not end a run that ignores that
            self._shown = self._as_lines = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        self.clear()
