"""Progress on a terminal: one line on stderr that is rewritten. Nothing at all if nobody watches."""

from __future__ import annotations

import sys
import time


class Progress:
    """Call it with the share that is done and what is being done; leaving the context clears the line."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._begin = time.monotonic()
        self._last = 0.0

    def __call__(self, share: float, what: str) -> None:
        now = time.monotonic()
        if not self._shown or now - self._last < 0.1:
            return
        self._last = now
        elapsed = now - self._begin
        left = f", {elapsed / share - elapsed:.0f} s left" if share > 0.02 else ""
        bar = ("#" * round(share * 20)).ljust(20, ".")
        sys.stderr.write(f"\r\x1b[K[{bar}] {share:4.0%} {what}{left}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Wipe the line, to print something else."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        self.clear()
