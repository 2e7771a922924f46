"""Reads run directories: what was run, what it wrote at its end, and its events.

A run that was killed leaves a directory without a summary and perhaps with half a last line; both can be read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis.audit import Audit
from analysis.check import combine
from analysis.dispatch import Fan
from analysis.events import KINDS, VERSION
from analysis.field_types import EventTypes, Implausible, shown
from analysis.listener import Listener, method_name
from analysis.metrics import summarise
from analysis.plausible import Account


class RunDirectoryError(Exception):
    """The directory is not a run, or its files make no sense. The text names the file and what is wrong."""


@dataclass(frozen=True)
class Run:
    """One run directory."""

    path: Path
    meta: dict[str, Any]
    summary: dict[str, Any] | None
    """What the run wrote at its end, or None if it did not come to its end."""

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.summary is not None and self.meta.get("status") == "finished"

    @property
    def repetitions(self) -> list[Path]:
        """The folders of the repetitions that were begun."""
        folders = self.path.glob("rep-[0-9][0-9][0-9]*")
        return sorted(folders, key=lambda folder: (len(folder.name), folder.name))

    @cached_property
    def audits(self) -> list[Audit]:
        """The log of every repetition, measured and judged again."""
        return [audit_log(folder / "events.jsonl") for folder in self.repetitions]

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """Every check, made from the log alone."""
        per_repetition = [audit.verdicts() for audit in self.audits]
        names = per_repetition[0] if per_repetition else {}
        return {name: combine([one[name] for one in per_repetition]) for name in names}

    def metrics(self) -> dict[str, Any]:
        """The metrics the run wrote; those of the log if it wrote none."""
        if self.summary is not None:
            metrics: dict[str, Any] = self.summary["metrics"]
            return metrics
        return summarise([audit.metrics() for audit in self.audits])


def is_run(path: Path) -> bool:
    """Whether a path is that of a run directory."""
    return _is(Path.is_dir, path) and _is(Path.is_file, path / "meta.json")


def load_run(path: Path) -> Run:
    """Read a run directory, finished or not."""
    if not _is(Path.is_dir, path):
        raise RunDirectoryError(f"{path}: not a run directory")
    if not is_run(path):
        raise RunDirectoryError(f"{path}: not a run directory (it has no meta.json)")
    meta = _read_json(path / "meta.json")
    summary = _read_summary(path / "summary.json") if _is(Path.is_file, path / "summary.json") else None
    run = Run(path, meta, summary)
    there, begun = len(run.repetitions), meta.get("repeat")
    if run.finished and isinstance(begun, int) and there < begun:
        raise RunDirectoryError(f"{path}: it has {there} of its {begun} repetitions")
    return run


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    """Whether the path is of that kind; an error means that permissions do not let us see."""
    try:
        return kind(path)
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError) as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise RunDirectoryError(f"{path}: holds no JSON object")
    return value


def _read_summary(path: Path) -> dict[str, Any]:
    summary = _read_json(path)
    if not isinstance(summary.get("metrics"), dict) or not isinstance(summary.get("checks"), dict):
        raise RunDirectoryError(f"{path}: not a summary: it has no metrics or no checks")
    return summary


def read_events(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The events of a log with their line numbers, in order. A last line that a kill cut short is left out."""
    try:
        lines = path.open("rb")
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None
    with lines:
        for number, line in enumerate(lines, 1):
            try:
                event = json.loads(line)
                if not (isinstance(event, dict) and isinstance(event.get("kind"), str) and "t" in event):
                    raise ValueError("not an event")
            except (ValueError, RecursionError) as error:  # text that is not UTF-8 among them
                if line.endswith(b"\n"):
                    raise RunDirectoryError(f"{path}:{number}: {error}") from error
                return
            yield number, event


def audit_log(path: Path) -> Audit:
    """A log, measured and judged."""
    audit = Audit()
    if _is(Path.is_file, path):
        replay(path, audit, account=Account())
    return audit


def replay(path: Path, listener: Listener, *, started: bool = False, account: Account | None = None) -> None:
    """Pass the events of a log to a listener, except those of unknown kinds. Fields of a wrong type are refused.

    A log begins with a start event, unless the caller says that the run has `started`: the log of one station has none.
    With an account, a log of all nodes is refused also if its events cannot follow each other.
    """
    types = EventTypes()
    listeners = listener if account is None else Fan(account, listener)
    methods = {kind: getattr(listeners, method_name(kind)) for kind in KINDS}
    for number, event in read_events(path):
        kind = event["kind"]
        if kind not in KINDS:
            continue
        if kind == "start" and event.get("version") != VERSION:
            version = shown(event.get("version"))
            raise RunDirectoryError(f"{path}:{number}: log version {version}; this reader knows {VERSION}")
        try:
            if not started and kind != "start":
                raise Implausible("it comes before the start")
            values, t, node = types.values(event), event["t"], event.get("node")
            if account is not None:
                account.admit(t, node, kind)
            methods[kind](t, node, *values)
        except (Implausible, KeyError, IndexError, TypeError, ValueError) as error:
            why = str(error) if isinstance(error, Implausible) else str(event)
            what = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} event that makes no sense"
            raise RunDirectoryError(f"{path}:{number}: {what}: {why}") from error
        if kind == "start":
            started, types = True, EventTypes(len(event["units"]), len(event["places"]))
