"""`testbed report`: the verdicts, tables and charts of a run, a comparison or a study in one HTML file."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command, locate
from testbed.cli.output import print_note
from testbed.cli.run import repetition_number


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "report", "write verdicts, tables and charts into one HTML file", execute)
    one.add_argument("results", type=Path, metavar="RUN|COMPARISON|STUDY",
                     help="a run directory, the folder of a comparison, a study (YAML) or its store")  # fmt: skip
    one.add_argument("--repetition", type=repetition_number, metavar="N",
                     help="of a run: the repetition that charts over time show (the first)")  # fmt: skip
    one.add_argument("--store", type=Path, metavar="DIR",
                     help="where results of a study are (STUDY.store, beside the study)")  # fmt: skip
    one.add_argument("--file", type=Path, metavar="FILE", help="the page (report.html where the results are)")
    one.add_argument("--open", action="store_true", help="open it in the browser")


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.look.report.writing import write_report

    file = write_report(
        locate(arguments.results), arguments.file, repetition=arguments.repetition, store=arguments.store
    )
    print(file)
    if arguments.open:
        _open(file)
    return 0


def _open(file: Path) -> None:
    import webbrowser

    if not webbrowser.open(file.resolve().as_uri()):
        print_note(f"found no browser; open {file} yourself")
