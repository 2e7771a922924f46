"""Makes runs at the same time: forked from the guest's first process, it has imported everything already.

python runs_in_guest.py NAME... [--OPTION...]: the scenario of a run is /tmp/planned/NAME/scenario.yaml; the options are
for `testbed run`. In /tmp/done/NAME, the run directory is in `runs`, what the command printed in `printed`, and the
modules of the project that had not been imported ahead in `imported`; with --live also what a viewer was sent, in
`streamed`. Prints the exit codes by name, as JSON.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

from testbed.cli.main import main

PLANNED, DONE = Path("/tmp/planned"), Path("/tmp/done")


def start(name: str, options: list[str]) -> int:
    """Start a run; returns its process."""
    folder = DONE / name
    folder.mkdir(parents=True)
    printed = os.open(folder / "printed", os.O_WRONLY | os.O_CREAT)
    process = os.fork()
    if process == 0:
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        code, before = 1, set(sys.modules)
        try:
            code = main(["run", str(PLANNED / name / "scenario.yaml"), "--out", str(folder / "runs"), *options])
            late = [
                one for one in set(sys.modules) - before if one.partition(".")[0] in ("agents", "analysis", "testbed")
            ]
            (folder / "imported").write_text("\n".join(late))
        finally:
            sys.stdout.flush()
            os._exit(code)
    return process


def watch(name: str) -> int:
    """Read what the run serves, until it ends, in a process of its own; returns that."""
    folder = DONE / name
    if process := os.fork():
        return process
    try:
        while (found := re.search(rb"live: (http://\S+/) ", (folder / "printed").read_bytes())) is None:
            time.sleep(0.2)
        while not (folder / "streamed").exists():
            try:
                with urllib.request.urlopen(f"{found[1].decode()}log?repetition=0") as log:
                    (folder / "streamed").write_bytes(log.read())
            except HTTPError:  # the repetition has not begun
                time.sleep(0.2)
    finally:
        os._exit(0)


if __name__ == "__main__":
    options = [one for one in sys.argv[1:] if one.startswith("--")]
    processes = {name: start(name, options) for name in sys.argv[1:] if name not in options}
    watching = [watch(name) for name in processes] if "--live" in options else []
    statuses = {name: os.waitpid(process, 0)[1] for name, process in processes.items()}
    for process in watching:
        os.waitpid(process, 0)
    print(json.dumps({name: os.waitstatus_to_exitcode(status) for name, status in statuses.items()}))
