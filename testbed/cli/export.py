"""`testbed export`: write a scenario as a script for another tool."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command, add_overrides, add_scenario, locate, overrides
from testbed.cli.output import print_note
from testbed.errors import InputError


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(
        commands, "export", "write a scenario as a script for another tool, to be edited by hand", execute
    )
    add_scenario(one)
    one.add_argument("--to", required=True, metavar="TOOL", help="mininet-wifi")
    one.add_argument("--file", type=Path, metavar="FILE", help="where to write it (stdout)")
    add_overrides(one, backend=False)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.backends.mininet_wifi.export import export
    from testbed.scenario.loader import load

    if arguments.to != "mininet-wifi":
        raise InputError(f"--to: found {arguments.to}; allowed: mininet-wifi")
    as_it_will_run = ["backend=mininet-wifi", "medium=wmediumd", "repeat=1"]
    for override in arguments.overrides:
        for fixed in as_it_will_run:
            if override.startswith(fixed.partition("=")[0] + "=") and override != fixed:
                raise InputError(f"--set {override}: allowed: {fixed}, as an exported script has it")
    scenario = load(locate(arguments.scenario), [*overrides(arguments), *as_it_will_run], print_note)
    if arguments.file is None:
        print(export(scenario), end="")
    else:
        script = export(scenario, arguments.file.name)
        try:
            arguments.file.write_text(script, encoding="utf-8")
            arguments.file.chmod(0o755)
        except OSError as error:
            raise InputError(f"--file {arguments.file}: {error.strerror}") from None
    return 0
