"""Errors a user sees as one line, each with the exit code it leads to."""

from __future__ import annotations

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
