"""What can run on this machine, what is missing, and how to get it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
from typing import Any

from testbed.backends.registry import BACKENDS
from testbed.guest.needs import missing

EXTRAS = {
    # extra: (what it is for, a module it brings)
    "plots": ("figures from runs", "seaborn"),
    "ns3": ("802.11 as ns-3 simulates it", "ns"),
    "distributed": ("sweeps spread over machines", "distributed"),
    "dev": ("the test suite and the linters", "pytest"),
}


def examine() -> dict[str, Any]:
    """The facts, ready for JSON."""
    backends = {}
    for name, module in BACKENDS.items():
        lacking = importlib.import_module(module).missing()
        backends[name] = {"ok": lacking is None, "missing": lacking}
    extras = {}
    for name, (purpose, module) in EXTRAS.items():
        found = importlib.util.find_spec(module) is not None
        fix = None if found else f"./setup.sh pip install -e '.[{name}]' in the project's folder"
        extras[name] = {"ok": found, "purpose": purpose, "fix": fix}
    lacking = missing()
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "root": os.geteuid() == 0,
        "backends": backends,
        "guest": {"ok": lacking is None, "missing": lacking},
        "extras": extras,
    }


def render(facts: dict[str, Any]) -> str:
    """The facts as text."""
    lines = [f"Python {facts['python']} on {facts['system']}, {facts['cores']} cores"]
    lines.append("backends")
    for name, backend in facts["backends"].items():
        lines.append(f"  {name:12} {'ok' if backend['ok'] else 'cannot run: ' + backend['missing']}")
    guest = facts["guest"]
    lines.append(f"guest          {'ok' if guest['ok'] else 'cannot run: ' + guest['missing']}")
    lines.append("extras")
    for name, extra in facts["extras"].items():
        lines.append(f"  {name:12} {'ok' if extra['ok'] else 'not installed'}: {extra['purpose']}")
        if extra["fix"]:
            lines.append(f"  {'':12} to get it: {extra['fix']}")
    return "\n".join(lines) + "\n"
