"""What is served of a study that is being run: the page of `testbed report`, and news of it as results come in."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from testbed.experiments.studies.estimate import in_words
from testbed.experiments.studies.study import Study
from testbed.look.live.server import Reply
from testbed.look.live.study_editions import Edition, Editions, line_of

LOOK_EVERY_S = 0.25
SAY_EVERY_S = 1.0
LEAST_SHARE = 0.02
"""Of the work; before that much is done, there is no estimate of the time that is left."""
_HTML, _LINES = "text/html; charset=utf-8", "application/x-ndjson; charset=utf-8"
_ENDS = {
    "finished": "The sweep has finished",
    "interrupted": "The sweep was interrupted, and the same command goes on where it was",
    "failed": "The sweep ended with an error, which its terminal shows",
}


class StudySource:
    """A study and its store. `report_command` is what makes a file of the page."""

    def __init__(self, study: Study, store: Path, report_command: str) -> None:
        self._study, self._command = study, report_command
        self._editions = Editions(study, store)
        self._looking, self._is_over = threading.Lock(), threading.Event()
        self._said: dict[str, Any] = {"share": 0.0, "words": "", "status": "running", "ended": False}
        self._began: tuple[float, float] | None = None
        """When the command began a batch of runs, and with which share done."""

    # -- what the command says ---------------------------------------------------------------------------------------

    def hear(self, told: dict[str, Any]) -> None:
        """The command says how far it is, or that it has ended."""
        said = {**self._said, **told}
        if self._began is None or said["share"] < self._said["share"] / 2:
            self._began = (time.monotonic(), said["share"])
        if told.get("ended"):
            with self._looking:  # no look is under way, and none comes after the last one
                self._editions.look_at_the_end()
                self._said = said
            self._is_over.set()
        else:
            self._said = said

    def _seconds_left(self) -> float | None:
        if self._began is None:
            return None
        began, share_then = self._began
        share = self._said["share"]
        if share - share_then < LEAST_SHARE:
            return None
        return float((time.monotonic() - began) * (1.0 - share) / (share - share_then))

    # -- what viewers get --------------------------------------------------------------------------------------------

    def reply(self, name: str, query: Mapping[str, str]) -> Reply | None:
        """The page, or news of it: lines that come until the sweep ends."""
        if name == "news":
            return Reply(_LINES, self._news(query.get("since", "")))
        edition = self._latest(waits=True) if name == "" else None
        return None if edition is None else Reply(_HTML, [self._page(edition)])

    def _page(self, edition: Edition) -> bytes:
        lost = f"The sweep no longer answers: it has ended, or was killed. {self._then()}"
        live = {"version": edition.version, "told": self._told(), "lost": lost, "command": self._command}
        return edition.report.html(live).encode()

    def _news(self, since: str) -> Iterator[bytes]:
        """Each newer edition of the report, and every second how far the sweep is."""
        version, said_at = since, float("-inf")
        while True:
            has_ended = self._said["ended"]  # asked first: the last edition is made before it is said
            edition = self._latest()
            if edition is not None and str(edition.version) != version:
                version = str(edition.version)
                yield edition.line
            now = time.monotonic()
            if has_ended or now - said_at >= SAY_EVERY_S:  # also if nothing is new: so a viewer's end is noticed
                said_at = now
                yield line_of(self._told())
            if has_ended:
                return
            self._is_over.wait(LOOK_EVERY_S)

    def _latest(self, *, waits: bool = False) -> Edition | None:
        """The latest edition. If it is time for a new one, the first viewer that asks makes it for all."""
        if self._looking.acquire(blocking=waits and self._editions.latest is None):
            try:
                if not self._said["ended"]:
                    self._editions.look()
            finally:
                self._looking.release()
        return self._editions.latest

    # -- how far the sweep is ----------------------------------------------------------------------------------------

    def _told(self) -> dict[str, Any]:
        """How far the sweep is, as the page shows it."""
        done, failed, wanted = self._editions.counts()
        ended = self._said["ended"]
        more = " or more" if self._study.repetitions.until and not ended else ""
        parts = [f"{done:,} of {wanted:,}{more} runs"] + [f"{failed:,} ended with an error"] * bool(failed)
        if ended:
            end = _ENDS.get(self._said["status"], "The sweep was killed, and the same command goes on where it was")
            text = f"{end}: {', '.join(parts)}. {self._then()}"
        else:
            left, words = self._seconds_left(), self._said["words"].removeprefix(self._study.name).lstrip(": ")
            parts += [words] * bool(words) + ([] if left is None else [f"about {in_words(left)} left"])
            text = ", ".join(parts)
        return {"share": (done + failed) / max(1, wanted), "text": text, "ended": ended}

    def _then(self) -> str:
        """What a reader can do after the end; the page shows the command after it."""
        lacks = "" if self._editions.is_up_to_date else ", and lacks the latest results"
        return f"This page stays as it is{lacks}. A file of all that is there:"
