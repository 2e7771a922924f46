"""Errors a user sees as one line, each with the exit code it leads to."""

from __future__ import annotations

import errno
from dataclasses import dataclass


def one_line(text: str) -> str:
    """The text in one line: every character that cannot be printed is written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class TestbedError(Exception):
    """Base of the errors that end a command with one line."""

    exit_code = 1
    __test__ = False  # the name begins like a test's


class InputError(TestbedError):
    """The user's input is wrong."""

    exit_code = 2


@dataclass
class ScenarioError(InputError):
    """A scenario is wrong: where, what was found there, what is allowed, and which key was perhaps meant."""

    file: str
    line: int | None
    key: str
    found: str
    allowed: str
    nearest: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        parts = [f"{place}: "]
        if self.key:
            parts.append(f"{self.key}: ")
        parts.append(f"found {self.found}; allowed: {self.allowed}" if self.allowed else self.found)
        if self.nearest:
            parts.append(f" (did you mean {self.nearest}?)")
        return one_line("".join(parts))


class BackendError(TestbedError):
    """A backend cannot run here. The text says what is missing and how to get it."""

    exit_code = 3


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors that say that there is no room for a file."""


class MachineError(TestbedError):
    """This machine cannot go on: it has no space, no permission or no memory. The text says what it lacks and where."""

    exit_code = 3

    @classmethod
    def of(cls, error: OSError | MemoryError, place: object = None) -> MachineError:
        """The same as one line. `place` is what an error is about that names no file itself."""
        if isinstance(error, MemoryError):
            return cls("this machine has not enough memory for that")
        file = error.filename2 or error.filename or place  # of two files, the second is the one to be written
        what = error.strerror or str(error)
        return cls(what if file is None else f"{file}: {what}")


class InconclusiveError(TestbedError):
    """A run shows nothing of the algorithm, because the machine did not keep time. The text says what to do."""

    exit_code = 4
