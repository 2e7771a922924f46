"""A run that needs a kernel with Wi-Fi, carried out in a guest.

The scenario is sent to the guest; progress and the run directory come back. To the caller, it is a run like any other.
"""

from __future__ import annotations

import atexit
import json
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

from agents.entry_points import GROUP, Installed
from agents.registry import ALGORITHMS
from testbed.checkout import commit
from testbed.errors import BackendError, InconclusiveError, InputError, TestbedError
from testbed.files import write_json
from testbed.guest.clock import check_clock, clock_rates, read_clock
from testbed.guest.host import Guest
from testbed.guest.layout import PACKAGES, PROJECT
from testbed.progress import AS_LINES, Report
from testbed.scenario.schema import Scenario

_SENT, _RUNS = "/tmp/sent", "/tmp/runs"
_SENT_PACKAGES = f"{_SENT}/packages"
_ERRORS: dict[int, type[TestbedError]] = {2: InputError, 3: BackendError, 4: InconclusiveError}
_RAN_TO_ITS_END = (0, 1, 4)
"""The exit codes of a run with a summary: all well, failed, inconclusive."""


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

    `InconclusiveError` if the guest's clock did not run as fast as this machine's meanwhile.
    `is_interactive`: what the user types goes to the run, and its stderr is shown as it comes.
    """
    guest = guest or shared_guest()
    errors, printed = _ErrorStream(report, is_shown=is_interactive), bytearray()
    guest.send(_files(scenario))
    began = read_clock(guest)
    try:
        code = guest.run(
            ["testbed", "run", f"{_SENT}/scenario.yaml", "--out", _RUNS, "--json", *options],
            env={AS_LINES: "1", "PYTHONPATH": f"{PROJECT}:{PACKAGES}:{_SENT_PACKAGES}"},
            stdout=printed.extend,
            stderr=errors.take,
            stdin=0 if is_interactive else None,
            bring=[(_RUNS, out)],
        )
        ended = read_clock(guest)
    finally:
        guest.run(["rm", "-rf", _SENT, _RUNS])
    if code not in _RAN_TO_ITS_END or not printed:
        words = errors.last_line() or f"the run in the guest ended with {code}"
        raise _ERRORS.get(code, TestbedError)(words.replace(_RUNS, str(out)))
    path = out / Path(json.loads(printed)["run_dir"]).name
    _complete(path / "meta.json", guest, clock_rates(began, ended))
    check_clock(began, ended)
    return path


def _files(scenario: Scenario) -> dict[str, Path | bytes]:
    """The scenario and what it names, as files of the guest. Nothing is written here that a kill could leave behind."""
    files: dict[str, Path | bytes] = {}
    trace = scenario.trace_file
    if trace is not None:
        files[f"{_SENT}/{trace.name}"] = trace
        scenario = scenario.with_trace_file(trace.name)
    loaded, installed = scenario.algorithm.loaded, ALGORITHMS.installed(scenario.algorithm.name)
    if loaded is not None:
        files[f"{_SENT}/{loaded.path.name}"] = loaded.source
        scenario = scenario.with_algorithm_file(loaded.path.name)
    elif installed is not None:
        files |= _distribution(installed)
    return {**files, f"{_SENT}/scenario.yaml": scenario.to_yaml().encode()}


def _distribution(installed: Installed) -> dict[str, Path | bytes]:
    """The package of an algorithm that is installed here, and what makes it an entry point in the guest."""
    module = installed.place.partition(":")[0]
    file = Path(getattr(import_module(module), "__file__", None) or "")
    top = file.parent if file.name == "__init__.py" else file
    for _ in range(module.count(".")):
        top = top.parent
    if not file.is_file():
        raise InputError(f"{installed.name}: the guest needs the files of {module}, and {installed} has none")
    info = f"{_SENT_PACKAGES}/{installed.distribution}-{installed.version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {installed.distribution}\nVersion: {installed.version}\n"
    return {
        f"{_SENT_PACKAGES}/{top.name}": top,
        f"{info}/METADATA": metadata.encode(),
        f"{info}/entry_points.txt": f"[{GROUP}]\n{installed.name} = {installed.place}\n".encode(),
    }


def _complete(meta: Path, guest: Guest, clock: tuple[float, float]) -> None:
    """Add what only the host knows of a run: the command, the commit, how the guest was started, how its clock ran."""
    known = json.loads(meta.read_bytes())
    started = {"accel": guest.accel, "restored": guest.is_restored, "boot_s": round(guest.boot_s, 2)}
    started["clock_rates"] = [round(rate, 4) for rate in clock]
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
