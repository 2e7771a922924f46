"""`python -m testbed.backends.stations FD`: the stations of a run, each a fork of this process.

A run's orchestrator starts it and sends it orders over the inherited descriptor; it is not to be started by hand.
"""

from __future__ import annotations

import sys

from testbed.backends.stations.control import Control
from testbed.backends.stations.fork_server import main
from testbed.errors import TestbedError

__all__ = ["main"]

if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal():
        sys.exit("stations are started by `testbed run --backend loopback SCENARIO`, not by hand")
    try:
        main(Control.inherited(int(sys.argv[1])))
    except TestbedError as error:
        sys.exit(f"{error}")
