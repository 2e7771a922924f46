"""`testbed frame`: write the results of a study or a run as a data frame, one row per repetition."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command
from testbed.cli.output import print_note
from testbed.cli.study_input import add_study, input_errors, results
from testbed.errors import InputError
from testbed.extras import need
from testbed.files import make_directory

SUFFIXES = (".parquet", ".csv")


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "frame", "write the results of a study or a run, one row per repetition", execute)
    add_study(one)
    one.add_argument("--to", type=Path, required=True, metavar="FILE", help="a .parquet or .csv file")


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    file: Path = arguments.to
    if file.suffix not in SUFFIXES:
        raise InputError(f"--to {file}: found {file.suffix or 'no suffix'}; allowed: {' or '.join(SUFFIXES)}")
    is_parquet = file.suffix == ".parquet"
    need("parquet" if is_parquet else "plots", f"--to {file}")
    from analysis.frames import results_frame

    with input_errors():
        found = results(arguments)
        frame = results_frame(found)
    if found.missing or found.notes:
        lacks = [f"{found.missing} repetitions have no result"] * bool(found.missing)
        print_note(f"{found.name}: {'; '.join([*lacks, *found.notes[:1]])}")
    make_directory(file.parent, exist_ok=True)
    if is_parquet:
        frame.to_parquet(file, index=False)
    else:
        frame.to_csv(file, index=False, lineterminator="\n")
    print(f"{file}: {len(frame)} rows, {len(frame.columns)} columns")
    return 0
