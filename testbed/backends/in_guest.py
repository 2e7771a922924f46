"""A run that needs a kernel with Wi-Fi, carried out in a guest: the scenario goes in, progress and the run directory
come back. To whoever asked for it, it is a run like any other.
"""

from __future__ import annotations

import atexit
import json
import sys
import tempfile
from functools import cache
from pathlib import Path

from testbed.errors import BackendError, InputError, TestbedError
from testbed.guest.host import Guest
from testbed.progress import AS_LINES, Report
from testbed.experiments.run_directory import RunDirectory, commit, write_json
from testbed.scenario.schema import Scenario

_SENT, _RUNS = "/tmp/sent", "/tmp/runs"
_ERRORS: dict[int, type[TestbedError]] = {2: InputError, 3: BackendError}


@cache
def shared_guest() -> Guest:
    """One guest for all runs of this process: booting it takes longer than many a run."""
    guest = Guest()
    atexit.register(guest.close)
    announce(guest)
    return guest


def announce(guest: Guest) -> None:
    """Say that a run is not on this machine's own kernel."""
    how = f"{'restored' if guest.is_restored else 'booted'} in {guest.boot_s:.1f} s, {guest.accel}"
    print(
        f"testbed: this kernel has no mac80211_hwsim, or we are not root: running in a guest ({how})", file=sys.stderr
    )


def run_in_guest(
    scenario: Scenario,
    out: Path,
    report: Report,
    *options: str,
    guest: Guest | None = None,
    is_interactive: bool = False,
) -> Path:
    """Run a scenario there, with more options of `testbed run`; returns the run directory, which is here.

    `is_interactive`: what the user types goes to the run, and what the run says on stderr is shown as it comes.
    """
    guest = guest or shared_guest()
    said, printed = _Said(report, is_shown=is_interactive), bytearray()
    with tempfile.TemporaryDirectory(prefix="testbed-") as name:
        RunDirectory.write_scenario(scenario, Path(name))
        guest.send({_SENT: Path(name)})
    try:
        code = guest.run(
            ["testbed", "run", f"{_SENT}/scenario.yaml", "--out", _RUNS, "--json", *options],
            env={AS_LINES: "1"},
            stdout=printed.extend,
            stderr=said.take,
            stdin=0 if is_interactive else None,
            bring=[(_RUNS, out)],
        )
    finally:
        guest.run(["rm", "-rf", _SENT, _RUNS])
    if code not in (0, 1) or not printed:
        words = said.last_words() or f"the run in the guest ended with {code}"
        raise _ERRORS.get(code, TestbedError)(words.replace(_RUNS, str(out)))
    path = out / Path(json.loads(printed)["run_dir"]).name
    _complete(path / "meta.json", guest)
    return path


def _complete(meta: Path, guest: Guest) -> None:
    """What only the host knows of a run: the command, the commit, and how the guest came up."""
    known = json.loads(meta.read_bytes())
    began = {"accel": guest.accel, "restored": guest.is_restored, "boot_s": round(guest.boot_s, 2)}
    write_json(meta, {**known, "command": sys.argv, "commit": commit(), "guest": began})


class _Said:
    """Takes what the run says on stderr: progress as lines of JSON, and now and then a line for the user."""

    def __init__(self, report: Report, *, is_shown: bool = False) -> None:
        self._report = report
        self._is_shown = is_shown
        self._rest = b""
        self._said: list[str] = []

    def take(self, data: bytes) -> None:
        if self._is_shown:  # there is no progress in it, but whatever programs print
            sys.stderr.buffer.write(data)
            sys.stderr.flush()
            self._rest = (self._rest + data)[-1000:]
            return
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
        lines = [*self._said, *self._rest.decode(errors="replace").splitlines()]
        return next((line.removeprefix("testbed: ") for line in reversed(lines) if line.strip()), "")
