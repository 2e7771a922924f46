"""`testbed smoke`: run scenarios and check their expectations, for continuous integration."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli.arguments import add_command, add_json, add_out, locate
from testbed.cli.output import print_json
from testbed.errors import InputError

if TYPE_CHECKING:
    from testbed.experiments.smoke import SmokeResult


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "smoke", "run scenarios and check their expectations, for CI", execute)
    one.add_argument("folder", type=Path, nargs="?", default=Path("scenarios/smoke"), metavar="DIR",
                     help="where the scenarios are (scenarios/smoke)")  # fmt: skip
    one.add_argument("--junit", type=Path, metavar="FILE", help="also write a JUnit report")
    one.add_argument("--backend", metavar="B", help="run them with this backend instead of their own")
    add_out(one)
    add_json(one)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.backends.registry import BACKENDS, usable_backend
    from testbed.experiments.smoke import find_scenarios, run_all, write_junit
    from testbed.progress import Progress

    def show(result: SmokeResult) -> None:
        if not arguments.json:
            progress.clear()
            slower = result.slower_time_unit
            again = "" if slower is None else f" (was late; repeated with time_unit={slower:g})"
            print(f"{result.word} {result.seconds:6.2f} s  {result.file}{again}", flush=True)
            for line in result.problems or result.inconclusive:
                print(f"       {line}", flush=True)

    if arguments.backend is not None:
        if arguments.backend not in BACKENDS:
            raise InputError(f"--backend: found {arguments.backend!r}; allowed: {', '.join(BACKENDS)}")
        usable_backend(arguments.backend)  # one error instead of one for every scenario
    folder = locate(arguments.folder)
    if not folder.exists():
        raise InputError(f"{folder}: no such folder")
    with Progress() as progress:
        overrides = [] if arguments.backend is None else [f"backend={arguments.backend}"]
        results = run_all(find_scenarios(folder), arguments.out, show, progress, overrides)
    if arguments.junit:
        write_junit(results, arguments.junit)
    failed, unclear = sum(one.is_failed for one in results), sum(one.is_open for one in results)
    passed = len(results) - failed - unclear
    if arguments.json:
        counts = {"passed": passed, "failed": failed, "inconclusive": unclear}
        print_json({**counts, "scenarios": [_as_row(one) for one in results]})
    else:
        print(f"{passed} passed, {failed} failed{f', {unclear} inconclusive' if unclear else ''}")
    return 1 if failed else 4 if unclear else 0


def _as_row(result: SmokeResult) -> dict[str, Any]:
    """For JSON."""
    row = {"scenario": str(result.file), "seconds": result.seconds, "problems": result.problems}
    return {**row, "inconclusive": result.inconclusive, "slower_time_unit": result.slower_time_unit}
