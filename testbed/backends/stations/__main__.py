"""`python -m testbed.backends.stations.__main__ FD`: the stations of a run, each a fork of this process.

A run's orchestrator starts it and speaks to it over the inherited descriptor; by hand there is nothing to see.
"""

from __future__ import annotations

import sys

from testbed.errors import TestbedError
from testbed.backends.stations.control import Control
from testbed.backends.stations.fork_server import main

__all__ = ["main"]

if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal():
        sys.exit("testbed.backends.stations.__main__ is started by `testbed run --backend loopback SCENARIO`, not by hand")
    try:
        main(Control.inherited(int(sys.argv[1])))
    except TestbedError as error:
        sys.exit(f"{error}")
