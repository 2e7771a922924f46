"""`testbed run`: run a scenario, print verdicts and a table."""

from __future__ import annotations

import argparse
from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command, add_json, add_out, add_overrides, add_scenario, locate, overrides
from testbed.cli.output import print_json, print_note


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "run", "run a scenario, print verdicts and a table", execute)
    add_scenario(one)
    add_overrides(one)
    add_out(one)
    add_json(one)
    one.add_argument(
        "--pcap",
        action="store_true",
        help="capture the frames on the air into the run directory, if the backend has any",
    )
    one.add_argument(
        "--flows",
        action="store_true",
        help="write statistics of all unicasts between every two stations into the run directory, with backend ns3; "
        "hellos and other broadcasts are not among them",
    )
    one.add_argument(
        "--attach",
        metavar="PID,...",
        type=process_numbers,
        default=(),
        help="run on the stations of a running Mininet-WiFi network: one process of each, in order",
    )
    one.add_argument(
        "--first", type=repetition_number, default=0, metavar="N", help="the number of the first repetition (0)"
    )
    one.add_argument(
        "--live", action="store_true", help="serve the run to browsers on this machine while it goes on (testbed view)"
    )
    one.add_argument(
        "--pace",
        type=time_units_a_second,
        metavar="X",
        help="let X time units pass in a second, where time is virtual (with --live, so that the run takes a minute)",
    )
    one.add_argument("--cli", action="store_true", help="open Mininet-WiFi's command line while the agents run")
    one.add_argument(
        "--mininet-wifi", metavar="CHECKOUT", type=Path, help="use this checkout of Mininet-WiFi, not the installed one"
    )


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.backends.base import RunOptions
    from testbed.experiments.runner import no_report
    from testbed.progress import Progress
    from testbed.scenario.loader import load

    _name_checkout(arguments)
    scenario = load(locate(arguments.scenario), overrides(arguments), print_note)
    options = RunOptions(
        arguments.pcap, arguments.cli, arguments.attach, arguments.flows, arguments.first, arguments.pace
    )
    with Progress() as progress:
        report = no_report if arguments.cli else progress  # the command line of Mininet-WiFi uses the terminal
        if arguments.live:
            from testbed.cli.live_run import run_live

            result = run_live(scenario, overrides(arguments), arguments.out, report, options)
        else:
            from testbed.interface import run

            result = run(scenario, arguments.out, report=report, options=options)
    for line in result.summary["lost"]:
        print_note(line)
    if arguments.json:
        print_json({"run_dir": str(result.path), **result.summary})
    else:
        from testbed.cli.run_text import render_run

        print(render_run(scenario, result), end="")
    return result.exit_code


def _name_checkout(arguments: Namespace) -> None:
    if arguments.mininet_wifi is not None:
        from testbed.backends.mininet_wifi.installation import name_checkout

        name_checkout(arguments.mininet_wifi)


def repetition_number(text: str) -> int:
    """A number of a repetition."""
    if not text.isascii() or not text.isdigit() or len(text) > 5:
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: 0 to 99999")
    return int(text)


def time_units_a_second(text: str) -> float:
    """How fast virtual time passes."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1e-6 <= value <= 1e9:  # not a number is neither
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: time units a second, from 1e-6 to 1e9")
    return value


def process_numbers(text: str) -> tuple[int, ...]:
    """Process numbers, separated by commas."""
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: numbers of processes, such as 120,121") from None
