"""`testbed clean`: remove what a killed run on virtual radios has left, and nothing else."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from testbed.cli.arguments import add_command, add_json
from testbed.cli.output import print_json


def add(commands: Any) -> None:
    """Add its arguments."""
    add_json(
        add_command(commands, "clean", "remove what a killed run on virtual radios has left, and nothing else", execute)
    )


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.backends.hwsim.clean import clean

    removed = clean()
    if arguments.json:
        print_json({"removed": removed})
    else:
        print("".join(f"removed {name}\n" for name in removed) or "nothing was left\n", end="")
    return 0
