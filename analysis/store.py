"""A store of results that outlives the commands which fill it: one SQLite file, and what belongs to it, in a folder.

Its unit is a job: one repetition of one point. A job's name is a hash of everything that decides its result, so a
result is never wrong for its name, and a job that is there need not be run again. A result is there as a whole or not
at all, whenever the process that writes it is killed.

Several processes may work on one store. Each is an owner: it holds a lock on a file of its own, which the kernel
releases when the process ends in any way. An owner claims a job before it runs it, and claims of owners that have ended
are void. The store must be on a local disk.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

VERSION = 1
FILE = "results.sqlite"
_APPLICATION = 0x54424544
_BUSY_S = 60.0
_MANY = 500
"""Names in one question; SQLite has a limit."""
_LACKS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FAULTS = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY)
"""Errors of the machine, in the system's and in SQLite's numbers; others are of what the user asked for."""
_TABLES = (
    "CREATE TABLE points (point TEXT PRIMARY KEY, content TEXT NOT NULL, scenario TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX by_content ON points (content)",
    "CREATE TABLE results (job TEXT PRIMARY KEY, outcome TEXT, error TEXT, seconds REAL, finished TEXT) WITHOUT ROWID",
    "CREATE TABLE claims (job TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE plans (name TEXT PRIMARY KEY, plan TEXT NOT NULL, written TEXT NOT NULL) WITHOUT ROWID",
)


def is_store(path: Path) -> bool:
    """Whether a path is that of a store."""
    return (path / FILE).is_file()


class StoreError(Exception):
    """The store cannot be used. The text names its file and what is wrong."""

    is_of_machine = False
    """Whether the machine is at fault, such as one with no room on its disk."""


@dataclass(frozen=True)
class Stored:
    """What the store has of a job: its outcome, or the error that it ended with."""

    outcome: dict[str, Any] | None
    error: str | None
    seconds: float | None


class Store:
    """An open store. Without a path it is in memory, for one process."""

    def __init__(self, path: Path | None, *, create: bool = True) -> None:
        self.path = path
        self._owner: str | None = None
        self._owner_lock: int | None = None
        with self._errors():
            if path is not None:
                # In this order, for another process may be making the store now.
                has_files = path.is_dir() and any(path.iterdir())
                if not (path / FILE).is_file() and (has_files or not create):
                    raise StoreError(f"{path}: not a store (it has no {FILE})")
                path.mkdir(parents=True, exist_ok=True)
            where = ":memory:" if path is None else str(path / FILE)
            # Every statement is a transaction of its own, unless `_transaction` makes one of several.
            self._db = sqlite3.connect(where, timeout=_BUSY_S, isolation_level=None)
            try:
                self._open()
            except BaseException:
                self._db.close()
                raise

    def _open(self) -> None:
        # In one question, for the same reason.
        values = "(SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id)"
        tables = "(SELECT count(*) FROM sqlite_schema)"
        version, application, count = self._db.execute(f"SELECT {values}, {tables}").fetchone()
        if (version, application) != (VERSION, _APPLICATION) and (version, application, count) != (0, 0, 0):
            what = f"a store of version {version}" if application == _APPLICATION else "not a store"
            raise StoreError(f"{self.path}: {what}; this testbed has stores of version {VERSION}")
        self._write_ahead()
        self._db.execute("PRAGMA synchronous = NORMAL")  # a kill loses nothing; a power cut perhaps the last results
        with self._transaction():
            if self._pragma("user_version") == 0:
                for table in _TABLES:
                    self._db.execute(table)
                self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._db.execute(f"PRAGMA user_version = {VERSION}")

    def _write_ahead(self) -> None:
        """Have the journal that lets others read meanwhile. SQLite itself does not wait for others that ask for it."""
        deadline = time.monotonic() + _BUSY_S
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _pragma(self, name: str) -> int:
        (value,) = self._db.execute(f"PRAGMA {name}").fetchone()
        return int(value)

    def close(self) -> None:
        """Give up all claims and close the file."""
        if self._owner is not None and self._owner_lock is not None:
            with suppress(StoreError), self._errors():
                self._db.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))
            self._lock_file(self._owner).unlink(missing_ok=True)
            os.close(self._owner_lock)
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        place = "the store" if self.path is None else self.path / FILE
        try:
            yield
        except sqlite3.Error as error:
            raised = StoreError(f"{place}: {error}")
            raised.is_of_machine = getattr(error, "sqlite_errorcode", 0) & 0xFF in _FAULTS  # the rest is a detail
            raise raised from error
        except OSError as error:
            raised = StoreError(f"{self.path}: {error.strerror}")
            raised.is_of_machine = error.errno in _LACKS
            raise raised from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # -- results -----------------------------------------------------------------------------------------------------

    def get(self, jobs: Sequence[str]) -> dict[str, Stored]:
        """What is there of these jobs."""
        found: dict[str, Stored] = {}
        with self._errors():
            for names in _in_parts(jobs):
                question = f"SELECT job, outcome, error, seconds FROM results WHERE job IN ({_marks(names)})"
                for job, outcome, error, seconds in self._db.execute(question, names):
                    found[job] = Stored(None if outcome is None else json.loads(outcome), error, seconds)
        return found

    def states(self, jobs: Sequence[str]) -> dict[str, bool]:
        """Which of these jobs have ended, and whether each has an outcome; a job that ended with an error has none."""
        found: dict[str, bool] = {}
        with self._errors():
            for names in _in_parts(jobs):
                question = f"SELECT job, error IS NULL FROM results WHERE job IN ({_marks(names)})"
                found.update((job, bool(is_well)) for job, is_well in self._db.execute(question, names))
        return found

    def put(self, jobs: Iterable[tuple[str, dict[str, Any] | None, str | None, float | None]]) -> None:
        """Enter jobs that have ended: name, outcome or None, error or None, and how long it took. All, or none."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [
            (job, None if outcome is None else json.dumps(outcome, separators=(",", ":")), error, seconds, now)
            for job, outcome, error, seconds in jobs
        ]
        with self._errors(), self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", rows)
            self._db.executemany("DELETE FROM claims WHERE job = ?", [(row[0],) for row in rows])

    def remove(self, jobs: Sequence[str]) -> None:
        """Forget jobs, so that they are run again."""
        with self._errors(), self._transaction():
            self._db.executemany("DELETE FROM results WHERE job = ?", [(job,) for job in jobs])

    def typical_seconds(self, jobs: Sequence[str]) -> float | None:
        """How long such jobs take: the mean of those that are there; None if none is."""
        known = [one.seconds for one in self.get(jobs).values() if one.seconds is not None]
        return sum(known) / len(known) if known else None

    # -- points and plans --------------------------------------------------------------------------------------------

    def add_points(self, points: Iterable[tuple[str, str, str]]) -> None:
        """Enter points: name, hash of the content without the code, and the resolved scenario."""
        with self._errors(), self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO points VALUES (?, ?, ?)", points)

    def with_results(self, contents: Sequence[str]) -> set[str]:
        """Which of these contents the store has results of, by any code."""
        found: set[str] = set()
        with self._errors():
            for names in _in_parts(contents):
                # The names of a point's jobs begin with its own and a hyphen; the next character is the full stop.
                has_results = "EXISTS (SELECT 1 FROM results WHERE job > point || '-' AND job < point || '.')"
                question = f"SELECT content FROM points WHERE content IN ({_marks(names)}) AND {has_results}"
                found.update(content for (content,) in self._db.execute(question, names))
        return found

    def write_plan(self, name: str, plan: dict[str, Any]) -> None:
        """Keep which jobs a study consists of; a newer one of the same name replaces it."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")  # `plan` asks which is the last
        with self._errors(), self._transaction():
            self._db.execute("INSERT OR REPLACE INTO plans VALUES (?, ?, ?)", (name, json.dumps(plan), now))

    def plan(self, name: str | None = None) -> dict[str, Any]:
        """The plan of that name, or the last one that was written."""
        with self._errors():
            question = "SELECT plan FROM plans WHERE ?1 IS NULL OR name = ?1 ORDER BY written DESC LIMIT 1"
            found = self._db.execute(question, (name,)).fetchone()
        if found is None:
            raise StoreError(f"{self.path}: has no study{'' if name is None else f' {name}'}")
        plan: dict[str, Any] = json.loads(found[0])
        return plan

    # -- who works on what -------------------------------------------------------------------------------------------

    def claim(self, job: str) -> bool:
        """Claim a job. It is refused if the job has ended, or another process works on it, or this one does."""
        with self._errors():
            owner = self._own()
        with self._errors(), self._transaction():
            if self._db.execute("SELECT 1 FROM results WHERE job = ?", (job,)).fetchone() is not None:
                return False
            held = self._db.execute("SELECT owner FROM claims WHERE job = ?", (job,)).fetchone()
            if held is not None and self._is_alive(held[0]):
                return False
            self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (job, owner))
        return True

    def release(self, job: str) -> None:
        """Give up the claim of a job that did not end."""
        with self._errors():
            self._db.execute("DELETE FROM claims WHERE job = ? AND owner = ?", (job, self._owner))

    def claimed_elsewhere(self, jobs: Sequence[str]) -> int:
        """How many of these jobs other processes work on."""
        count = 0
        with self._errors():
            for names in _in_parts(jobs):
                question = f"SELECT owner FROM claims WHERE job IN ({_marks(names)})"
                owners = [owner for (owner,) in self._db.execute(question, names)]
                count += sum(owner != self._owner and self._is_alive(owner) for owner in owners)
        return count

    def _own(self) -> str:
        """This process as an owner: a file that it has locked until it ends."""
        if self._owner is None:
            self._owner = uuid.uuid4().hex
            if self.path is None:
                return self._owner
            file = self._lock_file(self._owner)
            file.parent.mkdir(exist_ok=True)
            self._owner_lock = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._owner_lock, fcntl.LOCK_EX)
        return self._owner

    def _lock_file(self, owner: str) -> Path:
        assert self.path is not None, "a store in memory has one process"
        return self.path / "owners" / f"{owner}.lock"

    def _is_alive(self, owner: str) -> bool:
        """Whether the process of an owner runs. The file of one that has ended is removed."""
        if owner == self._owner:
            return True
        file = self._lock_file(owner)
        try:
            lock = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        else:
            file.unlink(missing_ok=True)
            return False
        finally:
            os.close(lock)


def _in_parts(names: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(names), _MANY):
        yield list(names[start : start + _MANY])


def _marks(names: Sequence[str]) -> str:
    return ",".join("?" * len(names))
