"""A run that needs a kernel with Wi-Fi, carried out in a guest.

The scenario is sent to the guest; progress and the run directory come back. To the caller, it is a run like any other.
"""

from __future__ import annotations

import atexit
import json
import sys
from functools import cache
from pathlib import Path

from testbed.checkout import commit
from testbed.errors import BackendError, InputError, TestbedError
from testbed.files import write_json
from testbed.guest.host import Guest
from testbed.progress import AS_LINES, Report
from testbed.scenario.schema import Scenario

_SENT, _RUNS = "/tmp/sent", "/tmp/runs"
_ERRORS: dict[int, type[TestbedError]] = {2: InputError, 3: BackendError}


@cache
def shared_guest() -> Guest:
    """One guest for all runs of this process: it takes longer to boot than many runs take."""
    guest = Guest()
    atexit.register(guest.close)
    announce(guest)
    return guest


def announce(guest: Guest) -> None:
    """Print that a run is not on this machine's own kernel."""
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
    """Run a scenario in a guest, with more options of `testbed run`; returns the run directory on this machine.

    `is_interactive`: what the user types goes to the run, and its stderr is shown as it comes.
    """
    guest = guest or shared_guest()
    errors, printed = _ErrorStream(report, is_shown=is_interactive), bytearray()
    guest.send(_files(scenario))
    try:
        code = guest.run(
            ["testbed", "run", f"{_SENT}/scenario.yaml", "--out", _RUNS, "--json", *options],
            env={AS_LINES: "1"},
            stdout=printed.extend,
            stderr=errors.take,
            stdin=0 if is_interactive else None,
            bring=[(_RUNS, out)],
        )
    finally:
        guest.run(["rm", "-rf", _SENT, _RUNS])
    if code not in (0, 1) or not printed:
        words = errors.last_line() or f"the run in the guest ended with {code}"
        raise _ERRORS.get(code, TestbedError)(words.replace(_RUNS, str(out)))
    path = out / Path(json.loads(printed)["run_dir"]).name
    _complete(path / "meta.json", guest)
    return path


def _files(scenario: Scenario) -> dict[str, Path | bytes]:
    """The scenario and its trace, as files of the guest. Nothing is written here that a kill could leave behind."""
    files: dict[str, Path | bytes] = {}
    trace = scenario.trace_file
    if trace is not None:
        files[f"{_SENT}/{trace.name}"] = trace
        scenario = scenario.with_trace_file(trace.name)
    return {**files, f"{_SENT}/scenario.yaml": scenario.to_yaml().encode()}


def _complete(meta: Path, guest: Guest) -> None:
    """Add what only the host knows of a run: the command, the commit, and how the guest was started."""
    known = json.loads(meta.read_bytes())
    started = {"accel": guest.accel, "restored": guest.is_restored, "boot_s": round(guest.boot_s, 2)}
    write_json(meta, {**known, "command": sys.argv, "commit": commit(), "guest": started})


class _ErrorStream:
    """Takes the stderr of the run: progress as lines of JSON, and some lines for the user."""

    def __init__(self, report: Report, *, is_shown: bool = False) -> None:
        self._report = report
        self._is_shown = is_shown
        self._rest = b""
        self._lines: list[str] = []

    def take(self, data: bytes) -> None:
        if self._is_shown:  # then there is no progress in it
            sys.stderr.buffer.write(data)
            sys.stderr.flush()
            self._rest = (self._rest + data)[-1000:]
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            try:
                share, what = json.loads(line)
            except ValueError:
                self._lines.append(line.decode(errors="replace"))
            else:
                self._report(share, what)

    def last_line(self) -> str:
        """Its last line, without the `testbed: ` that the host's error line begins with as well."""
        lines = [*self._lines, *self._rest.decode(errors="replace").splitlines()]
        return next((line.removeprefix("testbed: ") for line in reversed(lines) if line.strip()), "")
