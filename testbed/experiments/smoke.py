"""Smoke scenarios with their expectations, for continuous integration.

A machine that runs such tests may be too busy for a run in real time, which then shows nothing. It gets a second chance
with twice the time for everything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

from analysis.timing import late
from testbed.errors import InconclusiveError, InputError, TestbedError
from testbed.experiments.runner import no_report, run
from testbed.progress import Report
from testbed.scenario.loader import load

SLOWER = 2
"""A run that was late is repeated with a time unit that is so many times as long."""
_RESULTS = (("meta.json", "scenario.yaml"), ("rows.json", "report.md"))
"""The files by which folders are known that runs, comparisons and reproductions have written."""


@dataclass(frozen=True)
class SmokeResult:
    """The result of one scenario: `problems` and `inconclusive` are empty if it passed."""

    file: Path
    seconds: float
    problems: list[str] = field(default_factory=list)
    broken: bool = False
    """Whether the scenario could not run to its end."""
    inconclusive: list[str] = field(default_factory=list)
    """Why the run shows nothing."""
    is_late: bool = False
    """Whether that is because the machine was too slow for it."""
    slower_time_unit: float | None = None
    """With which it was repeated, because the first run was late."""

    @property
    def is_failed(self) -> bool:
        """Whether something is wrong."""
        return bool(self.problems)

    @property
    def is_open(self) -> bool:
        """Whether the run shows neither that something is wrong nor that all is well."""
        return bool(self.inconclusive) and not self.problems

    @property
    def word(self) -> str:
        """The result in four letters."""
        if self.is_failed:
            return "FAIL"
        if self.is_open:
            return "late" if self.is_late else "????"
        return "ok  "


def find_scenarios(folder: Path) -> list[Path]:
    """The scenario files of a folder and its subfolders, sorted; without those that results were made from."""
    if folder.is_file():
        return [folder]
    found = sorted((*folder.rglob("*.yaml"), *folder.rglob("*.yml")))
    files = [file for file in found if not _is_in_results(file, folder)]
    if not files:
        raise InputError(f"{folder}: no scenarios there (*.yaml)")
    return files


def _is_in_results(file: Path, folder: Path) -> bool:
    """Whether a file belongs to a run, a comparison or a reproduction that lies in the folder."""
    around = [folder / one for one in file.relative_to(folder).parents]
    return any(all((one / name).is_file() for name in marks) for one in around for marks in _RESULTS)


def run_all(
    files: list[Path],
    out: Path,
    show: Callable[[SmokeResult], None],
    report: Report = no_report,
    overrides: Sequence[str] = (),
) -> list[SmokeResult]:
    """Run every scenario, with keys overridden, and show each result; an error in one does not stop the others."""
    results = []
    for index, file in enumerate(files):

        def progress(share: float, what: str, index: int = index) -> None:
            report((index + share) / len(files), what)

        result = _run_one(file, out, progress, list(overrides))
        if result.is_late:
            time_unit = SLOWER * load(file, list(overrides)).time_unit
            again = _run_one(file, out, progress, [*overrides, f"time_unit={time_unit!r}"])
            result = replace(again, seconds=result.seconds + again.seconds, slower_time_unit=time_unit)
        results.append(result)
        show(result)
    return results


def _run_one(file: Path, out: Path, report: Report, overrides: list[str]) -> SmokeResult:
    begin = time.monotonic()
    try:
        summary = run(load(file, overrides), out, report).summary
    except InconclusiveError as error:
        return SmokeResult(file, time.monotonic() - begin, inconclusive=[str(error)])
    except TestbedError as error:
        return SmokeResult(file, time.monotonic() - begin, [str(error)], broken=True)
    problems, inconclusive = summary["unmet"], summary.get("inconclusive", [])
    is_late = bool(inconclusive) and not problems and late(summary["checks"])
    return SmokeResult(file, time.monotonic() - begin, problems, inconclusive=inconclusive, is_late=is_late)


def write_junit(results: list[SmokeResult], path: Path) -> None:
    """Write a JUnit report, for continuous integration."""
    suite = ElementTree.Element(
        "testsuite",
        name="testbed smoke",
        tests=str(len(results)),
        failures=str(sum(one.is_failed and not one.broken for one in results)),
        errors=str(sum(one.broken for one in results)),
        skipped=str(sum(one.is_open for one in results)),
        time=f"{sum(one.seconds for one in results):.3f}",
    )
    for one in results:
        case = ElementTree.SubElement(suite, "testcase", name=one.file.stem, classname=str(one.file.parent))
        case.set("time", f"{one.seconds:.3f}")
        if one.problems:
            kind = "error" if one.broken else "failure"
            ElementTree.SubElement(case, kind, message=one.problems[0]).text = "\n".join(one.problems)
        elif one.inconclusive:
            message = f"inconclusive: {'; '.join(one.inconclusive)}"
            ElementTree.SubElement(case, "skipped", message=message)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
