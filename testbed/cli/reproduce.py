"""`testbed reproduce`: a paper's experiments, with the paper's values beside ours."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from testbed.cli.arguments import add_command, add_json, add_out, add_store
from testbed.cli.output import print_json


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "reproduce", "run a paper's experiments, with the paper's values beside ours", execute)
    papers = ("rl", "krl", "bv", "hk", "klme")
    one.add_argument("paper", choices=papers, metavar="PAPER", help="rl, krl, bv, hk or klme")
    one.add_argument("--quick", action="store_true", help="fewer repetitions and shorter runs, in under a minute")
    add_out(one)
    add_store(one)
    add_json(one)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.interface import reproduce
    from testbed.progress import Progress

    with Progress() as progress:
        kept = {"out": arguments.out, "store": arguments.store}
        reproduction = reproduce(arguments.paper, quick=arguments.quick, **kept, report=progress)
    if arguments.json:
        print_json(reproduction.as_dict())
    else:
        print(reproduction.render(), end="")
    return 1 if reproduction.failures else 0
