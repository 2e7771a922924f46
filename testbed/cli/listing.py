"""`testbed list`: the names that scenarios can use."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from testbed.cli.arguments import add_command, add_json
from testbed.cli.output import print_json


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "list", "list the names that scenarios can use", execute)
    one.add_argument("what", choices=("algorithms", "backends", "checks", "mobility", "propagation"))
    add_json(one)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    entries = names(arguments.what)
    if arguments.json:
        print_json(entries)
    else:
        width = max(map(len, entries))
        for name, summary in entries.items():
            print(f"{name:{width}}  {summary}")
    if arguments.what == "algorithms":
        from agents.registry import ALGORITHMS

        for line in ALGORITHMS.refused():
            print(f"testbed: {line}", file=sys.stderr)
    return 0


def names(what: str) -> dict[str, str]:
    """Every name of a kind, with a summary."""
    from analysis.checks import CHECKS
    from analysis.meanings import MEANINGS
    from testbed.backends.registry import BACKENDS, find_backend
    from testbed.mobility.registry import MODELS
    from testbed.radio.propagation import PROPAGATION

    if what == "algorithms":
        return _algorithms()
    if what == "backends":
        return {name: find_backend(name).summary for name in BACKENDS}
    if what == "mobility":
        return {name: _summary(model) for name, model in MODELS.items()}
    if what == "propagation":
        return {name: _summary(model) for name, model in PROPAGATION.items()}
    return {check.name: MEANINGS[check.name].tokens for check in CHECKS}


def _algorithms() -> dict[str, str]:
    """The summary of every algorithm, and the distribution of one that is another's; or why it cannot be used."""
    from agents.registry import ALGORITHMS
    from testbed.scenario.algorithm_class import unusable_algorithms, usable_algorithms

    usable, unusable = usable_algorithms(), unusable_algorithms()
    lines = {}
    for name in ALGORITHMS:
        installed = ALGORITHMS.installed(name)
        text = usable[name].summary if name in usable else f"cannot be used: {unusable[name]}"
        lines[name] = text if installed is None else f"{text} [{installed}]".lstrip()
    return lines


def _summary(thing: type) -> str:
    """The first line of the docstring."""
    return (thing.__doc__ or "").splitlines()[0]
