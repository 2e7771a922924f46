"""`testbed mobility`: describe the movement of a scenario, or convert a trace."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command, add_json, add_out, add_overrides, locate, overrides
from testbed.cli.output import print_json, print_note
from testbed.errors import InputError
from testbed.extras import need


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "mobility", "describe the movement of a scenario, or convert a trace", execute)
    one.usage = "testbed mobility SCENARIO [--plot] [options]\n       testbed mobility convert A B"
    one.add_argument("what", nargs="+", metavar="SCENARIO | convert A B", help="a YAML file, or two trace files")
    one.add_argument("--plot", action="store_true", help="draw the paths")
    add_overrides(one)
    add_out(one)
    add_json(one)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    what = arguments.what
    if what[0] == "convert" and len(what) == 3:
        from testbed.mobility.traces.formats import convert

        convert(Path(what[1]), Path(what[2]))
        return 0
    if len(what) > 1 or what[0] == "convert":
        raise InputError("mobility takes one scenario, or `convert` and two trace files")
    if arguments.plot:
        need("plots", "--plot")
    from testbed.experiments.mobility_survey import survey
    from testbed.scenario.loader import load

    found = survey(load(locate(Path(what[0])), overrides(arguments), print_note))
    files = found.draw(arguments.out) if arguments.plot else []
    if arguments.json:
        print_json({**found.as_dict(), "files": list(map(str, files))})
    else:
        print(found.render(), end="")
        print("".join(f"{file}\n" for file in files), end="")
    return 0
