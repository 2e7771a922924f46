"""`testbed replay`: repeat the steps of one node of a run, from its log."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command, add_json
from testbed.cli.output import print_json
from testbed.errors import InputError


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "replay", "repeat the steps of one node of a run, from its log", execute)
    one.add_argument("run", type=Path, metavar="RUN_DIR", help="a run directory, of a run with --set trace=events")
    one.add_argument("--node", type=int, required=True, metavar="I", help="the node")
    one.add_argument("--until", type=float, metavar="T", help="stop before inputs later than this, in time units")
    one.add_argument("--repetition", type=int, default=0, metavar="R", help="counted from 0 (0)")
    add_json(one)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from analysis.load import RunDirectoryError
    from testbed.cli.replay_text import as_dict, render
    from testbed.replay.replayer import replay

    try:
        done = replay(arguments.run, node=arguments.node, repetition=arguments.repetition, until=arguments.until)
    except RunDirectoryError as error:
        raise InputError(str(error)) from None
    if arguments.json:
        print_json(as_dict(done))
    else:
        print(render(done), end="")
    if done.missing is not None and not done.failed:
        raise InputError(f"{arguments.run}: {done.missing}")
    return 1 if done.failed else 0
