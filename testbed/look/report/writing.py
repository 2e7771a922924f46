"""Finds out what a path holds, makes its report and writes it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from analysis.load import RunDirectoryError, is_run
from analysis.results import Results
from analysis.store import is_store
from testbed.errors import InputError, MachineError
from testbed.experiments.studies.open import open_results
from testbed.experiments.studies.study_file import default_store
from testbed.files import make_directory
from testbed.look.report.blocks import Report
from testbed.look.report.comparison_report import comparison_report, is_comparison
from testbed.look.report.run_report import run_report
from testbed.look.report.study_report import study_report

FILE = "report.html"


def write_report(
    path: Path, file: Path | None = None, *, repetition: int | None = None, store: Path | None = None
) -> Path:
    """Write the report of a run, a comparison or a study; returns its file.

    Without a name it is `report.html` where the results are: in the run directory, in the folder of the comparison, in
    the store of the study.
    """
    try:
        is_of_run = is_run(path)
        folder = path if path.is_dir() else store or default_store(path)
        target = folder / FILE if file is None else file
        if target.is_dir():
            raise InputError(f"--file {target}: found a folder; allowed: the name of a file")
        if repetition is not None and not is_of_run:
            raise InputError(f"--repetition: {path} is not a run directory; only a run has one repetition to show")
        report = run_report(path, repetition, target.parent) if is_of_run else _of_others(path, store, target.parent)
    except RunDirectoryError as error:
        raise InputError(str(error)) from None
    _write(target, report.html())
    return target


def _of_others(path: Path, store: Path | None, page_folder: Path) -> Report:
    if path.is_dir() and is_comparison(path):
        return comparison_report(path, page_folder)
    if path.is_dir() and not is_store(path):
        raise InputError(f"{path}: neither a run directory, nor a comparison, nor the store of a study")
    return study_report(_results(path, store), page_folder)


def _results(path: Path, store: Path | None) -> Results:
    results = open_results(path, store)
    if not results.rows:
        stale = f" of this code; {results.stale} points have results of other code" if results.stale else ""
        raise InputError(f"{path}: no results yet{stale}")
    return results


def _write(file: Path, text: str) -> None:
    """Replace the file in one step."""
    make_directory(file.parent, exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise MachineError.of(error, file) from None
