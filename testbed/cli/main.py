"""The command `testbed`. Results go to stdout, progress to stderr and only to a terminal.

Exit codes: 0 all well, 1 a check or an expectation failed, 2 the input is wrong, 3 this machine lacks what it needs,
4 the run shows nothing, such as one that was too late for real time, 130 interrupted.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from testbed import __version__
from testbed.cli import (
    analyze,
    check,
    clean,
    compare,
    doctor,
    export,
    figure,
    frame,
    guest,
    listing,
    mobility,
    replay,
    report,
    reproduce,
    run,
    scaffold,
    smoke,
    sweep,
    table,
    view,
)
from testbed.cli.arguments import EXIT_CODES, Parser
from testbed.errors import MachineError, TestbedError, one_line
from testbed.extras import MissingExtra, restart_with
from testbed.interrupts import Terminated, exit_code, terminations_raised

COMMANDS = (
    run, compare, sweep, figure, table, frame, reproduce, mobility, analyze, report, replay, view, smoke, listing,
    export, scaffold, check, guest, clean, doctor,
)  # fmt: skip
"""In the order of the help. Each module has `add(commands)`, which adds its arguments and sets `execute`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the command `testbed`; returns the exit code."""
    arguments = parser().parse_args(argv)
    return carry_out(lambda: arguments.execute(arguments), may_restart=argv is None)


def carry_out(command: Callable[[], int], *, may_restart: bool = False) -> int:
    """Run what returns an exit code; an error that a user can understand is one line on stderr, and its exit code.

    If it may restart, this process is that of the command, which `./setup.sh` can run again with an extra it needs.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without the character ± still shows the table
    try:
        with terminations_raised():
            code = command()
            sys.stdout.flush()  # here a full disk can still be reported
    except TestbedError as error:
        if isinstance(error, MissingExtra) and may_restart:
            restart_with(error.extra)
        print(f"testbed: {one_line(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        how = f" by {interrupt}" if isinstance(interrupt, Terminated) else ""
        with suppress(OSError):  # after a hangup there may be no terminal
            print(f"testbed: interrupted{how}", file=sys.stderr)
        return exit_code(interrupt)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone
        return 1
    except ImportError:
        winning = [other for other in doctor.shadowed() if other["wins"]]
        if not winning:
            raise
        print(f"testbed: {one_line(doctor.describe(winning[0]))}", file=sys.stderr)
        return 3
    except (OSError, MemoryError) as error:
        print(f"testbed: {one_line(str(MachineError.of(error)))}", file=sys.stderr)
        _drop_output()
        return MachineError.exit_code
    return code


def _drop_output() -> None:
    """If what was printed cannot be written, drop it: Python would try again at its end, and change the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    whole = Parser(
        prog="testbed",
        description="Run mutual exclusion algorithms for mobile ad hoc networks and judge the runs.",
        epilog=EXIT_CODES,
    )
    whole.add_argument("--version", action="version", version=f"testbed {__version__}")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return whole
