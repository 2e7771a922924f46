"""The event log: writes the events of a repetition as JSON lines, those that its trace level includes.

A line is written whole or, if the process is killed, is the last one and cut short; readers leave that one out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import IO, Any

from agents.message import Message
from analysis.events import KINDS, supports
from analysis.listener import Listener, method_name
from testbed.files import open_output

_dumps = json.JSONEncoder(separators=(",", ":")).encode


class EventLog(Listener):
    """A listener that writes to a file. Use it as a context manager."""

    def __init__(self, path: Path, trace: str) -> None:
        self._file: IO[str] = open_output(path, 1 << 16)
        for kind, (_, fields) in KINDS.items():
            if supports(trace, kind):
                setattr(self, method_name(kind), self._writer(kind, fields))

    def _writer(self, kind: str, fields: tuple[str, ...]) -> Callable[..., None]:
        write = self._file.write
        # The keys of a kind never change, so they are written into a template once.
        template = '{"t":%s,"node":%s,"kind":' + _dumps(kind) + "".join(f',"{name}":%s' for name in fields) + "}\n"

        def write_event(t: int, node: int | None, *values: Any) -> None:
            write(template % (t, "null" if node is None else node, *map(_json, values)))

        return write_event

    def flush(self) -> None:
        """Pass what was written so far to the operating system, so that it is kept if this process is killed."""
        self._file.flush()

    def __enter__(self) -> EventLog:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()


def _json(value: Any) -> Any:
    if type(value) is int:
        return value
    return _dumps(astuple(value) if isinstance(value, Message) else value)  # type: ignore[call-overload]
