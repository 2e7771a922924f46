"""`testbed analyze`: judge and tabulate runs from their logs."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command, add_json
from testbed.cli.output import print_json, print_note
from testbed.errors import InputError


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "analyze", "judge and tabulate runs from their logs", execute)
    one.add_argument("runs", type=Path, nargs="+", metavar="RUN_DIR", help="run directories; others are left out")
    one.add_argument("--by", metavar="KEY", help="label runs by a key of their scenarios, such as workload.rate")
    one.add_argument("--format", choices=("md", "csv", "latex"), default="md", help="of the tables (md)")
    add_json(one)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from analysis.load import RunDirectoryError
    from testbed.cli.run_text import analyze

    try:
        runs, others = _sorted_out(arguments.runs)
        analysis = analyze(runs, by=arguments.by)
        exit_code = analysis.exit_code()
        document = analysis.as_dict() if arguments.json else None
        text = None if arguments.json else analysis.render(arguments.format)
    except RunDirectoryError as error:
        raise InputError(str(error)) from None
    if others:
        print_note(f"left out, as no run directories: {', '.join(map(str, others))}")
    if arguments.json:
        print_json(document)
    else:
        print(text, end="")
    return exit_code


def _sorted_out(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """Run directories, and other files and folders: `runs/*` may name both. Without any run, all are taken for runs."""
    from analysis.load import is_run
    from analysis.store import is_store

    others = [path for path in paths if not is_run(path) and path.exists()]
    runs = [path for path in paths if path not in others]
    others = [path for path in others if not is_store(path)]  # `runs/*` names the store of comparisons every time
    return (runs, others) if runs else (paths, [])
