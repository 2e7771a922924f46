"""Takes the place of the medium where an external script owns it: reports when the run begins."""

from __future__ import annotations

import sys

from testbed.backends.stations.control import Control, become_child


def main(control: Control) -> None:
    """The process, with its control channel."""
    become_child("no-medium")
    control.receive()  # what the run is about
    control.send({"ready": None})
    while (order := control.receive()[0]) is not None:
        if order["do"] == "start":
            control.send({"began": order["epoch"]})
        elif order["do"] == "finish":
            control.send({"end": {"lateness_ms": None}})


if __name__ == "__main__":
    main(Control.inherited(int(sys.argv[1])))
