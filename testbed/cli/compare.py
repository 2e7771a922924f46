"""`testbed compare`: several algorithms, or backends, on one scenario, side by side."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from testbed.cli.arguments import add_command, add_json, add_out, add_overrides, add_scenario, locate, overrides
from testbed.cli.output import print_json
from testbed.errors import InputError

if TYPE_CHECKING:
    from testbed.experiments.compare import Comparison
    from testbed.experiments.compare_backends import BackendComparison


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "compare", "run several algorithms or backends on one scenario, side by side", execute)
    add_scenario(one)
    one.add_argument(
        "--algorithms", metavar="A,B,...", help="without --backends, the others are compared with the first"
    )
    one.add_argument("--backends", metavar="B,C,...",
                     help="compare backends; sim has two columns, with ideal and with radio links")  # fmt: skip
    add_overrides(one)
    add_out(one)
    add_json(one)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    comparison = _compare_algorithms(arguments) if arguments.backends is None else _compare_backends(arguments)
    if arguments.json:
        print_json(comparison.as_dict())
    else:
        print(comparison.render(), end="")
    return 1 if comparison.failures else 0


def _compare_algorithms(arguments: Namespace) -> Comparison:
    from testbed.experiments.compare import compare, parse_algorithms
    from testbed.progress import Progress
    from testbed.scenario.loader import load

    if arguments.algorithms is None:
        raise InputError("compare: found neither --algorithms nor --backends; allowed: either or both")
    algorithms = parse_algorithms(arguments.algorithms)
    scenario = load(locate(arguments.scenario), overrides(arguments))
    with Progress() as progress:
        return compare(scenario, algorithms, arguments.out, progress)


def _compare_backends(arguments: Namespace) -> BackendComparison:
    from testbed.experiments.compare import parse_algorithms
    from testbed.experiments.compare_backends import Subject, compare_backends, parse_backends
    from testbed.progress import Progress

    if arguments.backend is not None:
        raise InputError("compare: found both --backend and --backends; allowed: one of them")
    backends = parse_backends(arguments.backends)
    algorithms = None if arguments.algorithms is None else parse_algorithms(arguments.algorithms, least=1)
    subject = Subject.load(locate(arguments.scenario), overrides(arguments))
    with Progress() as progress:
        return compare_backends(subject, algorithms, backends, arguments.out, progress)
