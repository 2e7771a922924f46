"""`testbed doctor`: what can run on this machine, what is missing, and how to get it."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.checkout import PROJECT
from testbed.cli.arguments import add_command, add_json
from testbed.cli.output import print_json
from testbed.extras import EXTRAS, how_to_get, is_installed

PACKAGES = ("agents", "analysis", "testbed")
"""Our packages. Other distributions have packages of the first two names as well."""


def add(commands: Any) -> None:
    """Add its arguments."""
    add_json(add_command(commands, "doctor", "what can run on this machine, what is missing, how to get it", execute))


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    facts = examine()
    if arguments.json:
        print_json(facts)
    else:
        print(render(facts), end="")
    return 0


def examine() -> dict[str, Any]:
    """The facts, ready for JSON."""
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "root": os.geteuid() == 0,
        "shadowed": shadowed(),
    }
    if any(other["wins"] for other in facts["shadowed"]):
        return facts  # what follows imports our packages
    from agents.registry import ALGORITHMS
    from testbed.backends.mininet_wifi import installation
    from testbed.backends.registry import BACKENDS, find_backend
    from testbed.guest.needs import missing
    from testbed.processes import find_program
    from testbed.scenario.algorithm_class import unusable_algorithms

    missing_by_backend = {name: find_backend(name).missing() for name in BACKENDS}
    lacking = missing()
    return facts | {
        "backends": {name: {"ok": lack is None, "missing": lack} for name, lack in missing_by_backend.items()},
        "guest": {"ok": lacking is None, "missing": lacking},
        "mininet_wifi": {
            "found": installation.describe(),
            "tried": list(installation.TRIED),
            "wmediumd": find_program("wmediumd"),
        },
        "algorithms": {
            "known": len(ALGORITHMS),
            "unusable": unusable_algorithms(),
            "refused": ALGORITHMS.refused(),
        },
        "extras": _extras(),
    }


def _extras() -> dict[str, Any]:
    extras = {}
    for name, extra in EXTRAS.items():
        ok = is_installed(name)
        extras[name] = {"ok": ok, "purpose": extra.purpose, "fix": None if ok else how_to_get(name)}
    return extras


def shadowed() -> list[dict[str, Any]]:
    """Packages of other distributions with the name of one of ours, and whether Python imports them instead of ours."""
    found = []
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        imported = Path(spec.origin).resolve() if spec is not None and spec.origin is not None else None
        for folder in map(Path, dict.fromkeys(sys.path)):
            for path in (folder / name / "__init__.py", folder / f"{name}.py"):
                if path.is_file() and path.resolve() != PROJECT / name / "__init__.py":
                    found.append({"name": name, "path": str(path), "wins": imported == path.resolve()})
    return found


def describe(other: dict[str, Any]) -> str:
    """A package of `shadowed`, in one line."""
    effect = "is imported instead of ours, so commands fail" if other["wins"] else "is hidden by ours"
    return f"another package `{other['name']}` {effect}: {other['path']}; use an environment without it"


def render(facts: dict[str, Any]) -> str:
    """The facts as text."""
    lines = [f"Python {facts['python']} on {facts['system']}, {facts['cores']} cores"]
    lines += map(describe, facts["shadowed"])
    if "backends" not in facts:
        return "\n".join(lines) + "\n"
    lines.append("backends")
    for name, backend in facts["backends"].items():
        lines.append(f"  {name:12} {'ok' if backend['ok'] else 'cannot run: ' + backend['missing']}")
    guest = facts["guest"]
    lines.append(f"guest          {'ok' if guest['ok'] else 'cannot run: ' + guest['missing']}")
    wifi = facts["mininet_wifi"]
    lines.append(f"mininet-wifi   {wifi['found']}")
    wmediumd = wifi["wmediumd"] or "not found; only `medium: wmediumd` needs it: Mininet-WiFi's util/install.sh -l"
    lines.append(f"  {'wmediumd':12} {wmediumd}")
    algorithms = facts["algorithms"]
    lines.append(f"algorithms     {algorithms['known'] - len(algorithms['unusable'])} of {algorithms['known']} ok")
    lines += [f"  {name:12} cannot be used: {why}" for name, why in algorithms["unusable"].items()]
    lines += [f"  {line}" for line in algorithms["refused"]]
    lines.append("extras")
    for name, extra in facts["extras"].items():
        lines.append(f"  {name:12} {'ok' if extra['ok'] else 'not installed'}: {extra['purpose']}")
        if extra["fix"]:
            lines.append(f"  {'':12} to get it: {extra['fix']}")
    return "\n".join(lines) + "\n"
