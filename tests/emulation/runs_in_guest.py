"""Makes runs at the same time: forked from the guest's first process, it has imported everything already.

python runs_in_guest.py NAME... [--OPTION...]: the scenario of a run is /tmp/planned/NAME/scenario.yaml; the options are
for `testbed run`. In /tmp/done/NAME, the run directory is in `runs`, what the command printed in `printed`, and the
modules of the project that had not been imported ahead in `imported`. Prints the exit codes by name, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from testbed.cli.main import main

PLANNED, DONE = Path("/tmp/planned"), Path("/tmp/done")


def start(name: str, options: list[str]) -> int:
    """Start a run; returns its process."""
    folder = DONE / name
    folder.mkdir(parents=True)
    process = os.fork()
    if process == 0:
        printed = os.open(folder / "printed", os.O_WRONLY | os.O_CREAT)
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


if __name__ == "__main__":
    options = [one for one in sys.argv[1:] if one.startswith("--")]
    processes = {name: start(name, options) for name in sys.argv[1:] if name not in options}
    statuses = {name: os.waitpid(process, 0)[1] for name, process in processes.items()}
    print(json.dumps({name: os.waitstatus_to_exitcode(status) for name, status in statuses.items()}))
