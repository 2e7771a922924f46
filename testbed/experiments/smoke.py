"""Smoke scenarios with their expectations, for continuous integration."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from testbed.errors import InputError, TestbedError
from testbed.experiments.runner import no_report, run
from testbed.progress import Report
from testbed.scenario.loader import load


@dataclass(frozen=True)
class SmokeResult:
    """The result of one scenario: `problems` is empty if it passed."""

    file: Path
    seconds: float
    problems: list[str]
    broken: bool = False
    """Whether the scenario could not run to its end."""


def find_scenarios(folder: Path) -> list[Path]:
    """The scenario files of a folder and its subfolders, sorted."""
    if folder.is_file():
        return [folder]
    files = sorted((*folder.rglob("*.yaml"), *folder.rglob("*.yml")))
    if not files:
        raise InputError(f"{folder}: no scenarios there (*.yaml)")
    return files


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
        begin = time.monotonic()

        def progress(share: float, what: str, index: int = index) -> None:
            report((index + share) / len(files), what)

        try:
            finished = run(load(file, list(overrides)), out, progress)
            result = SmokeResult(file, time.monotonic() - begin, finished.summary["unmet"])
        except TestbedError as error:
            result = SmokeResult(file, time.monotonic() - begin, [str(error)], broken=True)
        results.append(result)
        show(result)
    return results


def write_junit(results: list[SmokeResult], path: Path) -> None:
    """Write a JUnit report, for continuous integration."""
    suite = ElementTree.Element(
        "testsuite",
        name="testbed smoke",
        tests=str(len(results)),
        failures=str(sum(bool(one.problems) and not one.broken for one in results)),
        errors=str(sum(one.broken for one in results)),
        time=f"{sum(one.seconds for one in results):.3f}",
    )
    for one in results:
        case = ElementTree.SubElement(suite, "testcase", name=one.file.stem, classname=str(one.file.parent))
        case.set("time", f"{one.seconds:.3f}")
        if one.problems:
            kind = "error" if one.broken else "failure"
            ElementTree.SubElement(case, kind, message=one.problems[0]).text = "\n".join(one.problems)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
