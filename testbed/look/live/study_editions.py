"""The report of a study that is being run, made again when there are more results, and not too often.

A look at the store counts what has ended, which is cheap, and makes the report of it if that has changed. The store is
opened for a look and closed after it: the process that is the last to close it tidies it up, and the one that serves
pages may be ended at any time in between.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.store import FILE, Store
from testbed.errors import TestbedError
from testbed.experiments.studies.open import opened_store
from testbed.experiments.studies.study import Study
from testbed.experiments.studies.sweep import Sweep
from testbed.look.report.blocks import Report
from testbed.look.report.study_report import study_report

REST = 30.0
"""So many times as long as a look has taken there is none, and as making a report has taken, no other is made. So each
takes at most 1/31 of a core from the sweep, however large the study is."""
COUNT_EVERY_S = 0.5
LONG_S = 1.0
"""A report that takes longer to make is not made at the end, for the command does not wait so long for viewers."""


@dataclass(frozen=True)
class Edition:
    """The report as it was made at one moment."""

    version: int
    report: Report
    line: bytes
    """For viewers that have an earlier one."""
    wanted: int
    """Repetitions that the study wanted then."""


class Editions:
    """The report of a study as its store fills. One thread at a time may look."""

    def __init__(self, study: Study, store: Path) -> None:
        self._study, self._store = study, store
        most = study.repetitions.at_most
        self._jobs = [job for point in study.points for job in point.stored.jobs(most)]
        self.latest: Edition | None = None
        self._ended: dict[str, bool] = {}
        """The repetitions that have ended, and whether each has an outcome."""
        self._shown: dict[str, bool] = {}
        """The same, when the latest edition was made."""
        self._seen: list[tuple[int, int]] = []
        self._count = _Rationed(self._count_ended, least_s=COUNT_EVERY_S)
        self._make = _Rationed(self._make_edition)

    @property
    def is_up_to_date(self) -> bool:
        """Whether the latest edition has all that has been counted."""
        return self.latest is not None and self._ended == self._shown

    def counts(self) -> tuple[int, int, int]:
        """How many repetitions have an outcome, how many ended with an error, and how many are wanted."""
        ended = self._ended
        done = sum(ended.values())
        return done, len(ended) - done, max(self.latest.wanted if self.latest is not None else 0, len(ended))

    def look(self) -> None:
        """Count what has ended, and make an edition if it shows more, each if it is time for it."""
        self._count()
        if not self.is_up_to_date:
            self._make()

    def look_at_the_end(self) -> None:
        """For viewers, if there have been any, and if it does not take long."""
        if self.latest is not None:
            self._count_ended()
            if not self.is_up_to_date and self._make.took <= LONG_S:
                self._make_edition()

    def _count_ended(self) -> None:
        stamps = self._stamps()
        if stamps == self._seen:  # no process has written anything
            return
        try:
            with opened_store(self._store, create=False) as store:
                self._ended = store.states(self._jobs)
            self._seen = stamps
        except TestbedError:  # the sweep has not made it yet, or it has an error that the sweep will report
            pass

    def _stamps(self) -> list[tuple[int, int]]:
        """When the files of the store were last written: the results, and the journal in which new ones are first."""
        found = []
        for file in (self._store / FILE, self._store / f"{FILE}-wal"):
            try:
                stat = file.stat()
            except OSError:
                continue
            found.append((stat.st_mtime_ns, stat.st_size))
        return found

    def _make_edition(self) -> None:
        try:
            with opened_store(self._store, create=False) as store:
                self._edit(store)
        except TestbedError:  # as above
            if self.latest is None:
                with Store(None) as nothing:
                    self._edit(nothing)

    def _edit(self, store: Store) -> None:
        self._ended = shown = store.states(self._jobs)
        results = Sweep(self._study, store).results()
        version = 1 if self.latest is None else self.latest.version + 1
        report = study_report(results, None)
        wanted = len(results.rows) + len(results.notes) + results.missing
        self.latest = Edition(version, report, line_of({"version": version, "report": report.parts()}), wanted)
        self._shown = shown


class _Rationed:
    """Work that is left out if it would take more than its share of a core."""

    def __init__(self, work: Callable[[], None], least_s: float = 0.0) -> None:
        self._work, self._least_s = work, least_s
        self.took = 0.0
        """Seconds of processor time, the last time."""
        self._next = 0.0

    def __call__(self) -> None:
        if time.monotonic() < self._next:
            return
        began = time.thread_time()
        self._work()
        self.took = time.thread_time() - began
        self._next = time.monotonic() + max(REST * self.took, self._least_s)


def line_of(value: dict[str, Any]) -> bytes:
    """One line of news."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"
