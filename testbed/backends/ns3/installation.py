"""What ns-3 needs on this machine, found out without loading it: where a part is missing, that prints a stack dump."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

from testbed.extras import how_to_get, is_installed

INCLUDES = (Path("/usr/include"), Path("/usr/local/include"))
"""Where the headers of C++ are, by version of the compiler."""


def missing() -> str | None:
    """What this machine lacks, in one line that says how to get it."""
    how = how_to_get("ns3")
    if not is_installed("ns3"):
        return f"ns-3 is not installed; to install it: {how} (the wheel ns3 exists for Python 3.11, 3.12 and 3.13)"
    if not any(any(folder.glob("c++/*/vector")) for folder in INCLUDES):
        return f"ns-3 needs the headers of C++; as root on Debian or Ubuntu: apt-get install g++, or {how}"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return f"ns-3 needs Python's headers; as root on Debian or Ubuntu: apt-get install python3-dev, or {how}"
    return None


if __name__ == "__main__":  # `./setup.sh` asks whether it has all it needs
    lacking = missing()
    sys.exit(None if lacking is None else f"setup: {lacking}")
