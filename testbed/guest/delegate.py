"""A run that needs a kernel with Wi-Fi, carried out in a guest: the scenario goes in, progress and the run directory
come back. To whoever asked for it, it is a run like any other.
"""

from __future__ import annotations

import atexit
import json
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from testbed.errors import BackendError, InputError, TestbedError
from testbed.guest.host import Guest
from testbed.progress import AS_LINES, Report
from testbed.rundir import RunDirectory
from testbed.scenario import Scenario

_SENT, _RUNS = "/tmp/sent", "/tmp/runs"
_ERRORS: dict[int, type[TestbedError]] = {2: InputError, 3: BackendError}


@cache
def shared_guest() -> Guest:
    """One guest for all runs of this process: booting it takes longer than many a run."""
    guest = Guest()
    atexit.register(guest.close)
    how = f"{'restored' if guest.is_restored else 'booted'} in {guest.boot_s:.1f} s, {guest.accel}"
    print(
        f"testbed: this kernel has no mac80211_hwsim, or we are not root: running in a guest ({how})", file=sys.stderr
    )
    return guest


def run_in_guest(scenario: Scenario, out: Path, report: Report, *options: str) -> Path:
    """Run a scenario there, with more options of `testbed run`; returns the run directory, which is here."""
    guest = shared_guest()
    listener = _Progress(report)
    with tempfile.TemporaryDirectory(prefix="testbed-") as name:
        here = Path(name)
        RunDirectory.write_scenario(scenario, here)
        code = guest.run(
            ["testbed", "run", f"{_SENT}/scenario.yaml", "--out", _RUNS, "--json", *options],
            env={AS_LINES: "1"},
            send={_SENT: here},
            stdout=lambda _: None,
            stderr=listener.take,
            bring=[(_RUNS, here / "runs")],
        )
        guest.run(["rm", "-rf", _SENT, _RUNS])
        made = sorted((here / "runs").iterdir()) if (here / "runs").is_dir() else []
        for path in made:
            out.mkdir(parents=True, exist_ok=True)
            shutil.move(path, out / path.name)
    if code not in (0, 1) or not made or not (out / made[0].name / "summary.json").exists():
        raise _ERRORS.get(code, TestbedError)(listener.last_words() or f"the run in the guest ended with {code}")
    return out / made[0].name


class _Progress:
    """Takes what the run says on stderr: progress as lines of JSON, and now and then a line for the user."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._rest = b""
        self._said: list[str] = []

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            try:
                share, what = json.loads(line)
            except ValueError:
                self._said.append(line.decode(errors="replace"))
            else:
                self._report(share, what)

    def last_words(self) -> str:
        """What it said last, without our name, which is said again."""
        lines = [*self._said, self._rest.decode(errors="replace")]
        return next((line.removeprefix("testbed: ") for line in reversed(lines) if line.strip()), "")
