"""`testbed analyze`: judge and tabulate runs from their logs."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command, add_json
from testbed.cli.output import print_json
from testbed.errors import InputError


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "analyze", "judge and tabulate runs from their logs", execute)
    one.add_argument("runs", type=Path, nargs="+", metavar="RUN_DIR", help="a run directory")
    one.add_argument("--by", metavar="KEY", help="label runs by a key of their scenarios, such as workload.rate")
    one.add_argument("--format", choices=("md", "csv", "latex"), default="md", help="of the tables (md)")
    add_json(one)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from analysis.load import RunDirectoryError
    from testbed.cli.report import analyze

    try:
        analysis = analyze(arguments.runs, by=arguments.by)
        failed = analysis.any_failed()
        document = analysis.as_dict() if arguments.json else None
        text = None if arguments.json else analysis.render(arguments.format)
    except RunDirectoryError as error:
        raise InputError(str(error)) from None
    if arguments.json:
        print_json(document)
    else:
        print(text, end="")
    return 1 if failed else 0
