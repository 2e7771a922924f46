"""`testbed export`: write a scenario as a script for another tool."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command, add_overrides, add_scenario, locate, overrides
from testbed.cli.output import print_note
from testbed.errors import InputError

AS_IT_WILL_RUN = {
    "mininet-wifi": ["backend=mininet-wifi", "medium=wmediumd", "repeat=1"],
    "ns3": ["backend=ns3", "repeat=1"],
}
"""What a script for each tool needs the scenario to be."""


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(
        commands, "export", "write a scenario as a script for another tool, to be edited by hand", execute
    )
    add_scenario(one)
    one.add_argument("--to", required=True, metavar="TOOL", help=" or ".join(AS_IT_WILL_RUN))
    one.add_argument(
        "--file", type=Path, metavar="FILE", help="where to write it (stdout); ns3: movements go beside it"
    )
    add_overrides(one, backend=False)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.scenario.loader import load

    if arguments.to not in AS_IT_WILL_RUN:
        raise InputError(f"--to: found {arguments.to}; allowed: {', '.join(AS_IT_WILL_RUN)}")
    as_it_will_run = AS_IT_WILL_RUN[arguments.to]
    for override in arguments.overrides:
        for fixed in as_it_will_run:
            if override.startswith(fixed.partition("=")[0] + "=") and override != fixed:
                raise InputError(f"--set {override}: allowed: {fixed}, as an exported script has it")
    scenario = load(locate(arguments.scenario), [*overrides(arguments), *as_it_will_run], print_note)
    if arguments.to == "ns3":
        from testbed.backends.ns3 import export as ns3

        script, movements = ns3.export(scenario, arguments.file)
    else:
        from testbed.backends.mininet_wifi import export as mininet_wifi

        script, movements = mininet_wifi.export(scenario, *([arguments.file.name] if arguments.file else [])), None
    if arguments.file is None:
        print(script, end="")
        return 0
    try:
        arguments.file.write_text(script, encoding="utf-8")
        arguments.file.chmod(0o755)
        if movements is not None:
            ns3.movement_file(arguments.file).write_text(movements, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--file {error.filename}: {error.strerror}") from None
    return 0
