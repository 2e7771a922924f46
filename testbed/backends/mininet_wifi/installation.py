"""Which Mininet-WiFi is installed, and whether the testbed can use it.

It is not on PyPI, so it is one that was installed by `./setup.sh --mininet-wifi SOURCE`, or a checkout that is named.
Nothing of it is imported here: that takes a second, and fails if anything is missing.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import BackendError, InputError
from testbed.processes import find_program

CHECKOUT = "TESTBED_MININET_WIFI"
"""The environment variable that names a checkout of Mininet-WiFi."""
TRIED = ("2.7", "2.6")
"""The versions that were tried and work."""
OLDEST = (2, 6)
"""Older ones do not work: 2.5 needs more packages than `MODULES`, 2.4.3 imports a module that only Python 2 had."""
MODULES = {
    # module: the distribution that has it
    "matplotlib": "matplotlib",
    "numpy": "numpy",
    "requests": "requests",
    "six": "six",
    "bitstring": "bitstring",
    "FlightRadar24": "FlightRadarAPI",
    "pkg_resources": "setuptools",
}
"""What it imports besides Mininet."""
PROGRAMS = ("mnexec", "bash", "iw", "ip", "tc", "rfkill", "pgrep", "pkill", "modprobe")
"""The programs that it calls for ad hoc stations and that a system may lack."""
_VERSION = re.compile(r'^VERSION = "([^"]+)"', re.MULTILINE)
_HOW = "./setup.sh --mininet-wifi SOURCE, where SOURCE is a checkout of Mininet-WiFi"


@dataclass(frozen=True)
class Found:
    """Mininet-WiFi, and the Mininet it works with."""

    mn_wifi: Path
    """The folder of the package."""
    mininet: Path
    version: str
    mininet_version: str

    @property
    def versions(self) -> str:
        """Both versions, in words."""
        return f"Mininet-WiFi {self.version} on Mininet {self.mininet_version}"


def found() -> Found | None:
    """The installation that would be used, or None."""
    checkout = os.environ.get(CHECKOUT)
    mn_wifi = _package("mn_wifi", [Path(checkout)] if checkout else [])
    mininet = _package("mininet", [Path(checkout, "mininet"), Path(checkout).parent / "mininet"] if checkout else [])
    if mn_wifi is None or mininet is None:
        return None
    return Found(mn_wifi, mininet, _version(mn_wifi), _version(mininet))


def name_checkout(path: Path) -> None:
    """Use this checkout from now on, also in processes that this one starts."""
    if not (path / "mn_wifi/net.py").is_file():
        raise InputError(f"--mininet-wifi {path}: not a checkout of Mininet-WiFi (no mn_wifi/net.py)")
    os.environ[CHECKOUT] = str(path.resolve())


def lacking() -> str | None:
    """None if Mininet-WiFi can be used, else one line that says what is missing or unfit, and what to do."""
    checkout = os.environ.get(CHECKOUT)
    if checkout and not Path(checkout, "mn_wifi", "net.py").is_file():
        return f"{CHECKOUT}={checkout}: not a checkout of Mininet-WiFi (no mn_wifi/net.py)"
    there = found()
    if there is None:
        what = "Mininet" if _package("mn_wifi", [Path(checkout)] if checkout else []) else "Mininet-WiFi"
        return f"{what} is not installed: {_HOW}"
    return _unfit(there) or _missing_modules() or _missing_programs()


def load() -> Found:
    """Make Mininet-WiFi importable, or raise a `BackendError` that says in one line why that is not possible."""
    why_not = lacking()
    if why_not:
        raise BackendError(why_not)
    there = found()
    assert there is not None
    for folder in (there.mininet.parent, there.mn_wifi.parent):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    return there


def describe() -> str:
    """The versions found, and whether they were tried."""
    there = found()
    if there is None:
        return "not found"
    return there.versions + ("" if there.version in TRIED else f" (not tried; tried: {', '.join(TRIED)})")


def _unfit(there: Found) -> str | None:
    numbers = tuple(map(int, re.findall(r"\d+", there.version)[:2]))
    if numbers < OLDEST:
        return (
            f"Mininet-WiFi {there.version} does not work here; tried: {', '.join(TRIED)}; at least "
            f"{'.'.join(map(str, OLDEST))} is needed"
        )
    if "def fmtBps" not in (there.mininet / "util.py").read_text(encoding="utf-8", errors="replace"):
        return f"Mininet {there.mininet_version} is too old for Mininet-WiFi {there.version}, which needs 2.3.1: {_HOW}"
    return None


def _missing_modules() -> str | None:
    absent = [name for module, name in MODULES.items() if importlib.util.find_spec(module) is None]
    if not absent:
        return None
    return f"Mininet-WiFi needs the Python packages {', '.join(absent)}: ./setup.sh pip install -e '.[mininet-wifi]'"


def _missing_programs() -> str | None:
    absent = [program for program in PROGRAMS if find_program(program) is None]
    return f"Mininet-WiFi needs the programs {', '.join(absent)}: {_HOW} (as root)" if absent else None


def _package(name: str, checkouts: list[Path]) -> Path | None:
    """The folder of a package: in the first checkout that has it, otherwise where Python would import it from."""
    for folder in checkouts:
        if (folder / name / "net.py").is_file():
            return (folder / name).resolve()
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec is not None else None
    return next((Path(place) for place in places or () if Path(place, "net.py").is_file()), None)


def _version(package: Path) -> str:
    said = _VERSION.search((package / "net.py").read_text(encoding="utf-8", errors="replace"))
    return said[1] if said else "of unknown version"


if __name__ == "__main__":
    problem = lacking()
    print(f"testbed: {problem or describe()}", file=sys.stderr)
    sys.exit(3 if problem else 0)
