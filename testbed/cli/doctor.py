"""What can run on this machine, what is missing, and how to get it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
from typing import Any

from testbed.backends.registry import BACKENDS
from testbed.guest.needs import find, missing
from testbed.backends.mininet_wifi import installation

EXTRAS = {
    # extra: (what it is for, a module it brings)
    "plots": ("figures from runs", "seaborn"),
    "ns3": ("ns-3, which the error rates of the radio were checked against", "ns"),
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
        is_there = importlib.util.find_spec(module) is not None
        fix = None if is_there else f"./setup.sh pip install -e '.[{name}]' in the project's folder"
        extras[name] = {"ok": is_there, "purpose": purpose, "fix": fix}
    lacking = missing()
    wmediumd = find("wmediumd")
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "root": os.geteuid() == 0,
        "backends": backends,
        "guest": {"ok": lacking is None, "missing": lacking},
        "mininet_wifi": {"found": installation.describe(), "tried": list(installation.TRIED), "wmediumd": wmediumd},
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
    wifi = facts["mininet_wifi"]
    lines.append(f"mininet-wifi   {wifi['found']}")
    wmediumd = wifi["wmediumd"] or "not found; only `medium: wmediumd` needs it: Mininet-WiFi's util/install.sh -l"
    lines.append(f"  {'wmediumd':12} {wmediumd}")
    lines.append("extras")
    for name, extra in facts["extras"].items():
        lines.append(f"  {name:12} {'ok' if extra['ok'] else 'not installed'}: {extra['purpose']}")
        if extra["fix"]:
            lines.append(f"  {'':12} to get it: {extra['fix']}")
    return "\n".join(lines) + "\n"
