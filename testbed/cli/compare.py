"""`testbed compare`: several algorithms, variants of them, or backends on one scenario, side by side."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli.arguments import (
    add_command,
    add_json,
    add_out,
    add_overrides,
    add_scenario,
    add_store,
    locate,
    overrides,
)
from testbed.cli.output import print_json, print_note
from testbed.errors import InconclusiveError, InputError

if TYPE_CHECKING:
    from testbed.experiments.compare import Comparison
    from testbed.experiments.compare_backends import BackendComparison
    from testbed.experiments.variants import Variant
    from testbed.scenario.algorithm import AlgorithmChoice


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "compare", "run several algorithms or backends on one scenario, side by side", execute)
    add_scenario(one)
    one.add_argument("--algorithms", metavar="A,B,...",
                     help="algorithms, or files (.py); the first is the baseline; all: all that fit")  # fmt: skip
    one.add_argument("--variant", action="append", default=[], metavar="'A KEY=VALUE ...'",
                     help="an algorithm with parameters of its own, such as 'krl k=5' (may be repeated)")  # fmt: skip
    one.add_argument("--variants", type=Path, metavar="FILE",
                     help="a YAML file with variants: algorithms: [rl, {name: krl, k: 5}]")  # fmt: skip
    one.add_argument("--backends", metavar="B,C,...",
                     help="compare backends; sim has two columns, with ideal and with radio links")  # fmt: skip
    add_overrides(one)
    add_out(one)
    add_store(one)
    one.add_argument("--fresh", action="store_true", help="run again what runs in real time")
    add_json(one)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    comparison = _compare_variants(arguments) if arguments.backends is None else _compare_backends(arguments)
    if arguments.json:
        print_json(comparison.as_dict())
    else:
        print(comparison.render(), end="")
    return 1 if comparison.failures else InconclusiveError.exit_code if comparison.inconclusive else 0


def _variants(arguments: Namespace, own: AlgorithmChoice) -> list[Variant]:
    """The algorithms, then the variants of the file, then those of the options; `own` is the scenario's algorithm."""
    from testbed.experiments.variants import load_variants, parse_algorithms, parse_variant

    variants = [] if arguments.algorithms is None else parse_algorithms(arguments.algorithms, own)
    if arguments.variants is not None:
        variants += load_variants(locate(arguments.variants), own)
    return variants + [parse_variant(text, own) for text in arguments.variant]


def _compare_variants(arguments: Namespace) -> Comparison:
    from testbed.experiments.compare import Comparison
    from testbed.interface import compare
    from testbed.progress import Progress
    from testbed.scenario.loader import load

    if arguments.algorithms is None and arguments.variants is None and not arguments.variant:
        allowed = "one or more of --algorithms, --variant, --variants and --backends"
        raise InputError(f"compare: found nothing to compare; allowed: {allowed}")
    scenario = load(locate(arguments.scenario), overrides(arguments), print_note)
    variants = _variants(arguments, scenario.algorithm)
    with Progress() as progress:
        comparison = compare(scenario, variants, (), arguments.out, **_kept(arguments), report=progress)
    assert isinstance(comparison, Comparison)
    return comparison


def _compare_backends(arguments: Namespace) -> BackendComparison:
    from testbed.experiments.compare_backends import BackendComparison, Subject, parse_backends
    from testbed.interface import compare
    from testbed.progress import Progress

    if arguments.backend is not None:
        raise InputError("compare: found both --backend and --backends; allowed: one of them")
    backends = parse_backends(arguments.backends)
    subject = Subject.load(locate(arguments.scenario), overrides(arguments), print_note)
    variants = _variants(arguments, subject.scenario.algorithm)
    with Progress() as progress:
        comparison = compare(subject, variants, backends, arguments.out, **_kept(arguments), report=progress)
    assert isinstance(comparison, BackendComparison)
    return comparison


def _kept(arguments: Namespace) -> dict[str, Any]:
    return {"store": arguments.store, "fresh": arguments.fresh}
