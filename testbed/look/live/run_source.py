"""What is served of a run that goes on: the page of `testbed view`, and the log as it grows.

The page reads the log itself. So serving costs little more than reading a file, however much happens in it; and who
comes late gets all of it.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.events import KINDS, Start
from testbed.look.live.server import Reply
from testbed.look.page import page
from testbed.look.view.about import about, body_of, title_of, trace_notes
from testbed.look.view.ground import ground
from testbed.look.view.make import SCRIPTS
from testbed.scenario.loader import load

LOOK_EVERY_S = 0.2
SAY_EVERY_S = 1.0
MOST_BYTES = 1 << 18
"""Read at a time."""
_HTML, _TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
_STOP = re.compile(rb'\{"t":\d+,"node":null,"kind":"stop",')


class RunSource:
    """A run directory, once the command has said which one it is."""

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._said: dict[str, Any] = {"share": 0.0, "words": "", "status": "running", "ended": False}
        self._pages: dict[int, bytes] = {}
        self._making = threading.Lock()

    def hear(self, told: dict[str, Any]) -> None:
        """The command says where the run directory is, how far the run is, or that it has ended."""
        if "directory" in told:
            self._directory = Path(told["directory"])
        self._said = {**self._said, **told}

    def reply(self, name: str, query: Mapping[str, str]) -> Reply | None:
        """The page, or the log of a repetition."""
        begun = self._begun()
        asked = query.get("repetition", "")
        number = int(asked) if re.fullmatch(r"\d{1,5}", asked) else None
        if name == "log":
            return Reply(_TEXT, self._lines(number)) if number in begun else None
        if name != "" or (number is not None and number not in begun):
            return None
        shown = number if number is not None else self._going_on(begun)
        if shown is None or not _first_line(self._log(shown)):
            return Reply(_HTML, [_waiting_page()], {"Refresh": "1"})
        return Reply(_HTML, [self._page(shown)])

    def _log(self, number: int) -> Path:
        assert self._directory is not None
        return self._directory / f"rep-{number:03d}" / "events.jsonl"

    def _begun(self) -> list[int]:
        """The repetitions that have begun."""
        if self._directory is None:
            return []
        logs = self._directory.glob("rep-[0-9][0-9][0-9]*/events.jsonl")
        return sorted(int(log.parent.name[4:]) for log in logs if log.stat().st_size)

    def _going_on(self, begun: Sequence[int]) -> int | None:
        """The first repetition that has not ended, or else the last one; None if none has begun."""
        return next((number for number in begun if not _has_stopped(self._log(number))), begun[-1] if begun else None)

    def _page(self, number: int) -> bytes:
        with self._making:
            if number not in self._pages:
                self._pages[number] = self._make_page(number).encode()
            return self._pages[number]

    def _make_page(self, number: int) -> str:
        assert self._directory is not None
        scenario, log = load(self._directory / "scenario.yaml"), self._log(number)
        first = json.loads(_first_line(log))
        start = Start(*(first[name] for name in KINDS["start"][1]))
        facts = {
            **about(self._directory, scenario, number, start),
            "live": True,
            "at": None,
            "verdicts": {},
            "notes": trace_notes(start.trace),
            "marks": [],
        }
        data = {"run": facts, "ground": ground(scenario, log.parent), "happened": None, "states": None}
        title = title_of(scenario, number)
        return page(title, body_of(title), styles=["view/view.css"], scripts=SCRIPTS, data=data, may_fetch=True)

    def _lines(self, number: int) -> Iterator[bytes]:
        """The lines of a log, from the first on, and now and then what the command says.

        It ends when another repetition has begun after the end of this one, or the run has ended.
        """
        rest, has_stopped, said, said_at = b"", False, self._said, -SAY_EVERY_S
        with self._log(number).open("rb") as log:
            while True:
                ended = self._said["ended"]  # asked before reading: all lines are written before it is said
                read = log.read(MOST_BYTES)
                whole, newline, rest = (rest + read).rpartition(b"\n")
                if newline:
                    has_stopped = _is_stop(whole)
                    yield whole + newline
                if len(read) == MOST_BYTES:  # there is more
                    continue
                now = time.monotonic()
                if ended or said is not self._said or now - said_at >= SAY_EVERY_S:
                    said, said_at, begun = self._said, now, self._begun()
                    yield json.dumps({"live": {**said, "begun": begun}}).encode() + b"\n"
                    if ended or (has_stopped and begun[-1] > number):
                        return
                time.sleep(LOOK_EVERY_S)


def _first_line(log: Path) -> bytes:
    """Of a log, or nothing if it is not there yet."""
    try:
        with log.open("rb") as opened:
            line = opened.readline()
    except OSError:
        return b""
    return line if line.endswith(b"\n") else b""


def _has_stopped(log: Path) -> bool:
    with log.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - MOST_BYTES))
        return _is_stop(opened.read().rstrip(b"\n"))


def _is_stop(lines: bytes) -> bool:
    """Whether the last one of these lines is the end of a repetition."""
    return _STOP.match(lines[lines.rfind(b"\n") + 1 :]) is not None


def _waiting_page() -> bytes:
    return page("testbed", "<main><h1>testbed</h1><p>The run is being started.</p></main>").encode()
