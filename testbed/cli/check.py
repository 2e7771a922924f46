"""`testbed check`: whether an algorithm is safe and live, in about a minute."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any

from testbed.cli.arguments import add_command, add_json, add_out
from testbed.cli.output import print_json
from testbed.errors import InputError

if TYPE_CHECKING:
    from testbed.experiments.checkup.checkup import Checkup
    from testbed.experiments.checkup.finding import Finding


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "check", "look for runs in which an algorithm fails, in about a minute", execute)
    one.add_argument("algorithm", metavar="FILE", help="a Python file (.py), or the name of a registered algorithm")
    one.add_argument("--name", metavar="N", help="which algorithm, if the file has several")
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings",
                     help="set a parameter of the algorithm, such as k=3 (may be repeated)")  # fmt: skip
    one.add_argument("--seed", type=_seed, default=1, metavar="S", help="what the random runs are drawn from (1)")
    one.add_argument("--quick", action="store_true", help="fewer runs, and none in real time")
    one.add_argument("--all", action="store_true", dest="every",
                     help="also on every other backend that this machine has, such as hwsim")  # fmt: skip
    add_out(one)
    add_json(one)


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ArgumentTypeError(f"found {text!r}; allowed: a whole number from 0")
    return int(text)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.experiments.checkup.checkup import check_up
    from testbed.experiments.checkup.subject import find_subject
    from testbed.experiments.run_directory import fresh_directory
    from testbed.progress import Progress

    def show(finding: Finding) -> None:
        if not arguments.json:
            progress.clear()
            print(render_finding(finding), flush=True)

    if arguments.quick and arguments.every:
        raise InputError("check: found both --quick, which runs nothing in real time, and --all; allowed: one of them")
    subject = find_subject(arguments.algorithm, arguments.name, arguments.settings)
    with Progress() as progress, fresh_directory(arguments.out, f"check-{subject.name}") as out:
        options = {"seed": arguments.seed, "quick": arguments.quick, "every": arguments.every}
        done = check_up(subject, out, show, progress, **options)
    if arguments.json:
        print_json(done.as_dict())
    else:
        print(render_end(done))
    return done.exit_code


WIDTH = 13
"""Of the names of steps, as in the verdicts of a run."""


def render_finding(finding: Finding) -> str:
    """A line for a step, and below a failure what is wrong and how to see it."""
    from analysis.check import FAILED

    word = finding.verdict.upper() if finding.verdict == FAILED else finding.verdict
    detail = f"  ({finding.detail})" if finding.detail else ""
    lines = [f"{finding.title:{WIDTH}} {word}{detail}"]
    lines += [f"{'':{WIDTH}}   {line}" for line in finding.offences]
    lines += [f"{'':{WIDTH}}   replay: {finding.replay}"] if finding.replay else []
    return "\n".join(lines)


def render_end(done: Checkup) -> str:
    """Notes, what it costs, and the last line."""
    costs = [] if done.costs is None else ["", done.costs.render()]
    return "\n".join([*done.notes, *costs, done.conclusion])
