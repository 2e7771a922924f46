"""`testbed table`: a measure of a study as a table, with 95 % intervals."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from testbed.cli.arguments import add_command
from testbed.cli.study_input import add_selection, add_study, input_errors, note_missing, results, selection


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "table", "show a measure of a study as a table, with confidence intervals", execute)
    add_study(one)
    one.add_argument("--rows", metavar="AXIS,...", help="a row for each of their values (algorithm, and what is left)")
    one.add_argument("--columns", metavar="AXIS", help="a column for each of its values (that with the most numbers)")
    add_selection(one)
    one.add_argument("--format", choices=("md", "csv", "latex"), default="md", help="of the table (md)")


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from analysis.study_tables import choose_rows_and_columns, study_table

    with input_errors():
        chosen = selection(arguments, results(arguments))
        rows, columns = choose_rows_and_columns(chosen, _axes(arguments.rows), arguments.columns)
        table = study_table(chosen, rows, columns, arguments.format)
    note_missing(chosen)
    print(table.render(arguments.format), end="")
    return 0


def _axes(text: str | None) -> list[str]:
    return [] if text is None else [axis.strip() for axis in text.split(",")]
