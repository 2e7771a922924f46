"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from testbed.errors import one_line

EXIT_CODES = """\
exit codes: 0 all well; 1 a check or an expectation failed; 2 the input is wrong; 3 this machine lacks what it needs;
4 the run shows nothing, such as one that was too late for real time; 130 interrupted"""


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"testbed: {one_line(message)} (see {self.prog} --help)\n")


def add_command(
    commands: Any, name: str, summary: str, execute: Callable[[argparse.Namespace], int] | None
) -> argparse.ArgumentParser:
    """Add a command and the function that carries it out; None if it has commands of its own."""
    one: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + ".", epilog=EXIT_CODES
    )
    if execute is not None:
        one.set_defaults(execute=execute)
    return one


def add_scenario(one: argparse.ArgumentParser) -> None:
    """Add the argument for a scenario file."""
    one.add_argument("scenario", type=Path, metavar="SCENARIO", help="a YAML file")


def add_overrides(one: argparse.ArgumentParser, *, backend: bool = True) -> None:
    """Add the options that override keys of the scenario."""
    summary = "override a key of the scenario, such as workload.rate=0.1 (may be repeated)"
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help=summary)
    one.add_argument("--seed", metavar="S", help="short for --set seed=S")
    if backend:
        one.add_argument("--backend", metavar="B", help="short for --set backend=B")


def overrides(arguments: argparse.Namespace) -> list[str]:
    """The keys of the scenario that the command line overrides, each as KEY=VALUE."""
    short = [f"{key}={value}" for key in ("seed", "backend") if (value := getattr(arguments, key, None)) is not None]
    return [*arguments.overrides, *short]


def add_out(one: argparse.ArgumentParser) -> None:
    """Add the option for the directory of results."""
    one.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="where run directories go (runs)")


def add_store(one: argparse.ArgumentParser) -> None:
    """Add the option for the store that results are kept in."""
    one.add_argument("--store", type=Path, metavar="DIR", help="where results are kept and taken from (OUT/store)")


def add_json(one: argparse.ArgumentParser) -> None:
    """Add the option for JSON instead of text."""
    one.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def locate(path: Path) -> Path:
    """Look for a relative path in the current folder, then beside the code: shipped scenarios work from anywhere."""
    from testbed.checkout import PROJECT

    try:
        return PROJECT / path if not path.exists() and (PROJECT / path).exists() else path
    except OSError:  # a name that no file can have; the error is reported when the file is opened
        return path
